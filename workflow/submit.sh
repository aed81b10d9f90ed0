#!/bin/bash
# Submits a profile to Slurm: an array of shards, and a job that collects them if all succeed.
#
#   workflow/submit.sh [--profile quick|standard|paper] [--shards N] [--root DIR] [--wait]
#                      [-- SBATCH OPTIONS]
#
# DIR (default: .) has configs/ and data/ and is on a file system that all nodes share.
# $MATMECH_REPRODUCE (default: DIR/target/release/reproduce) is the command. After a failure, run it
# again: finished cells are read from results/cells/.
set -euo pipefail

usage() { sed -n '2,9s/^# \{0,1\}//p' "$0"; }
profile=standard shards=8 root=. wait=
while [ $# -gt 0 ]; do
    case $1 in
        --profile) profile=${2:?--profile needs a name}; shift 2 ;;
        --shards) shards=${2:?--shards needs a number}; shift 2 ;;
        --root) root=${2:?--root needs a folder}; shift 2 ;;
        --wait) wait=1; shift ;;
        --help | -h) usage; exit 0 ;;
        --) shift; break ;;
        *) echo "error: expected an option or --, found \"$1\"" >&2; usage >&2; exit 2 ;;
    esac
done
case $shards in
    '' | *[!0-9]* | 0*) echo "error: --shards: expected a number from 1, found \"$shards\"" >&2; exit 2 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$root" && pwd)
reproduce=${MATMECH_REPRODUCE:-$root/target/release/reproduce}
[ -x "$reproduce" ] || { echo "error: expected the command $reproduce, found none; build it with \`make build\`, or set MATMECH_REPRODUCE" >&2; exit 2; }
command -v sbatch > /dev/null || { echo "error: expected Slurm's sbatch in PATH, found none; workflow/local-slurm.sh runs without a cluster" >&2; exit 2; }

logs=$root/results/cells/logs
mkdir -p "$logs"
export MATMECH_ROOT=$root MATMECH_PROFILE=$profile MATMECH_SHARDS=$shards MATMECH_REPRODUCE=$reproduce
array=$(sbatch --parsable --export=ALL --array="1-$shards" --output="$logs/%x-%A_%a.log" "$@" "$here/shard.sbatch")
array=${array%%;*}
collect=$(sbatch --parsable --export=ALL --dependency="afterok:$array" --kill-on-invalid-dep=yes --output="$logs/%x-%j.log" "$@" "$here/collect.sbatch")
collect=${collect%%;*}
echo "submitted: array $array of $shards shards, then job $collect; logs in $logs"
[ -n "$wait" ] || exit 0

# Without accounting, Slurm soon forgets ended jobs, so the collector's log gives the outcome.
while [ -n "$(squeue --noheader --jobs "$array,$collect" 2> /dev/null)" ]; do sleep 2; done
grep -h 'killed by signal\|done at attempt [23]' "$logs"/matmech-shard-"${array}"_*.log || true
log=$logs/matmech-collect-$collect.log
[ -f "$log" ] || { echo "error: expected the log $log of the collector, found none: a shard failed, see $logs/matmech-shard-${array}_*.log" >&2; exit 1; }
tail -n 20 "$log"
# The log of a successful collector ends with the report.
if grep -q '^report: ' "$log" && ! grep -q '^error' "$log"; then echo "done: profile $profile"; else exit 1; fi
