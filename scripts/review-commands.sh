#!/bin/sh
# Runs the commands of docs/reviewing.md and of the index of results/COMPARISON.md.
#
#   sh scripts/review-commands.sh            # the blocks of the page, and every item in the profile quick
#   sh scripts/review-commands.sh --long     # also `make verify`, and every item at full size (about an hour)
#   sh scripts/review-commands.sh --list     # only prints them
set -eu

cd "$(dirname "$0")/.."
page=docs/reviewing.md
long=0 list=0
for option in "$@"; do
	case $option in
	--long) long=1 ;;
	--list) list=1 ;;
	*) echo "error: expected --long or --list, found \"$option\"" >&2; exit 2 ;;
	esac
done

# Lines of the blocks marked sh, without comments. `make verify` is about the committed results, not about the commands.
blocks() { awk '/^```/ { inside = ($0 == "```sh") && !inside; next } inside { sub(/ +# .*/, ""); print }' "$page"; }
# The command of every row of the index in results/COMPARISON.md, in the profile quick or at full size.
items() {
	awk -F '|' -v long="$1" '$3 ~ /`reproduce run / {
		gsub(/[` ]+/, " ", $3); sub(/^ /, "", $3); sub(/ $/, "", $3)
		print $3 (long ? "" : " --profile quick") }' results/COMPARISON.md
}
commands() {
	blocks | grep -v '^make verify' || true
	items 0
	if [ "$long" -eq 1 ]; then
		echo 'make verify'
		items 1
	fi
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
commands > "$work/commands"
count=$(wc -l < "$work/commands")
[ "$count" -ge 20 ] || { echo "error: expected the commands of every item, found $count" >&2; exit 1; }
if [ "$list" -eq 1 ]; then
	cat "$work/commands"
	exit
fi
# `reproduce` is target/release/reproduce after make build, as the page says.
PATH=$PWD/target/release:$PATH
export PATH
failed=0
while read -r line; do
	echo "== $line =="
	case $line in
	python3*) python3 -c 'import numpy' 2> /dev/null || { echo 'skipped: no Python with NumPy here'; continue; } ;;
	esac
	# Standard input is the list.
	if ! sh -c "$line" < /dev/null > "$work/log" 2>&1; then
		failed=$((failed + 1))
		echo "error: expected \`$line\` to end with 0, found another exit code; its last lines:" >&2
		tail -n 8 "$work/log" >&2
	fi
done < "$work/commands"
rm -f optimal-1.npy dual.npy certificate.json
echo "== $count commands of $page, $failed failed =="
[ "$failed" -eq 0 ]
