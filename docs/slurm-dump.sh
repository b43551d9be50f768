#!/usr/bin/env bash
# Writes what Hansa needs to know of a Slurm cluster into a new folder, without root:
#
#   slurm-dump.sh [--anonymous] [-S START] [-E END] FOLDER
#
# START and END are times as sacct takes them [default: the last 28 days]. The folder gets sacct.txt (the jobs, all times
# in UTC), slurm.conf with the files that it includes, gres.conf and topology.conf if there are any, sacctmgr.script
# (accounts, users, limits and QOS; only operators may dump these) and reservations.txt. With --anonymous, names of users,
# accounts, groups and reservations are numbers, the same in all files, and there are no names of jobs, command lines,
# descriptions or comments.
set -euo pipefail

usage() { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
complain() { echo "slurm-dump: $*" >&2; }
anonymous=
start=now-28days
end=now
folder=
while [ $# -gt 0 ]; do
    case $1 in
    --anonymous) anonymous=1 ;;
    -S | -E)
        [ $# -ge 2 ] || usage
        if [ "$1" = -S ]; then start=$2; else end=$2; fi
        shift
        ;;
    -*) usage ;;
    *)
        [ -z "$folder" ] || usage
        folder=$1
        ;;
    esac
    shift
done
[ -n "$folder" ] || usage
[ ! -e "$folder" ] || { complain "$folder is there already"; exit 2; }
for program in sacct scontrol; do
    command -v $program >/dev/null || { complain "no $program here: run this where Slurm's commands are"; exit 3; }
done

# Local times repeat themselves when summer ends.
export TZ=UTC
umask 077
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT

wanted="JobIDRaw JobID Cluster User Account Partition QOS Submit Eligible Start End ElapsedRaw State NNodes NCPUS ReqNodes
ReqCPUS ReqMem ReqTRES AllocTRES TimelimitRaw NodeList Planned Reserved Reservation Constraints"
[ -n "$anonymous" ] || wanted="$wanted JobName SubmitLine"
known=" $(sacct --helpformat | tr -s ' \t\n' ' ') "
fields=
for field in $wanted; do
    case $known in *" $field "*) fields=$fields,$field ;; esac
done
sacct --allusers --allocations --noconvert --parsable2 --delimiter="$(printf '\037')" --format="${fields#,}" \
    --starttime="$start" --endtime="$end" >"$raw/sacct.txt"

