#!/bin/sh
# Builds the wheel of the Python package (`python.sh wheel`), or also installs it in
# target/python-env and runs its tests (`python.sh test`). Without what it needs, `wheel` fails and
# `test` says what it skips.
set -eu

mode=$1
cargo=${CARGO:-cargo}
target=${CARGO_TARGET_DIR:-target}
environment=$target/python-env

missing() {
	if [ "$mode" = test ]; then
		echo "skipped: $1: the tests of the Python package did not run"
		exit 0
	fi
	echo "error: expected $2, found $1" >&2
	echo "fix: $3" >&2
	exit 1
}

python=
for name in ${MATMECH_PYTHON:-} python3 python; do
	if "$name" -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
		python=$name
		break
	fi
done
[ -n "$python" ] || missing 'no Python' 'Python 3.10 or later with venv' \
	'install it, e.g. sudo apt-get install python3-venv, or set MATMECH_PYTHON'

mkdir -p "$target"
[ -x "$environment/bin/python" ] || "$python" -m venv "$environment" ||
	missing 'no virtual environment' 'a Python that can create one' 'install python3-venv'
python=$environment/bin/python
if ! "$python" -c 'import maturin, numpy' 2>/dev/null; then
	"$python" -m pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2' numpy ||
		missing 'no maturin' 'maturin and NumPy, or PyPI' "$python -m pip install maturin numpy"
fi

rm -f "$target"/wheels/matmech-*.whl
CARGO=$cargo "$python" -m maturin build --release --locked \
	--manifest-path python/Cargo.toml --out "$target/wheels"
wheel=$(ls "$target"/wheels/matmech-*.whl)
if [ "$mode" = wheel ]; then
	echo "built $wheel; install it: pip install $wheel"
	exit 0
fi
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheel"
# Not from python/, whose folder `matmech` has no native part.
root=$PWD
cd "$target"
case $python in /*) ;; *) python=$root/$python ;; esac
exec "$python" -m unittest discover -s "$root/python/tests" -t "$root/python/tests"
