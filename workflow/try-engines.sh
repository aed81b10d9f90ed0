#!/bin/bash
# Tests every engine on the profile `quick`: one run, two shards started manually, the Slurm array,
# Snakemake, and Snakemake on Slurm. In each, one running process is killed with -9. The results
# must equal those of an uninterrupted run (`reproduce diff`).
#
#   workflow/try-engines.sh [one] [manual] [slurm] [snakemake] [snakemake-slurm]   # default: all
#
# Needs the built command (or $MATMECH_REPRODUCE). `slurm` needs the tools of local-slurm.sh,
# `snakemake` needs snakemake in PATH, and `snakemake-slurm` needs both and
# snakemake-executor-plugin-slurm. About 3 minutes per engine on two cores. Exit code 1 if any
# result differs.
set -euo pipefail

project=$(cd "$(dirname "$0")/.." && pwd)
reproduce=${MATMECH_REPRODUCE:-$project/target/release/reproduce}
[ -x "$reproduce" ] || { echo "error: expected the command $reproduce, found none; build it with \`make build\`, or set MATMECH_REPRODUCE" >&2; exit 2; }
export MATMECH_REPRODUCE=$reproduce
dir=$(mktemp -d "${TMPDIR:-/tmp}/matmech-engines.XXXXXX")
trap '[ -n "${MATMECH_KEEP:-}" ] && echo "kept: $dir" || rm -rf "$dir"' EXIT

new_root() {
    mkdir "$dir/$1"
    ln -s "$project/configs" "$project/data" "$project/docs" "$dir/$1"
}
# kill_one ROOT: kills one process of the command in ROOT, after some cells are finished.
kill_one() {
    local root=$1 pid exe
    exe=$(readlink -f "$reproduce")
    for _ in $(seq 6000); do
        if [ "$(find "$root/results/cells" -name '*.json' 2> /dev/null | wc -l)" -ge 40 ]; then
            for pid in $(pgrep -f -- "$(basename "$reproduce")"); do
                if [ "$(readlink -f "/proc/$pid/exe" 2> /dev/null)" = "$exe" ] && [ "$(readlink "/proc/$pid/cwd" 2> /dev/null)" = "$root" ] &&
                    kill -9 "$pid"; then
                    echo "killed process $pid after $(find "$root/results/cells" -name '*.json' | wc -l) cells"
                    return
                fi
            done
        fi
        sleep 0.05
    done
    echo "error: expected a process of the command in $root to kill, found none" >&2
    return 1
}
run() { (cd "$1" && shift && "$reproduce" "$@"); }
# until_done ROOT ARGUMENTS: runs the command, and restarts it after a failure.
until_done() {
    local attempt
    for attempt in 1 2 3; do
        run "$@" > "$1/attempt-$attempt.$BASHPID.log" 2>&1 && { echo "done at attempt $attempt"; return; }
        echo "attempt $attempt: exit code $?; restarting"
    done
    return 1
}

try_one() { # ROOT
    kill_one "$1" & killer=$!
    until_done "$1" all --profile quick
    wait "$killer"
}
try_manual() {
    kill_one "$1" & killer=$!
    local shard pids=()
    for shard in 1/2 2/2; do
        (cd "$1" && until_done "$1" run configs/*/*.toml --profile quick --shard "$shard" --jobs 1) &
        pids+=($!)
    done
    for pid in "${pids[@]}" "$killer"; do wait "$pid" || return 1; done
    run "$1" all --profile quick --same-code > "$1/collect.log" 2>&1
}
try_slurm() {
    kill_one "$1" & killer=$!
    "$project/workflow/local-slurm.sh" "$project/workflow/submit.sh" --profile quick --shards 2 --root "$1" --wait
    wait "$killer"
}
snakemake_with() { # ROOT PROFILE
    (cd "$1" && snakemake --snakefile "$project/workflow/Snakefile" --workflow-profile "$project/workflow/profiles/$2" --directory "$1" \
        --config shards=2 profile=quick root="$1" reproduce="$reproduce") > "$1/snakemake.log" 2>&1 || { tail -n 20 "$1/snakemake.log"; return 1; }
    # The restart is in the log of Snakemake or of the Slurm job.
    { cat "$1/snakemake.log"; find "$1/.snakemake" -path '*slurm_logs*' -type f -exec cat {} +; } > "$1/said.log"
    grep -i -m 1 'trying to restart' "$1/said.log" ||
        { echo "error: expected a restart in the logs of Snakemake, found none" >&2; return 1; }
    grep '^Finished jobid: 0' "$1/snakemake.log"
}
try_snakemake() {
    kill_one "$1" & killer=$!
    snakemake_with "$1" local
    wait "$killer"
}
try_snakemake-slurm() {
    kill_one "$1" & killer=$!
    export -f snakemake_with
    export project reproduce
    "$project/workflow/local-slurm.sh" bash -c "snakemake_with '$1' slurm"
    wait "$killer"
}

[ $# -gt 0 ] || set -- one manual slurm snakemake snakemake-slurm
echo "== uninterrupted"
new_root uninterrupted
run "$dir/uninterrupted" all --profile quick > "$dir/uninterrupted/log" 2>&1 || { tail -n 20 "$dir/uninterrupted/log"; exit 1; }
failed=0
for engine; do
    declare -F "try_$engine" > /dev/null || { echo "error: expected one, manual, slurm, snakemake or snakemake-slurm, found \"$engine\"" >&2; exit 2; }
    echo "== $engine"
    new_root "$engine"
    if "try_$engine" "$dir/$engine" && "$reproduce" diff "$dir/uninterrupted/results/quick" "$dir/$engine/results/quick"; then
        echo "$engine: no differences"
    else
        echo "$engine: FAILED"
        failed=1
    fi
done
exit "$failed"
