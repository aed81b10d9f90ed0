#!/bin/sh
# Checks that pkg-config finds OpenBLAS, which the feature `lapack` links. Installs both as root on
# Debian or Ubuntu; elsewhere prints what is missing.
# With --pkg-config-path it only prints the PKG_CONFIG_PATH with which pkg-config finds OpenBLAS.
set -eu

path=${PKG_CONFIG_PATH:-}
# Homebrew's OpenBLAS is not in the default search path.
if [ "$(uname -s)" = Darwin ] && command -v brew >/dev/null 2>&1; then
	prefix=$(brew --prefix openblas 2>/dev/null || true)
	if [ -n "$prefix" ]; then
		path="$prefix/lib/pkgconfig${path:+:$path}"
	fi
fi
if [ "${1:-}" = --pkg-config-path ]; then
	printf '%s\n' "$path"
	exit 0
fi

missing() {
	what=
	command -v pkg-config >/dev/null 2>&1 || what=' pkg-config'
	if [ -n "$what" ] || ! PKG_CONFIG_PATH="$path" pkg-config --exists openblas; then
		what="$what openblas"
	fi
	printf '%s' "$what"
}

lacking=$(missing)
if [ -z "$lacking" ]; then
	echo "found OpenBLAS $(PKG_CONFIG_PATH="$path" pkg-config --modversion openblas)"
	exit 0
fi

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing libopenblas-dev and pkg-config; missing:$lacking"
	export DEBIAN_FRONTEND=noninteractive
	if apt-get update && apt-get install -y libopenblas-dev pkg-config &&
		[ -z "$(missing)" ]; then
		exit 0
	fi
	echo 'error: the installation failed, see above' >&2
fi

cat >&2 <<MESSAGE
error: expected OpenBLAS with its headers, found by pkg-config; missing:$lacking
fix: Debian, Ubuntu:  sudo apt-get install libopenblas-dev pkg-config
     Fedora:          sudo dnf install openblas-devel pkgconf-pkg-config
     macOS:           brew install openblas pkg-config
Only `make test-lapack` needs it.
MESSAGE
exit 1
