#!/bin/sh
# Checks that the workspace forbids unsafe code, undocumented public items, public items without
# `Debug` and panics in library code, and that every package inherits these lints. A package without
# `[lints] workspace = true` compiles without a warning.
set -eu

failed=0

# Succeeds if section $2 of manifest $1 has the line $3.
in_section() {
	awk -v section="[$2]" -v line="$3" '
		/^\[/ { inside = ($0 == section) }
		inside && $0 == line { found = 1 }
		END { exit !found }
	' "$1"
}

expect() {
	if ! in_section "$1" "$2" "$3"; then
		echo "error: $1: expected $3 in [$2], found none; fix: add it" >&2
		failed=1
	fi
}

expect Cargo.toml workspace.lints.rust 'unsafe_code = "forbid"'
expect Cargo.toml workspace.lints.rust 'missing_docs = "deny"'
expect Cargo.toml workspace.lints.rust 'missing_debug_implementations = "deny"'
for lint in unwrap_used expect_used panic; do
	expect Cargo.toml workspace.lints.clippy "$lint = \"deny\""
done

for manifest in Cargo.toml crates/*/Cargo.toml experiments/Cargo.toml python/Cargo.toml \
	shared-features/Cargo.toml; do
	expect "$manifest" lints 'workspace = true'
done

# The list of manifests above must be complete.
members=$(sed -n 's/^members = \[\(.*\)\]$/\1/p' Cargo.toml)
if [ "$members" != '"crates/*", "experiments", "python", "shared-features"' ]; then
	cat >&2 <<MESSAGE
error: Cargo.toml: expected members = ["crates/*", "experiments", "python", "shared-features"],
       found [$members]
fix: add the manifest of the new member to scripts/check-workspace-lints.sh
MESSAGE
	failed=1
fi

# The source must not switch the lints off.
lints='unsafe_code|missing_docs|missing_debug_implementations|unwrap_used|expect_used|clippy::panic'
if grep -rnE "#!?\\[(allow|expect|warn)\\([^]]*($lints)" \
	src examples crates/*/src experiments/src python/src --include='*.rs' >&2; then
	echo 'error: expected no exceptions from the workspace lints, found the lines above' >&2
	echo 'fix: return an error, or document the item' >&2
	failed=1
fi

[ "$failed" -eq 0 ] && echo 'workspace lints: inherited by every package'
exit "$failed"
