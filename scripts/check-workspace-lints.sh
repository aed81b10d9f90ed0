#!/bin/sh
# No unsafe code, no public item without documentation or `Debug`, no panic in library code: the workspace says so once, and
# every package must inherit it. Checked here, because a package that forgets `[lints] workspace = true` compiles all the same.
set -eu

failed=0

# The line `key = "value"` within the section `[section]` of a manifest.
in_section() {
	awk -v section="[$2]" -v line="$3" '
		/^\[/ { inside = ($0 == section) }
		inside && $0 == line { found = 1 }
		END { exit !found }
	' "$1"
}

expect() {
	if ! in_section "$1" "$2" "$3"; then
		echo "error: $1: expected $3 in [$2], found none; remedy: add it" >&2
		failed=1
	fi
}

expect Cargo.toml workspace.lints.rust 'unsafe_code = "forbid"'
expect Cargo.toml workspace.lints.rust 'missing_docs = "deny"'
expect Cargo.toml workspace.lints.rust 'missing_debug_implementations = "deny"'
for lint in unwrap_used expect_used panic; do
	expect Cargo.toml workspace.lints.clippy "$lint = \"deny\""
done

for manifest in Cargo.toml experiments/Cargo.toml linalg/Cargo.toml shared-features/Cargo.toml; do
	expect "$manifest" lints 'workspace = true'
done

# A member that this list does not know must not slip through.
members=$(sed -n 's/^members = \[\(.*\)\]$/\1/p' Cargo.toml)
if [ "$members" != '"experiments", "linalg", "shared-features"' ]; then
	echo "error: Cargo.toml: expected members = [\"experiments\", \"linalg\", \"shared-features\"], found [$members]; remedy: add the new member's manifest to scripts/check-workspace-lints.sh" >&2
	failed=1
fi

# Lints can be switched off again in the source.
if grep -rnE '#!?\[(allow|expect|warn)\([^]]*(unsafe_code|missing_docs|missing_debug_implementations|unwrap_used|expect_used|clippy::panic)' \
	src examples experiments/src linalg/src --include='*.rs' >&2; then
	echo 'error: expected no exception from the workspace lints, found the lines above; remedy: return an error, or document the item' >&2
	failed=1
fi

[ "$failed" -eq 0 ] && echo 'workspace lints: in force in every package'
exit "$failed"
