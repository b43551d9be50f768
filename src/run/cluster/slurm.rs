//! Slurm: an array of shares with a job that gathers them, or one job whose steps are the processes of a run.

use std::fmt::Write as _;

use super::super::Failure;
use super::super::certs::folder_name;
use super::super::grouping::{cut_evenly, sites_and_users};
use super::super::identity::one_certificate_holds;
use super::{MachineSpread, RESTARTS, Shares};
use hansa_sim::protocol::handshake::Party;

/// A script that submits two jobs and says their numbers.
pub fn slurm_shares(shares: &Shares) -> String {
    let Shares { name, rows, parts, cpus, .. } = shares;
    let threads = cpus.to_string();
    let share = join_words(&shares.share_command(&["--threads", &threads]));
    let gather = join_words(&shares.share_command(&["--gather"]));
    let logs = quote_word(&format!("{rows}.parts/slurm"));
    format!(
        "#!/bin/bash
# Written by `hansa cluster slurm`: {name} in {parts} shares, and a job that gathers them when all are done.
#   bash THIS [flags of sbatch for all of them, such as --time=2:00:00 or --partition=long]
# All input and output has to be on a file system that all nodes share; a share that is submitted again resumes where it stopped.
set -euo pipefail
logs={logs}
mkdir -p \"$logs\"

shares=$(sbatch --parsable --job-name={name} --array=1-{parts} --ntasks=1 --cpus-per-task={cpus} \\
    --requeue --output=\"$logs/%a.log\" \"$@\" <<'END'
#!/bin/bash
exec {share} --part \"$SLURM_ARRAY_TASK_ID/{parts}\"
END
)
gather=$(sbatch --parsable --job-name={name}-gather --dependency=\"afterok:${{shares%%;*}}\" --kill-on-invalid-dep=yes --ntasks=1 \\
    --output=\"$logs/gather.log\" \"$@\" <<'END'
#!/bin/bash
exec {gather}
END
)
echo \"shares: job ${{shares%%;*}}; gathered by job ${{gather%%;*}} into {rows}\"
",
        rows = rows.replace(['\\', '"', '$', '`'], "?"),
    )
}

/// A script for sbatch. The first node has the router; sites, and users beside them, are spread evenly over all nodes.
pub fn slurm_spread(spread: &MachineSpread<'_>) -> Result<String, Failure> {
    let MachineSpread { topology, nodes, .. } = spread;
    let (sites, users) = sites_and_users(topology);
    let kinds = [cut_evenly(&sites, *nodes), cut_evenly(&users, *nodes)];
    let groups = || kinds.iter().flatten();
    if let Some(group) = groups().find(|group| !one_certificate_holds(group)) {
        let many = group.len();
        return Err(Failure::Input(format!(
            "one certificate does not hold the names of the {many} sites or users of a node: expected more --nodes"
        )));
    }

    let mut text = script_head(spread);
    let flags = quote_flags(spread);
    let _ = write!(text, "\"$hansa\" certs \"$topology\"{flags} --out \"$work\"");
    for group in groups().filter(|group| group.len() > 1) {
        let names: Vec<&str> = group.iter().map(Party::name).collect();
        let _ = write!(text, " \\\n    --group {}", names.join(","));
    }
    text.push_str(&router_step(spread));
    for (node, group) in kinds.iter().flat_map(|groups| groups.iter().enumerate()) {
        let names: String = group.iter().map(|party| format!(" --name {}", party.name())).collect();
        let _ = writeln!(
            text,
            "member {node} \"$hansa\" {} --topology \"$topology\"{flags} --router \"$address\" \
             --join-within 600{names} \\\n    --identity \"$work/{}\" &",
            group[0].role(),
            folder_name(group),
        );
    }
    text.push_str(
        "\n# The run ends with its router, which tells its members. If it was killed, they would look for it for a while.\n\
         wait \"$router\" && status=0 || status=$?\n\
         for _ in {1..10}; do\n    \
             [ -n \"$(jobs -rp)\" ] || break\n    \
             sleep 0.5\n\
         done\n\
         [ -z \"$(jobs -rp)\" ] || scancel --signal=TERM \"$SLURM_JOB_ID\" || true\n\
         wait\n\
         cat \"$work/router.out\"\n\
         exit \"$status\"\n",
    );
    Ok(text)
}

