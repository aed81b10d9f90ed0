#!/bin/bash
# Sets up a temporary one-node Slurm cluster for tests of the workflow, without systemd, runs a
# command with it, and stops it.
#
#   workflow/local-slurm.sh                       # the profile quick, in a separate folder
#   workflow/local-slurm.sh COMMAND [ARGUMENTS]   # sbatch, squeue etc. use this cluster
#
# Needs Debian's slurm-wlm and munge (apt-get install --no-install-recommends slurm-wlm munge) and
# the built command.
set -euo pipefail

for tool in munged mungekey slurmctld slurmd sbatch; do
    PATH=$PATH:/usr/sbin command -v "$tool" > /dev/null || {
        echo "error: expected $tool, found none; apt-get install --no-install-recommends slurm-wlm munge" >&2
        exit 2
    }
done
PATH=$PATH:/usr/sbin
project=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/matmech-slurm.XXXXXX")
pids=()
down() {
    # Only processes started here, by PID.
    for ((i = ${#pids[@]} - 1; i >= 0; i--)); do kill "${pids[$i]}" 2> /dev/null || true; done
    wait 2> /dev/null || true
    [ -n "${MATMECH_KEEP:-}" ] && echo "kept: $dir" || rm -rf "$dir"
}
trap down EXIT

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
host=$(hostname -s)
user=$(id -un)
cores=$(nproc)
chmod 755 "$dir"
mkdir "$dir/munge" "$dir/state" "$dir/spool"
chmod 755 "$dir/munge"
mungekey --create --keyfile "$dir/munge.key"
munged --foreground --force --key-file "$dir/munge.key" --socket "$dir/munge/socket" --pid-file "$dir/munge/pid" \
    --log-file "$dir/munge/log" --seed-file "$dir/munge/seed" > "$dir/munged.out" 2>&1 &
pids+=($!)

cat > "$dir/slurm.conf" <<CONF
ClusterName=throwaway
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=0
MinJobAge=300
ReturnToService=2
KillWait=5
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cores RealMemory=100000 State=UNKNOWN
PartitionName=local Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
# Accept any memory size of the node; do not limit the memory of jobs.
sed -i 's/^SelectTypeParameters.*/&\nSlurmdParameters=config_overrides/' "$dir/slurm.conf"
export SLURM_CONF=$dir/slurm.conf
for _ in $(seq 50); do [ -S "$dir/munge/socket" ] && break; sleep 0.1; done
slurmctld -D > "$dir/slurmctld.log" 2>&1 &
pids+=($!)
slurmd -D > "$dir/slurmd.log" 2>&1 &
pids+=($!)
for _ in $(seq 60); do
    [ "$(sinfo --noheader --format %T 2> /dev/null)" = idle ] && break
    sleep 0.5
done
[ "$(sinfo --noheader --format %T 2> /dev/null)" = idle ] || {
    echo "error: expected an idle node, found \"$(sinfo --noheader --format %T 2>&1)\"; the logs:" >&2
    tail -n 5 "$dir"/*.log "$dir/munged.out" >&2
    exit 1
}
echo "cluster: $(sinfo --version), one node with $cores cores, in $dir"

# Wrappers for programs that clear Slurm's variables before calling its commands, as Snakemake's
# executor does.
mkdir "$dir/bin"
for tool in srun sbatch squeue scancel sinfo scontrol; do
    printf '#!/bin/sh\nSLURM_CONF=%s exec %s "$@"\n' "$SLURM_CONF" "$(command -v "$tool")" > "$dir/bin/$tool"
    chmod +x "$dir/bin/$tool"
done
export PATH=$dir/bin:$PATH

if [ $# -gt 0 ]; then
    "$@"
    exit
fi
# A separate root, so that every cell is computed and this folder does not change.
root=$dir/root
mkdir "$root"
ln -s "$project/configs" "$project/data" "$project/docs" "$root"
export MATMECH_REPRODUCE=${MATMECH_REPRODUCE:-$project/target/release/reproduce}
"$project/workflow/submit.sh" --profile quick --shards "$cores" --root "$root" --wait
