//! Identities in files.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use hansa_run::identity::{Authority, Identity, VALID_DAYS, party_host};
use hansa_sim::protocol::handshake::Party;
use time::{Duration, OffsetDateTime};

use crate::world::{site, user};

#[test]
fn an_identity_survives_its_files_and_keeps_its_key_to_itself() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new("quickstart").unwrap();
    // Half a file of a killed process with our process id, as in containers.
    let half = format!(".key.pem.partial-{}", std::process::id());
    fs::write(folder.path().join(&half), "half").unwrap();
    authority.issue(&[site("york")], VALID_DAYS).unwrap().save(folder.path()).unwrap();

    Identity::load(folder.path()).unwrap();
    assert_eq!(fs::metadata(folder.path().join("key.pem")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(files(folder.path()), [half.as_str(), "ca.pem", "cert.pem", "key.pem"]);
}

#[test]
fn an_authority_that_was_saved_goes_on_signing() {
    let folder = tempfile::tempdir().unwrap();
    Authority::new("quickstart").unwrap().save(folder.path()).unwrap();
    assert_eq!(fs::metadata(folder.path().join("ca.key")).unwrap().permissions().mode() & 0o777, 0o600);

    let york = folder.path().join("york.site");
    Authority::load(folder.path(), "quickstart").unwrap().issue(&[site("york")], 1).unwrap().save(&york).unwrap();
    Identity::load(&york).unwrap();

    complains(Authority::load(folder.path(), "other").err(), "or the run is not called other");
}

#[test]
fn errors_of_an_identity_are_reported_when_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let [york, hull] = ["york", "hull"].map(|name| folder.path().join(name));
    let authority = Authority::new("quickstart").unwrap();
    let fresh = || {
        authority.issue(&[site("york")], 1).unwrap().save(&york).unwrap();
        Authority::new("quickstart").unwrap().issue(&[site("hull")], 1).unwrap().save(&hull).unwrap();
    };
    let check = |problem: &str| complains(Identity::load(&york).err(), problem);

    check("there is no identity in");
    fresh();
    fs::copy(hull.join("key.pem"), york.join("key.pem")).unwrap();
    check("key.pem is not the key of cert.pem");
    fresh();
    fs::copy(hull.join("ca.pem"), york.join("ca.pem")).unwrap();
    check("cert.pem was not signed by ca.pem; do they come from two runs?");
    fresh();
    fs::copy(york.join("cert.pem"), york.join("key.pem")).unwrap();
    check("key.pem: holds no private key");
    fresh();
    fs::write(york.join("cert.pem"), "-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n").unwrap();
    check("cert.pem: is not a PEM file");

    let now = OffsetDateTime::now_utc();
    let day = Duration::days(1);
    authority.issue_between(&[site("york")], now - 2 * day, now - day).unwrap().save(&york).unwrap();
    check("cert.pem has expired; issue new identities");
    authority.issue_between(&[site("york")], now + day, now + 2 * day).unwrap().save(&york).unwrap();
    check("cert.pem is not valid yet; is this machine's clock right?");
}

#[test]
fn no_two_parties_share_a_host_name() {
    let names = ["york", "York", "york-1", "york_1", "york.1", "-york", "york-", "yörk", "york.site", "1", "_31"];
    let mut hosts: Vec<_> = names.iter().flat_map(|name| [site(name), user(name)]).collect();
    hosts.push(Party::Router);
    let mut hosts: Vec<_> = hosts.iter().map(|party| party_host(party).unwrap().to_lowercase()).collect();
    assert_eq!(hosts[0], "york.site.hansa");
    hosts.sort();
    hosts.dedup();
    assert_eq!(hosts.len(), 2 * names.len() + 1);
}

#[test]
fn names_that_a_certificate_cannot_hold_are_refused() {
    let authority = Authority::new("quickstart").unwrap();
    complains(authority.issue(&[site(&"x".repeat(64))], 1).err(), "its name is longer than 63 characters");
    complains(authority.issue(&[site("")], 1).err(), "cannot have a certificate");
    complains(authority.issue(&[], 1).err(), "at least one name");
    let crowd: Vec<_> = (0..10_000).map(|at| user(&at.to_string())).collect();
    complains(authority.issue(&crowd, 1).err(), "one certificate cannot hold 10000 names");
    let odd = names_of_every_kind();
    authority.issue(&odd, 1).unwrap().client_tls().unwrap();
}

fn names_of_every_kind() -> Vec<Party> {
    ["1", "-", "a-b", "A b", "é", ".", "*"].map(site).to_vec()
}

fn complains<E: std::fmt::Display>(error: Option<E>, problem: &str) {
    let text = error.expect("it should not work").to_string();
    assert!(text.contains(problem), "{text:?} does not say {problem:?}");
}

fn files(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
