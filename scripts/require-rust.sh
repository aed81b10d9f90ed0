#!/bin/sh
# Checks that this machine can build Rust programs; otherwise prints what to install.
set -eu

cargo=${CARGO:-cargo}

if ! command -v "$cargo" >/dev/null 2>&1; then
	cat >&2 <<'MESSAGE'
error: expected the Rust toolchain (the command `cargo`), found none in PATH or ~/.cargo/bin
fix: install it for this user, without root:
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh
MESSAGE
	exit 1
fi

if ! "$cargo" --version >/dev/null 2>&1; then
	echo "error: expected a working Rust toolchain, but \`$cargo --version\` fails:" >&2
	"$cargo" --version >&2 || true
	echo 'fix: rustup default stable' >&2
	exit 1
fi

# Compares the workspace's rust-version with cargo's compiler.
wanted=$(sed -n 's/^rust-version = "\([0-9.]*\)"$/\1/p' Cargo.toml | head -n 1)
found=$("$cargo" --version | sed -n 's/^cargo \([0-9]*\.[0-9]*\).*/\1/p')
if [ -n "$wanted" ] && [ -n "$found" ]; then
	# Versions are MAJOR.MINOR.
	if [ "${found%%.*}" -lt "${wanted%%.*}" ] ||
		{ [ "${found%%.*}" -eq "${wanted%%.*}" ] &&
			[ "$(echo "$found" | cut -d. -f2)" -lt "$(echo "$wanted" | cut -d. -f2)" ]; }; then
		echo "error: expected Rust $wanted or later (rust-version in Cargo.toml), found $found" >&2
		echo 'fix: rustup update stable' >&2
		exit 1
	fi
fi

if ! command -v cc >/dev/null 2>&1; then
	cat >&2 <<'MESSAGE'
error: expected a C compiler (the command `cc`) for linking and assembly, found none
fix: Debian, Ubuntu:  sudo apt-get install build-essential
     Fedora:          sudo dnf install gcc
     macOS:           xcode-select --install
MESSAGE
	exit 1
fi
