#!/bin/sh
# Checks that every selection of packages compiles each dependency with the same features.
# Otherwise a dependency is compiled several times. shared-features/Cargo.toml unifies the features.
set -eu

CARGO=${CARGO:-cargo}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints the dependencies of a selection with their features, one per line.
features() {
	"$CARGO" tree --locked --prefix none --no-dedupe -f '{p} [{f}]' "$@" |
		sed 's/ (proc-macro)//; s/ (\*)$//' | grep -v '^ *$' | sort -u
}

features --workspace -e normal,build,dev >"$work/all"
failed=0
compare() {
	what=$1
	shift
	features "$@" >"$work/some"
	if ! comm -23 "$work/some" "$work/all" >"$work/other" || [ -s "$work/other" ]; then
		echo "error: $what: expected the features of the whole workspace, found others:" >&2
		sed 's/^/  /' "$work/other" >&2
		failed=1
	fi
}

compare 'the programs' --workspace -e normal,build
compare 'tests of matmech' -p matmech -e normal,build,dev
compare 'tests of matmech-linalg' -p matmech-linalg -e normal,build,dev
compare 'tests of experiments' -p experiments -e normal,build,dev
compare 'the Python package' -p matmech-python -e normal,build
compare 'the program reproduce' -p experiments -e normal,build

if [ "$failed" -ne 0 ]; then
	echo 'fix: add the missing features to shared-features/Cargo.toml' >&2
	exit 1
fi
echo 'features: equal for all selections'
