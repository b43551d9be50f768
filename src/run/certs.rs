//! Makes a run's identities for processes that a person or another program starts.

use std::path::Path;

use super::Failure;
use super::identity::{Authority, CA_KEY, IdentityError};
use hansa_sim::near::nearest_name;
use hansa_sim::protocol::handshake::Party;
use hansa_sim::topology::{Roster, Topology};

/// Writes one identity per role below `out`, and one for each group of names that one process plays.
///
/// The authority's key is deleted afterwards, so that no other process can be given an identity of this run, unless
/// `keep_authority` is set; with a kept key a second call signs the identities that are missing. `renew` starts anew
/// and replaces existing ones.
pub fn write_identities(
    topology: &Topology,
    out: &Path,
    days: u16,
    groups: &[String],
    keep_authority: bool,
    renew: bool,
) -> Result<(), Failure> {
    let roster = Roster::of_topology(topology);
    let groups = groups.iter().map(|group| parse_group(&roster, group)).collect::<Result<Vec<_>, _>>()?;
    let singles = std::iter::once(Party::Router).chain(roster.parties()).map(|party| vec![party]);

    if renew {
        // The old key would sign identities that no process trusts any more.
        let _ = std::fs::remove_file(out.join(CA_KEY));
    }
    let kept = out.join(CA_KEY).exists();
    let authority = match kept {
        true => Authority::load(out, &topology.name).map_err(|error| Failure::Input(error.to_string()))?,
        false => Authority::new(&topology.name).map_err(system_failure)?,
    };
    if !kept && !renew && out.join("router").exists() {
        return Err(Failure::Input(format!(
            "{} already contains the identities of a run, and the key that signed them was not kept: choose another \
             folder, or replace all of them with --renew",
            out.display()
        )));
    }
    for parties in singles.chain(groups) {
        let folder = out.join(folder_name(&parties));
        if renew || !folder.exists() {
            authority.issue(&parties, days).and_then(|identity| identity.save(&folder)).map_err(system_failure)?;
        }
    }
    if keep_authority { authority.save(out).map_err(system_failure) } else { Ok(()) }
}

fn system_failure(error: IdentityError) -> Failure {
    Failure::System(error.to_string())
}

/// Name of the folder: `york.site`, or `york+durham.site` for a process that plays both.
pub fn folder_name(parties: &[Party]) -> String {
    let names: Vec<&str> = parties.iter().map(Party::name).collect();
    match &parties[0] {
        Party::Router => "router".to_owned(),
        first => format!("{}.{}", names.join("+"), first.role()),
    }
}

fn parse_group(roster: &Roster, group: &str) -> Result<Vec<Party>, Failure> {
    if group.split(',').any(|name| name.trim().is_empty()) {
        return Err(Failure::Input(format!("--group {group:?}: expected names with commas between them: york,durham")));
    }
    let parties = group
        .split(',')
        .map(str::trim)
        .map(|name| {
            let parties = roster.parties();
            let near = nearest_name(name, parties.iter().map(Party::name));
            let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            let named = parties.iter().find(|party| party.name() == name).cloned();
            named.ok_or_else(|| {
                Failure::Input(format!("--group {group}: the topology has no site or user {name}{near}"))
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    if let Some((_, twice)) = parties.iter().enumerate().find(|(at, party)| parties[..*at].contains(party)) {
        return Err(Failure::Input(format!("--group {group}: {twice} is named twice")));
    }
    if parties.iter().any(|party| party.role() != parties[0].role()) {
        return Err(Failure::Input(format!("--group {group}: sites and users do not share a process")));
    }
    Ok(parties)
}
