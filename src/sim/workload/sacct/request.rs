//! The request of a job for a real Slurm, as far as a record has it.

use super::SizeIn;
use super::columns::Role;
use super::values::{self, MemoryOf};
use crate::workload::sbatch::quote_word;

/// Options of `sbatch` that make the request of a record again. A record has what the job was granted: its nodes and
/// cores are those of its allocation, and its partition and QOS those in which it ran.
pub fn sbatch_options<'r>(get: &dyn Fn(Role) -> Option<&'r [u8]>, size: SizeIn, count: u32) -> String {
    let text = |role: Role| {
        let value = std::str::from_utf8(get(role)?).ok()?;
        let is_known = !value.is_empty() && !value.contains(|c: char| c.is_control()) && value != "Unknown";
        is_known.then_some(value)
    };
    let nodes = [Role::AllocNodes, Role::NNodes, Role::ReqNodes]
        .into_iter()
        .find_map(|role| values::count(get(role)?).filter(|nodes| *nodes > 0));
    let mut words = Vec::new();
    match size {
        SizeIn::Nodes => words.push(format!("-N {count}")),
        SizeIn::Cores => {
            words.extend(nodes.filter(|nodes| *nodes <= count).map(|nodes| format!("-N {nodes}")));
            words.push(format!("-n {count}"));
        }
    }
    for (option, role) in [("-A", Role::Account), ("-q", Role::Qos), ("-p", Role::Partition), ("-C", Role::Constraints)]
    {
        words.extend(text(role).map(|value| format!("{option} {}", quote_word(value))));
    }
    words.extend(text(Role::Licenses).map(|value| format!("--licenses={}", quote_word(value))));
    words.extend(memory_option(get, nodes.unwrap_or(1)));
    let requested = text(Role::ReqTres).or_else(|| text(Role::AllocTres)).unwrap_or_default();
    words.extend(device_options(requested, nodes.unwrap_or(1)));
    words.join(" ")
}

/// Memory in kB, for each core or node as the record has it; that of a whole job is shared by its nodes.
fn memory_option<'r>(get: &dyn Fn(Role) -> Option<&'r [u8]>, nodes: u32) -> Option<String> {
    let of_job = |role: Role| values::memory(values::resource(get(role)?, b"mem")?);
    let (kilobytes, of) = values::memory(get(Role::ReqMem).unwrap_or_default()).or_else(|| of_job(Role::ReqTres))?;
    let option = match of {
        MemoryOf::Core => format!("--mem-per-cpu={kilobytes}K"),
        MemoryOf::Node => format!("--mem={kilobytes}K"),
        MemoryOf::Job => format!("--mem={}K", kilobytes.div_ceil(u64::from(nodes))),
    };
    (kilobytes > 0).then_some(option)
}

/// Devices of a list such as `cpu=2,gres/gpu=4,gres/gpu:v100=4`; of one kind, those with a type count.
fn device_options(resources: &str, nodes: u32) -> Vec<String> {
    let listed: Vec<(&str, u32)> = resources
        .split(',')
        .filter_map(|part| part.strip_prefix("gres/")?.split_once('='))
        .filter_map(|(name, count)| Some((name, count.parse().ok()?)))
        .filter(|(_, count)| *count > 0)
        .collect();
    let is_typed =
        |name: &str| listed.iter().any(|(other, _)| other.split_once(':').is_some_and(|(kind, _)| kind == name));
    let counted = listed.iter().filter(|(name, _)| !is_typed(name));
    counted.map(|(name, count)| format!("--gres={name}:{}", count.div_ceil(nodes))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_made_of_the_columns_that_there_are() {
        let options = |size: SizeIn, count: u32, columns: &[(Role, &'static str)]| {
            sbatch_options(
                &|role| columns.iter().find(|(other, _)| *other == role).map(|(_, value)| value.as_bytes()),
                size,
                count,
            )
        };
        let record = [
            (Role::Account, "phys"),
            (Role::Qos, "normal"),
            (Role::Partition, "a,b"),
            (Role::Constraints, "[x|y]&z"),
            (Role::NNodes, "2"),
            (Role::ReqMem, "4000M"),
            (Role::ReqTres, "cpu=8,gres/gpu=4,gres/gpu:v100=4,gres/fpga=1,mem=8000M"),
        ];
        let expected = "-N 2 -n 8 -A phys -q normal -p a,b -C [x|y]&z --mem=2048000K --gres=gpu:v100:2 --gres=fpga:1";
        assert_eq!(options(SizeIn::Cores, 8, &record), expected);
        assert_eq!(options(SizeIn::Nodes, 2, &record[..2]), "-N 2 -A phys -q normal");
        assert_eq!(
            options(SizeIn::Cores, 3, &[(Role::ReqMem, "2800Mc"), (Role::Qos, "Unknown")]),
            "-n 3 --mem-per-cpu=2867200K"
        );
        assert_eq!(options(SizeIn::Cores, 1, &[(Role::ReqMem, "1Gn"), (Role::NNodes, "2")]), "-n 1 --mem=1048576K");
    }
}
