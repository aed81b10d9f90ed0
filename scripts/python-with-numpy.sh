#!/bin/sh
# Prints the path of a Python with NumPy: MATMECH_PYTHON, that of the system, or a virtual
# environment in target/, which is created with NumPy from PyPI. Prints nothing if there is none.
set -u

environment="${CARGO_TARGET_DIR:-target}/python-with-numpy"
case $environment in
/*) ;;
*) environment="$PWD/$environment" ;;
esac

has_numpy() {
	"$1" -c 'import numpy' > /dev/null 2>&1
}

for python in "${MATMECH_PYTHON:-python3}" python3 python "$environment/bin/python"; do
	if has_numpy "$python"; then
		command -v "$python"
		exit
	fi
done

# Nothing is installed outside target/. An interrupted installation is started again.
rm -rf "$environment"
if ! command -v python3 > /dev/null; then
	echo 'no Python with NumPy: expected python3, found none' >&2
elif ! python3 -m venv "$environment" > /dev/null 2>&1; then
	echo 'no Python with NumPy: expected python3 with venv, found none' >&2
elif ! "$environment/bin/python" -m pip --quiet --disable-pip-version-check --timeout 15 \
	--retries 1 install --only-binary :all: 'numpy>=1.24' > /dev/null 2>&1; then
	echo 'no Python with NumPy: PyPI is not reached' >&2
elif has_numpy "$environment/bin/python"; then
	echo "$environment/bin/python"
	exit
fi
rm -rf "$environment"
