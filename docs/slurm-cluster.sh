#!/usr/bin/env bash
# Starts a Slurm cluster of its own, runs a command with it, and ends it. Under the clock a day of it takes a minute:
#
#   hansa clock -- docs/slurm-cluster.sh [-c CORES] [-o CONF_LINE]... NODES COMMAND [ARGUMENT]...
#
# The command finds the cluster by SLURM_CONF, and its completed jobs in the file $SLURM_JOBS. Needs slurmctld, slurmd and
# slurm-client (Debian's names), but no root, no munge and no free port of a certain number. slurm.conf is written anew
# each time; -o adds lines to it, or replaces those with the same key.
set -euo pipefail

usage() { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
cores=1
options=()
while getopts c:o: flag; do
    case $flag in
    c) cores=$OPTARG ;;
    o) options+=("$OPTARG") ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 2 ] && [[ $1 =~ ^[1-9][0-9]*$ ]] && [[ $cores =~ ^[1-9][0-9]*$ ]] || usage
nodes=$1
shift
[ "$nodes" -le 1000 ] || { echo "slurm-cluster: at most 1000 nodes" >&2; exit 2; }
export PATH=$PATH:/usr/sbin:/sbin
for program in slurmctld slurmd sbatch; do
    command -v $program >/dev/null ||
        { echo "slurm-cluster: no $program here; on Debian: apt-get install slurmctld slurmd slurm-client" >&2; exit 3; }
done

base=$(mktemp -d)
daemons=()
finish() {
    [ ${#daemons[@]} -eq 0 ] || kill "${daemons[@]}" 2>/dev/null || true
    wait || true
    rm -rf "$base"
}
trap finish EXIT
mkdir "$base/state" "$base/spool"

# The first of as many ports in a row that are free.
in_use=$(awk 'FNR > 1 { split($2, at, ":"); print strtonum("0x" at[2]) }' /proc/net/tcp /proc/net/tcp6 2>/dev/null ||
    sed -n 's/^ *[0-9]*: [0-9A-F]*:\([0-9A-F]*\) .*/\1/p' /proc/net/tcp /proc/net/tcp6 |
    while read -r port; do echo $((16#$port)); done)
port=$((20000 + $$ % 100 * 100))
while for at in $(seq $port $((port + nodes + 1))); do grep -qx "$at" <<<"$in_use" && break; done; do
    port=$((port + (nodes + 101) / 100 * 100))
    [ $((port + nodes)) -lt 32000 ] || port=20000
done

user=$(id -un)
host=$(hostname -s)
defaults=(
    ClusterName=clock "SlurmctldHost=$host(127.0.0.1)" "SlurmUser=$user" "SlurmdUser=$user"
    AuthType=auth/none CredType=cred/none CommunicationParameters=NoCtldInAddrAny,NoInAddrAny "SlurmctldPort=$port" "SlurmctldPidFile=$base/slurmctld.pid"
    "SlurmdPidFile=$base/slurmd.%n.pid" "StateSaveLocation=$base/state" "SlurmdSpoolDir=$base/spool/%n"
    "SlurmctldLogFile=$base/slurmctld.log" "SlurmdLogFile=$base/slurmd.%n.log" MpiDefault=none
    ProctrackType=proctrack/pgid TaskPlugin=task/none SwitchType=switch/none JobAcctGatherType=jobacct_gather/none
    AccountingStorageType=accounting_storage/none JobCompType=jobcomp/filetxt "JobCompLoc=$base/jobs.txt"
    SchedulerType=sched/backfill SelectType=select/cons_tres SelectTypeParameters=CR_Core
    SlurmdParameters=config_overrides ReturnToService=2 SlurmctldTimeout=3600 SlurmdTimeout=3600 InactiveLimit=0
    SchedulerParameters=bf_interval=30,bf_continue
    "NodeName=n[1-$nodes] NodeAddr=127.0.0.1 NodeHostname=$host Port=[$((port + 1))-$((port + nodes))] CPUs=$cores"
    "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
)
for line in "${defaults[@]}"; do
    is_replaced=
    for option in "${options[@]+"${options[@]}"}"; do
        [ "${option%%=*}" != "${line%%=*}" ] || is_replaced=yes
    done
    [ -n "$is_replaced" ] || echo "$line"
done >"$base/slurm.conf"
printf '%s\n' "${options[@]+"${options[@]}"}" >>"$base/slurm.conf"

export SLURM_CONF=$base/slurm.conf SLURM_JOBS=$base/jobs.txt
slurmctld -D -c >"$base/slurmctld.out" 2>&1 </dev/null &
daemons+=($!)
sleep 1
for node in $(seq "$nodes"); do
    mkdir "$base/spool/n$node"
    slurmd -D -N "n$node" >"$base/slurmd.n$node.out" 2>&1 </dev/null &
    daemons+=($!)
done
for attempt in $(seq 60); do
    ready=$(sinfo -h -t idle -o %D 2>/dev/null || true)
    [ "${ready:-0}" != "$nodes" ] || break
    if [ "$attempt" = 60 ] || ! kill -0 "${daemons[@]}" 2>/dev/null; then
        echo "slurm-cluster: the cluster does not start:" >&2
        cat "$base"/*.out | grep -i "error\|fatal" | sort -u >&2 || true
        exit 3
    fi
    sleep 1
done
code=0
"$@" || code=$?
exit $code
