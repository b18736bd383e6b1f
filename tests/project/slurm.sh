#!/bin/sh
# slurm.sh QKV - `make slurm`: a sweep over a real Slurm of two nodes on this machine, one of which is lost in
# the middle; its table must be that of an undisturbed sweep here. As root, with what make deps-slurm
# installs.
# Fails where the nodes do not start.
set -eu
qkv=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
dir=$(mktemp -d)
pids=
export LC_ALL=C SLURM_CONF="$dir/slurm.conf"
PATH=$PATH:/usr/sbin:/sbin
say() { echo "slurm: $*"; }
fail() {
    say "$*"
    tail -n 20 "$dir"/*.log "$dir"/S/slurm/*.log 2>/dev/null || :
    exit 1
}

# Processes of this Slurm alone: their environment names its configuration. ours NAME...
ours() {
    for pid in $(pgrep -x "$1" || :); do
        ! { tr '\0' '\n' <"/proc/$pid/environ"; } 2>/dev/null | grep -qx "SLURM_CONF=$SLURM_CONF" ||
            echo "$pid"
    done
}
stop() {
    scancel --user="$(id -un)" 2>/dev/null || :
    for pid in $(ours slurmstepd) $(ours slurmd) $(ours slurmctld) $(ours munged); do
        kill -KILL "$pid" 2>/dev/null || :
    done
    rm -rf "$dir"
}
trap stop EXIT
trap 'exit 1' HUP INT TERM

for tool in slurmctld slurmd sbatch munged pgrep; do
    command -v $tool >/dev/null || { say "no $tool (make deps-slurm)"; exit 1; }
done
[ "$(id -u)" -eq 0 ] || { say 'slurmd runs as root'; exit 1; }

# ---- two nodes, of one processor each ----

chmod 755 "$dir"
mkdir "$dir/state" "$dir/munge" "$dir/n1" "$dir/n2"
(umask 077 && head -c 1024 /dev/urandom >"$dir/munge/key")
port=$((20000 + $$ % 10000))
cat >"$SLURM_CONF" <<END
ClusterName=sweep
SlurmctldHost=localhost
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
CryptoType=crypto/munge
SlurmctldPort=$port
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/%n.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdTimeout=10
KillWait=5
MailProg=/bin/true
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=1 State=UNKNOWN
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=1 State=UNKNOWN
PartitionName=all Nodes=n1,n2 Default=YES State=UP
END
munged --force --socket="$dir/munge/socket" --key-file="$dir/munge/key" --pid-file="$dir/munge/pid" \
    --seed-file="$dir/munge/seed" --log-file="$dir/munge/log" >"$dir/munged.log" 2>&1 || fail 'no munged'
slurmctld -c
slurmd -N n1
slurmd -N n2

# within SECONDS WHAT COMMAND...
within() {
    end=$(($(date +%s) + $1)) what=$2
    shift 2
    until "$@"; do
        [ "$(date +%s)" -lt $end ] || fail "not in time: $what"
        sleep 0.2
    done
}
idle() { [ "$(sinfo -h -t idle -o %D 2>/dev/null | tr -d ' \n')" = 2 ]; }
within 120 'two idle nodes' idle
say "$(sinfo -h -N -o '%N %t' | paste -sd,)"

# ---- a sweep, and a node less ----

grid='--lr 1e-3..1e-1:4log --d-k 2,4 --seed 1..3 --steps 2000 --eval-every 500 --eval-examples 64'
# shellcheck disable=SC2086
"$qkv" sweep $grid --out "$dir/S" --slurm 4 -- --partition=all
lines() { cat "$1/results.jsonl" 2>/dev/null | wc -l; }
begun() { [ "$(lines "$dir/S/slurm/part-1")" -ge 2 ]; }
within 300 'a part that has begun' begun
job=$(squeue -h -r -t running -o '%i %K' | awk '$2 == 1 { print $1 }')
node=$(squeue -h -r -t running -o '%K %N' | awk '$1 == 1 { print $2 }')
[ -n "$node" ] || fail 'part 1 ended too soon'
say "part 1 has $(lines "$dir/S/slurm/part-1") of 6 cells; node $node is lost"
kill -KILL "$(cat "$dir/$node.pid")"
for pid in $(ours slurmstepd); do # of this node, with all that it began
    ls -l "/proc/$pid/fd" | grep -q "$dir/$node.log$" || continue
    children=$(pgrep -P "$pid" || :)
    for child in $children; do children="$children $(pgrep -P "$child" || :)"; done
    # shellcheck disable=SC2086
    kill -KILL "$pid" $children
done
was=$(lines "$dir/S/slurm/part-1")
[ "$was" -lt 6 ] || fail 'part 1 had ended before its node was lost'
requeued() { scontrol show job "$job" | grep -q ' Restarts=1 '; }
within 120 'the part is queued again' requeued
ended() { [ -z "$(squeue -h)" ]; }
within 600 'all jobs have ended' ended
[ "$(lines "$dir/S/slurm/part-1")" -eq 6 ] || fail 'part 1 did not go on'

# ---- is it the same table? ----

# shellcheck disable=SC2086
"$qkv" sweep $grid --out "$dir/calm" --quiet
cmp "$dir/S/cells.csv" "$dir/calm/cells.csv" || fail 'not the table of one machine'
[ "$(lines "$dir/S")" -eq 24 ] || fail "$(lines "$dir/S") lines for 24 cells"
say 'passed: 24 cells, each once; cells.csv is that of an undisturbed sweep'
