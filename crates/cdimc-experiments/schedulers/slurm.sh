#!/bin/sh
# Tries `cargo xtask reproduce --emit slurm` with a real Slurm on this machine alone: starts munged, slurmctld and
# slurmd on ports and in a folder of their own, runs `smoke` in four parts, kills one of them and queues it again,
# lets the collecting job merge the records, holds these against those of a plain run, and stops everything.
#
# Needs root and Debian's packages slurm-wlm and munge.   sh crates/cdimc-experiments/schedulers/slurm.sh [FOLDER]
set -eu

cd "$(dirname "$0")/../../.."
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
# XTASK names a program that is built already.
if test -z "${XTASK:-}"; then
    cargo build --quiet --package xtask
    XTASK=$(pwd)/target/debug/xtask
    test -z "${CARGO_TARGET_DIR:-}" || XTASK=$CARGO_TARGET_DIR/debug/xtask
fi
host=$(hostname -s)
request="smoke --repetitions 4"
# The embedded data sets are all that is needed.
unset CDIMC_DATASETS

# Scores and key of every record, in the order of the keys.
facts() {
    grep -o '"key":"[0-9a-f]*"\|"scores":\(null\|{[^}]*}\)' "$1" | paste - - | sort
}

stop() {
    for daemon in slurmd slurmctld munged; do
        test -f "$folder/$daemon.pid" && kill "$(cat "$folder/$daemon.pid")" 2>/dev/null || true
    done
}
trap stop EXIT

mkdir -p "$folder/state" "$folder/spool"
dd if=/dev/urandom of="$folder/munge.key" bs=128 count=1 2>/dev/null
chmod 600 "$folder/munge.key"
chmod 755 "$folder"
munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munged.pid" \
    --log-file="$folder/munged.log" --seed-file="$folder/munged.seed"

cat > "$folder/slurm.conf" <<END
ClusterName=here
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
AuthInfo=socket=$folder/munge.socket
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_interval=5,batch_sched_delay=0
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$(free -m | awk '/^Mem:/ { print int($2 * 0.8) }')
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF="$folder/slurm.conf"
slurmctld
slurmd
for _ in $(seq 60); do
    sinfo --noheader --format=%t 2>/dev/null | grep -q '^idle' && break
    sleep 1
done
sinfo

out=$folder/results
mkdir -p "$out"
"$XTASK" reproduce $request --emit slurm --shards 4 --out "$out"
collect=$(sh "$out/smoke/submit.sh" --into "$folder/merged.jsonl")
array=$((collect - 1))
echo "parts: job $array, collecting: job $collect"

# The second part is killed with SIGKILL once it has a record, and queued again.
part=$out/smoke/records-2-of-4.jsonl
for _ in $(seq 600); do
    test -s "$part" && break
    sleep 0.2
done
kept=$(wc -l < "$part")
scontrol requeue "${array}_2"
echo "part 2 killed with $kept records and queued again"
sleep 2
# What is queued again waits for two minutes unless told not to.
scontrol update JobId="${array}_2" StartTime=now || true

for _ in $(seq 1200); do
    test -z "$(squeue --noheader)" && break
    sleep 1
done
test -s "$folder/merged.jsonl" || { cat "$out"/smoke/*.log; echo "nothing was collected"; exit 1; }
grep -h 'recorded;' "$out/smoke/part-2.log"

"$XTASK" reproduce $request --out "$folder/plain" > "$folder/plain.log" 2>&1
"$XTASK" merge smoke --out "$folder/plain" --into "$folder/plain.jsonl"
facts "$folder/merged.jsonl" > "$folder/merged.facts"
facts "$folder/plain.jsonl" > "$folder/plain.facts"
cmp "$folder/merged.facts" "$folder/plain.facts"
echo "Slurm: $(wc -l < "$folder/merged.facts") records, those of the plain run"
