#!/bin/sh
# Runs the commands of docs/reviewing.md and those of every config.
#
#   sh scripts/review-commands.sh            # the page's blocks, and every item with profile quick
#   sh scripts/review-commands.sh --long     # also `make verify`, and every item at full size
#                                            # (as long as `make all-results`)
#   sh scripts/review-commands.sh --list     # only prints the commands
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

# Prints the lines of the page's sh blocks, without comments.
blocks() {
	awk '/^```/ { inside = ($0 == "```sh") && !inside; next }
		inside { sub(/ +# .*/, ""); print }' "$page"
}
# Prints the command of every config, with profile quick (0) or at full size (1).
items() {
	for config in configs/*/*.toml; do
		item=${config#configs/}
		item=${item%.toml}
		if [ "$1" -eq 1 ]; then
			echo "reproduce run $item"
		else
			echo "reproduce run $item --profile quick"
		fi
	done
}
commands() {
	# `make verify` checks the committed results, not the commands.
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
[ "$count" -ge 20 ] || {
	echo "error: expected at least 20 commands in $page and configs/, found $count" >&2
	exit 1
}
if [ "$list" -eq 1 ]; then
	cat "$work/commands"
	exit
fi
# The page's commands `reproduce` and `matmech` are in target/release.
PATH=$PWD/target/release:$PATH
export PATH
failed=0
while read -r line; do
	echo "== $line =="
	case $line in
	python3*)
		python=$(sh scripts/python-with-numpy.sh)
		if [ -z "$python" ]; then
			echo 'skipped: expected Python with NumPy, found none'
			continue
		fi
		line="$python${line#python3}"
		;;
	esac
	# Standard input is the list of commands.
	if ! sh -c "$line" < /dev/null > "$work/log" 2>&1; then
		failed=$((failed + 1))
		echo "error: \`$line\` failed; the end of its output:" >&2
		tail -n 8 "$work/log" >&2
	fi
done < "$work/commands"
rm -f optimal-1.npy dual.npy certificate.json
echo "== $count commands, $failed failed =="
[ "$failed" -eq 0 ]
