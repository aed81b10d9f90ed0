#!/bin/bash
# Prints the times of the certified optimum on one thread, the smallest of three runs.
#
#   bash scripts/solver-times.sh > results/bench.csv
#
# `seconds` is the time that the solver reports; `processor_seconds` is the user time of the whole
# command, which other programs on the machine hardly affect. The README rounds the time of range:1024.
set -euo pipefail

cd "$(dirname "$0")/.."
matmech=${MATMECH:-target/release/matmech}
[ -x "$matmech" ] || {
	echo "error: expected the command $matmech, found none; run make build" >&2
	exit 1
}
cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2> /dev/null | head -n 1)
[ -n "$cpu" ] || cpu=$(sysctl -n machdep.cpu.brand_string 2> /dev/null || uname -m)
cores=$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo unknown)
memory=$(awk '/^MemTotal/ { printf "%.0f GB", $2 * 1024 / 1e9 }' /proc/meminfo 2> /dev/null || true)
[ -n "$memory" ] ||
	memory=$(sysctl -n hw.memsize 2> /dev/null | awk '{ printf "%.0f GB", $1 / 1e9 }')
cpu="$cpu, $cores cores, ${memory:-unknown} memory"
commit=$(git rev-parse --short=12 HEAD 2> /dev/null || echo unknown)
export RAYON_NUM_THREADS=1

field() { sed -n "s/^ *\"$1\": *\([^,]*\),\{0,1\}$/\1/p" "$2" | head -n 1; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
smallest() { printf '%s\n' "$@" | sort -g | head -n 1; }
TIMEFORMAT=%U
echo 'workload,cells,eigendecompositions,gap,seconds,processor_seconds,cpu,commit'
for workload in range:1024 range:2048 range:64x64x64 prefix:1024 \
	'residual(affine:40x40)' 'residual(affine:50x50)' 'residual(abs:50x50)'; do
	seconds=() processor=()
	for _ in 1 2 3; do
		processor+=("$({
			time "$matmech" solve --workload "$workload" --strategy optimal --json > "$log"
		} 2>&1)")
		seconds+=("$(field seconds "$log")")
	done
	row=$workload,$(field cells "$log"),$(field iterations "$log"),$(field gap "$log")
	echo "$row,$(smallest "${seconds[@]}"),$(smallest "${processor[@]}"),\"$cpu\",$commit"
done
