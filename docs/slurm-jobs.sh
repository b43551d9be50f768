#!/usr/bin/env bash
# Submits the same jobs to any Slurm, and tells if two clusters treated them alike:
#
#   docs/slurm-jobs.sh OUT.csv [JOBS]     submits 200 jobs (or JOBS) in ten minutes, and waits for them
#   docs/slurm-jobs.sh A.csv B.csv        compares two such files
#
# A row is a job: its number, cores, run time, start in seconds, and nodes. Times are counted from 30 s after the start of
# slurmctld, whose periods start with it.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '4,5s/^# *//p' "$0" >&2; exit 2; }

compare() {
    local only
    only=$(join -t , -v 1 -v 2 "$1" "$2" | wc -l)
    [ "$only" = 0 ] || echo "$only jobs are in one of the files only"
    join -t , "$1" "$2" | awk -F , '
        NR == 1 { next }
        { jobs++; by = $8 - $4; by = by < 0 ? -by : by; within += by <= 2; nodes += $5 == $9; most = by > most ? by : most }
        { sum += by }
        END { printf "%d jobs: %d start within 2 s of each other, %d on the same nodes", jobs, within, nodes
              printf "; starts differ by %.2f s on average, at most by %.2f s\n", sum / jobs, most }'
    order() { tail -n +2 "$1" | sort -t , -k 4g | cut -d , -f 1; }
    diff <(order "$1") <(order "$2") >/dev/null && echo "the same order of starts" ||
        echo "order of starts: $(diff <(order "$1") <(order "$2") | grep -c '^<') jobs are elsewhere"
}
if [ -f "${2:-}" ]; then compare "$1" "$2"; exit; fi
[[ ${2:-200} =~ ^[1-9][0-9]*$ ]] || { echo "slurm-jobs: there is no file $2" >&2; exit 2; }

out=$1 jobs=${2:-200}
rows=$(mktemp -d)
trap 'rm -rf "$rows"' EXIT
booted=$(scontrol show config | sed -n 's/^BOOT_TIME *= //p')
zero=$(($(date -d "$booted" +%s) + 30))
cat >"$rows/job.sh" <<'JOB'
#!/bin/bash
number=$1 cores=$2 runtime=$3 zero=$4 rows=$5
start=$(date +%s.%N)
awk "BEGIN { printf \"%s,%d,%d,%.3f,%s\\n\", \"$number\", $cores, $runtime, ${start%.*} - $zero + 0.${start#*.}, \"${SLURM_JOB_NODELIST//,/+}\" }" >"$rows/$number"
sleep "$runtime"
JOB
# Numbers that look random, and are the same everywhere.
seed=1
draw() { seed=$(((seed * 1103515245 + 12345) % 2147483648)); drawn=$((seed / 65536 % $1)); }
for number in $(seq -w 1 "$jobs"); do
    draw 5; cores=$((1 << drawn))
    draw 30; runtime=$((5 + drawn + drawn * drawn / 30))
    draw 7; arrival=$((${arrival:-0} + drawn * 1000 + 37))
    read -r seconds nanos < <(date '+%s %N')
    left=$(((zero - seconds) * 1000 + arrival - 10#$nanos / 1000000))
    [ $left -le 0 ] || sleep "$((left / 1000)).$(printf %03d $((left % 1000)))"
    sbatch -Q -n "$cores" -t $((runtime * 3 / 60 + 1)) -o /dev/null "$rows/job.sh" "$number" "$cores" "$runtime" "$zero" "$rows"
done
while [ -n "$(squeue -h)" ]; do sleep 5; done
{ echo job,cores,runtime,start,nodes; sort "$rows"/[0-9]*; } >"$out"