fn script_head(spread: &MachineSpread<'_>) -> String {
    let MachineSpread { topology, file, results, program, nodes, cpus, .. } = spread;
    let name = &topology.name;
    let sites = topology.sites.len();
    let users = topology.users.len();
    format!(
        "#!/bin/bash
# Written by `hansa cluster slurm`: one run of {name}, its router, {sites} sites and {users} users on {nodes} nodes.
#   sbatch THIS
# All input and output has to be on a file system that all nodes share. Identities are made for this job, and
# removed with it.
#SBATCH --job-name={name}
#SBATCH --nodes={nodes}
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task={cpus}
set -euo pipefail
hansa={program}
topology={file}
results={results}
mkdir -p \"$(dirname \"$results\")\"
work=$(mktemp -d \"$(dirname \"$results\")/.hansa-$SLURM_JOB_ID.XXXXXX\")
trap 'rm -rf \"$work\"' EXIT
mapfile -t nodes < <(scontrol show hostnames \"$SLURM_JOB_NODELIST\")

# Starts a step on a node of the job, by number.
on() {{
    local node=${{nodes[$(($1 % ${{#nodes[@]}}))]}}
    shift
    srun --overlap --nodes=1 --ntasks=1 --nodelist=\"$node\" --input=none \"$@\"
}}

# Runs a member. It is started again while the router lives: if it was killed, as the others wait for it, and if it was
# refused (6), as the router may not have missed its predecessor yet. A member that exits by itself says why.
member() {{
    local left={RESTARTS} status
    until on \"$@\"; do
        status=$?
        {{ [ \"$status\" -gt 130 ] || [ \"$status\" -eq 6 ]; }} || return \"$status\"
        [ \"$left\" -gt 0 ] && kill -0 \"$router\" 2>/dev/null || return \"$status\"
        left=$((left - 1))
    done
}}

",
        program = quote_word(program),
        file = quote_word(file),
        results = quote_word(results),
    )
}

fn router_step(spread: &MachineSpread<'_>) -> String {
    let flags = quote_flags(spread);
    format!(
        "

on 0 \"$hansa\" router --topology \"$topology\"{flags} --identity \"$work/router\" --bind 0.0.0.0:0 \\
    --join-within 600 --layout slurm --out \"$results\" >\"$work/router.out\" &
router=$!
until port=$(sed -n 's/^listening on .*:\\([0-9][0-9]*\\)$/\\1/p' \"$work/router.out\" 2>/dev/null) && [ -n \"$port\" ]; do
    kill -0 \"$router\" 2>/dev/null || {{ wait \"$router\"; exit; }}
    sleep 0.2
done
address=${{nodes[0]}}:$port

"
    )
}

fn quote_flags(spread: &MachineSpread<'_>) -> String {
    spread.flags.iter().map(|flag| format!(" {}", quote_word(flag))).collect()
}

fn join_words(words: &[String]) -> String {
    words.iter().map(|word| quote_word(word)).collect::<Vec<_>>().join(" ")
}

/// One word for a shell.
fn quote_word(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_@%+=:,./-".contains(letter);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_one_word() {
        assert_eq!(quote_word("/a/b-c_d.toml"), "/a/b-c_d.toml");
        assert_eq!(quote_word("two words; rm $HOME"), "'two words; rm $HOME'");
        assert_eq!(quote_word("it's"), "'it'\\''s'");
        assert_eq!(quote_word(""), "''");
    }
}