scontrol show config >"$raw/config"
conf=${SLURM_CONF:-$(sed -n 's/^SLURM_CONF *= *//p' "$raw/config")}
cluster=$(sed -n 's/^ClusterName *= *//p' "$raw/config")
# Files that are included take the place of the line that includes them; passwords are left out.
copy_conf() {
    awk -v file="$1" '
        function put(file,   line, words, folder) {
            folder = file
            sub("[^/]*$", "", folder)
            while ((getline line <file) > 0) {
                if (tolower(line) ~ /^[ \t]*include[ \t]/) {
                    split(line, words)
                    put(words[2] ~ /^\// ? words[2] : folder words[2])
                } else if (tolower(line) !~ /pass(word)?[ \t]*=/) {
                    print line
                }
            }
            close(file)
        }
        BEGIN { put(file) }' >"$raw/$2"
}
if [ -r "$conf" ]; then
    copy_conf "$conf" slurm.conf
    for other in gres.conf topology.conf; do
        [ ! -r "$(dirname "$conf")/$other" ] || copy_conf "$(dirname "$conf")/$other" $other
    done
else
    complain "cannot read ${conf:-slurm.conf}: the folder has none"
fi
# Commands that make the QOS, of which a dump of the accounts has only the names. Settings that Slurm starts with are
# left out, and those that this release does not know.
write_qos() {
    sacctmgr -nP show qos format=Name >"$raw/qos" || return 1
    sed 's/^/add qos /' "$raw/qos"
    for key in Priority Flags GraceTime GrpJobs GrpJobsAccrue GrpSubmit GrpTRES GrpTRESMins GrpTRESRunMins GrpWall \
        LimitFactor MaxJobsAccruePA MaxJobsAccruePU MaxJobsPA MaxJobsPU MaxSubmitPA MaxSubmitPU MaxTRESPA MaxTRESPJ \
        MaxTRESPN MaxTRESPU MaxTRESMinsPJ MaxTRESRunMinsPA MaxTRESRunMinsPU MaxWall MinPrioThres MinTRESPJ Preempt \
        PreemptExemptTime PreemptMode UsageFactor UsageThres; do
        sacctmgr -nP show qos format=Name,$key 2>/dev/null | sed "s/^/$key|/" || true
    done | awk -F'|' '
        # Seconds of [days-]hours:minutes:seconds.
        function seconds(span,   days, parts) {
            if (split(span, days, "-") == 1) { days[2] = days[1]; days[1] = 0 }
            split(days[2], parts, ":")
            return ((days[1] * 24 + parts[1]) * 60 + parts[2]) * 60 + parts[3]
        }
        NF == 3 && $3 != "" && $1 $3 !~ /^(Priority0|UsageFactor1\.0*|LimitFactor0\.0*|PreemptModecluster|.*Time00:00:00)$/ {
            if (!($2 in settings)) names[++count] = $2
            settings[$2] = settings[$2] " " $1 "=" ($1 == "GraceTime" ? seconds($3) : $3)
        }
        END { for (i = 1; i <= count; i++) print "modify qos where name=" names[i] " set" settings[names[i]] }'
}
if ! sacctmgr -i dump "$cluster" file="$raw/accounts" >"$raw/said" 2>&1 || [ ! -s "$raw/accounts" ]; then
    complain "sacctmgr does not dump the accounts of $cluster, so the folder has no sacctmgr.script:"
    head -n 3 "$raw/said" >&2
else
    write_qos >"$raw/sacctmgr.script" 2>"$raw/said" || {
        complain "sacctmgr does not show the QOS: sacctmgr.script needs a line 'add qos NAME' for each above the dump:"
        head -n 3 "$raw/said" >&2
    }
    cat "$raw/accounts" >>"$raw/sacctmgr.script"
fi
scontrol --oneliner show reservation >"$raw/reservations.txt"

mkdir "$folder"
files=()
for file in sacct.txt slurm.conf gres.conf topology.conf sacctmgr.script reservations.txt; do
    [ ! -e "$raw/$file" ] || files+=("$file")
done
if [ -z "$anonymous" ]; then
    for file in "${files[@]}"; do cp "$raw/$file" "$folder/$file"; done
else
    (cd "$raw" && LC_ALL=C awk -v out="$raw/anonymous-" '
        # The number of a name of a kind, such as user12.
        function named(kind, name) {
            if (name == "" || name == "root" || name ~ /^\(null\)$/ || name == "ALL") return name
            if (!((kind, name) in numbers)) numbers[kind, name] = ++last[kind]
            return kind numbers[kind, name]
        }
        function named_list(kind, list,   parts, count, i, sign, text) {
            count = split(list, parts, ",")
            for (i = 1; i <= count; i++) {
                sign = parts[i] ~ /^[-+]/ ? substr(parts[i], 1, 1) : ""
                text = text (i > 1 ? "," : "") sign named(kind, substr(parts[i], length(sign) + 1))
            }
            return text
        }
        # Replaces the lists of names after key= in a line.
        function replace(line, key, kind,   head, found) {
            head = ""
            while (match(line, "(^|[ \t:])" key "=[^ \t:]*")) {
                found = substr(line, RSTART, RLENGTH)
                head = head substr(line, 1, RSTART - 1) substr(found, 1, index(found, "="))
                found = substr(found, index(found, "=") + 1)
                line = substr(line, RSTART + RLENGTH)
                head = head (found ~ /^\047/ ? "\047" named_list(kind, substr(found, 2, length(found) - 2)) "\047" \
                    : named_list(kind, found))
            }
            return head line
        }
        FNR == 1 { close(to); to = out FILENAME; printf "" >to }
        FILENAME == "sacct.txt" {
            count = split($0, cells, "\037")
            if (FNR == 1) {
                for (i = 1; i <= count; i++) column[cells[i]] = i
            } else {
                cells[column["User"]] = named("user", cells[column["User"]])
                cells[column["Account"]] = named("account", cells[column["Account"]])
                if ("Reservation" in column)
                    cells[column["Reservation"]] = named("reservation", cells[column["Reservation"]])
                sub(/ by .*/, "", cells[column["State"]])
            }
            line = cells[1]
            for (i = 2; i <= count; i++) line = line "\037" cells[i]
            print line >to
            next
        }
        FILENAME == "sacctmgr.script" && /^#/ { next }
        FILENAME == "sacctmgr.script" {
            line = $0
            if (match(line, /^(User|Account|Parent) - \047[^\047]*\047/)) {
                name = substr(line, 1, RLENGTH)
                line = substr(line, RLENGTH + 1)
                split(name, quoted, "\047")
                kind = name ~ /^User/ ? "user" : "account"
                line = substr(name, 1, index(name, "\047")) named(kind, quoted[2]) "\047" line
            }
            gsub(/:(Description|Organization)=\047[^\047]*\047/, "", line)
            line = replace(replace(line, "DefaultAccount", "account"), "Coordinator", "account")
            print line >to
            next
        }
        {
            # Comments may say anything.
            if (FILENAME != "reservations.txt") sub(/#.*/, "")
            if ($0 ~ /^[ \t]*$/) next
            line = $0
            line = replace(replace(line, "AllowAccounts", "account"), "DenyAccounts", "account")
            line = replace(replace(line, "AllowGroups", "group"), "Accounts", "account")
            line = replace(replace(line, "Users", "user"), "Groups", "group")
            line = replace(line, "ReservationName", "reservation")
            sub(/[ \t]Comment=.*/, "", line)
            print line >to
        }' "${files[@]}")
    for file in "${files[@]}"; do cp "$raw/anonymous-$file" "$folder/$file"; done
fi
echo "slurm-dump: ${files[*]} in $folder"
