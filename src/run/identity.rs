//! Identities: a run's authority signs one certificate per process, and the certificate names the parties of the
//! process.
//!
//! Each party has a host name in the invented domain `hansa`: `york.site.hansa`, `ann.user.hansa`, and `router.hansa`,
//! which clients ask for at every address of the router. A certificate lists the names of all parties of its process.
//!
//! An identity is a folder with `ca.pem`, `cert.pem` and `key.pem`: hand a machine its folder and no other. The
//! authority's own key stays in memory unless it is saved on purpose ([`Authority::save`]): its holder can make another
//! york.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose};
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::crypto::tls13::OkmBlock;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{CertificateError, RootCertStore};
use time::{Duration, OffsetDateTime};

use super::disk::{io_reason, replace_as};
use super::input::read_plain;
use hansa_sim::protocol::handshake::{PROTOCOL, Party};

/// Default validity of a certificate.
pub const VALID_DAYS: u16 = 30;

/// The name that a router proves, at every address.
pub const ROUTER_HOST: &str = "router.hansa";

/// The longest label of a host name; a party's name is one label.
const LABEL_MAX: usize = 63;

/// The longest certificate that TLS peers read; some two thousand names.
const CERTIFICATE_MAX: usize = 0xf000;

/// Upper bound on the size of a certificate without its names, and on the overhead of each name.
const CERTIFICATE_BARE: usize = 1024;
const NAME_ALONG: usize = 2;

const CA: &str = "ca.pem";
pub const CA_KEY: &str = "ca.key";
const CERTIFICATE: &str = "cert.pem";
const KEY: &str = "key.pem";

#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("cannot {verb} {}: {}", path.display(), io_reason(error))]
    File { verb: &'static str, path: PathBuf, error: io::Error },
    #[error("{}: {problem}", path.display())]
    Pem { path: PathBuf, problem: String },
    #[error(
        "there is no identity in {}: expected a folder with {CA}, {CERTIFICATE} and {KEY}, as `hansa certs` makes them{}",
        folder.display(),
        list_identities(folder, inside)
    )]
    Missing {
        folder: PathBuf,
        /// Names of identities in the folder.
        inside: Vec<String>,
    },
    #[error("the identity in {} cannot be used: {problem}", folder.display())]
    Useless { folder: PathBuf, problem: String },
    #[error("the identity in {} is not valid for {party}, only for {hosts}", folder.display())]
    Another { folder: PathBuf, party: Party, hosts: String },
    #[error("{0} cannot have a certificate: its name is longer than {LABEL_MAX} characters as a host name")]
    Name(Party),
    #[error("a certificate needs at least one name")]
    NoName,
    #[error("one certificate cannot hold {0} names: spread them over more processes")]
    Crowd(usize),
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}

/// Signs the certificates of one run.
pub struct Authority {
    /// Its own certificate, in PEM.
    certificate: String,
    issuer: rcgen::Issuer<'static, KeyPair>,
}

/// A certificate with its key, and the authority that signs it and its peers.
pub struct Identity {
    authority: CertificateDer<'static>,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    pem: Pem,
}

/// An identity as text in files.
struct Pem {
    authority: String,
    certificate: String,
    key: String,
}

impl Authority {
    /// A new authority for the run of this name.
    pub fn new(run: &str) -> Result<Authority, IdentityError> {
        let key = KeyPair::generate()?;
        let params = authority_params(run, &key);
        let certificate = params.self_signed(&key)?.pem();
        Ok(Authority { certificate, issuer: rcgen::Issuer::new(params, key) })
    }

    /// Reads an authority written by [`Authority::save`], to sign more identities for the same run.
    pub fn load(folder: &Path, run: &str) -> Result<Authority, IdentityError> {
        let certificate = read_text(&folder.join(CA))?;
        let path = folder.join(CA_KEY);
        let key = KeyPair::from_pem(&read_text(&path)?)
            .map_err(|_| IdentityError::Pem { path, problem: "holds no private key".to_owned() })?;

        let authority = Authority { certificate, issuer: rcgen::Issuer::new(authority_params(run, &key), key) };
        authority.issue(&[Party::Router], 1)?.check().map_err(|_| IdentityError::Useless {
            folder: folder.to_owned(),
            problem: format!("{CA_KEY} is not the key of {CA}, or the run is not called {run}"),
        })?;
        Ok(authority)
    }

    /// Writes the authority with its key, only for signing more identities later: a reader of the key can pose as any
    /// party.
    pub fn save(&self, folder: &Path) -> Result<(), IdentityError> {
        create_folder(folder)?;
        write_secret(&folder.join(CA_KEY), &self.issuer.key().serialize_pem())?;
        write_public(&folder.join(CA), &self.certificate)
    }

    /// An identity for a process with all of these parties, valid from a day ago (clocks differ) and for this many
    /// days.
    pub fn issue(&self, parties: &[Party], days: u16) -> Result<Identity, IdentityError> {
        let now = OffsetDateTime::now_utc();
        self.issue_between(parties, now - Duration::days(1), now + Duration::days(days.into()))
    }

    pub fn issue_between(
        &self,
        parties: &[Party],
        not_before: OffsetDateTime,
        not_after: OffsetDateTime,
    ) -> Result<Identity, IdentityError> {
        let first = parties.first().ok_or(IdentityError::NoName)?;
        let hosts = parties.iter().map(party_host).collect::<Result<Vec<_>, _>>()?;
        let mut params = CertificateParams::new(hosts)?;
        params.distinguished_name.push(DnType::CommonName, first.to_string());
        params.not_before = not_before;
        params.not_after = not_after;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        // Names, not usages, keep a site from posing as the router: clients ask for `router.hansa`.
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;

        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        if certificate.der().len() > CERTIFICATE_MAX {
            return Err(IdentityError::Crowd(parties.len()));
        }
        let pem = Pem { authority: self.certificate.clone(), certificate: certificate.pem(), key: key.serialize_pem() };
        // Without files a fault in the text can only be in the authority's certificate, which may have been read.
        pem.parse(Path::new(""))
    }
}

impl Identity {
    /// Reads an identity, and checks before the join that it is complete, consistent and in date.
    pub fn load(folder: &Path) -> Result<Identity, IdentityError> {
        if !folder.join(CA).exists() {
            return Err(IdentityError::Missing { folder: folder.to_owned(), inside: identities_in(folder) });
        }
        let pem = Pem {
            authority: read_text(&folder.join(CA))?,
            certificate: read_text(&folder.join(CERTIFICATE))?,
            key: read_text(&folder.join(KEY))?,
        };
        let identity = pem.parse(folder)?;
        identity.check().map_err(|error| IdentityError::Useless {
            folder: folder.to_owned(),
            problem: match error {
                IdentityError::Tls(error) => explain_unusable(&error),
                other => other.to_string(),
            },
        })?;
        Ok(identity)
    }

    /// Fails unless it is valid for all of these parties.
    pub fn check_names(&self, parties: &[Party], folder: &Path) -> Result<(), IdentityError> {
        let names = CertificateNames::of(&self.certificate)?;
        match parties.iter().find(|party| !names.cover(party)) {
            None => Ok(()),
            Some(party) => {
                let party = party.clone();
                let hosts = names.hosts().join(", ");
                Err(IdentityError::Another { folder: folder.to_owned(), party, hosts })
            }
        }
    }

    /// Writes the identity; each file appears whole or not at all.
    pub fn save(&self, folder: &Path) -> Result<(), IdentityError> {
        create_folder(folder)?;
        write_secret(&folder.join(KEY), &self.pem.key)?;
        write_public(&folder.join(CERTIFICATE), &self.pem.certificate)?;
        write_public(&folder.join(CA), &self.pem.authority)
    }

    /// The texts that [`Identity::save`] writes, by file.
    pub fn pem_files(&self) -> [(&'static str, &str); 3] {
        [(KEY, &self.pem.key), (CERTIFICATE, &self.pem.certificate), (CA, &self.pem.authority)]
    }

    /// The identity as three blocks of PEM, for a process that takes it over without a file.
    pub fn handover_text(&self) -> String {
        let Pem { authority, certificate, key } = &self.pem;
        [authority, certificate, key].map(|block| format!("{}\n", block.trim_end())).concat()
    }

    /// Takes over the blocks of [`Identity::handover_text`], line by line, and no line more.
    pub fn from_handover(mut line: impl FnMut() -> Option<String>) -> Result<Identity, IdentityError> {
        let mut block = || {
            let mut text = String::new();
            while let Some(line) = line() {
                text.push_str(&line);
                if line.starts_with("-----END") {
                    break;
                }
            }
            text
        };
        let pem = Pem { authority: block(), certificate: block(), key: block() };
        pem.parse(Path::new("the identity from the launcher"))
    }

    /// TLS settings of a router with this identity.
    pub fn server_tls(&self) -> Result<rustls::ServerConfig, IdentityError> {
        let mut config = rustls::ServerConfig::builder_with_provider(crypto_provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_client_cert_verifier(self.client_verifier()?)
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())?;
        config.alpn_protocols = vec![PROTOCOL.into()];
        // A peer joins once and never resumes.
        config.send_tls13_tickets = 0;
        Ok(config)
    }

    /// TLS settings of a leaf with this identity.
    pub fn client_tls(&self) -> Result<rustls::ClientConfig, IdentityError> {
        let mut config = rustls::ClientConfig::builder_with_provider(crypto_provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(self.trusted_roots()?)
            .with_client_auth_cert(vec![self.certificate.clone()], self.key.clone_key())?;
        config.alpn_protocols = vec![PROTOCOL.into()];
        config.resumption = Resumption::disabled();
        Ok(config)
    }

    /// The key of messages by which only a process with this identity can make others forget a connection.
    pub fn reset_key(&self) -> ResetKey {
        let secret = hmac_sha256(&[0; KEY_LENGTH], self.key.secret_der());
        ResetKey(secret.as_ref().try_into().expect("a tag of SHA-256 is as long as a key"))
    }

    fn check(&self) -> Result<(), IdentityError> {
        self.client_verifier()?.verify_client_cert(&self.certificate, &[], UnixTime::now())?;
        self.client_tls()?;
        Ok(())
    }

    fn client_verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, IdentityError> {
        WebPkiClientVerifier::builder_with_provider(self.trusted_roots()?.into(), crypto_provider())
            .build()
            .map_err(|error| rustls::Error::General(error.to_string()).into())
    }

    fn trusted_roots(&self) -> Result<RootCertStore, IdentityError> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.clone())?;
        Ok(roots)
    }
}

/// Signs messages that a connection is forgotten.
pub struct ResetKey([u8; KEY_LENGTH]);

impl ResetKey {
    /// Seed of connection numbers, so that a holder of the key knows its own.
    pub fn connection_seed(&self) -> u64 {
        let secret = hmac_sha256(&self.0, b"connections");
        u64::from_le_bytes(secret.as_ref()[..8].try_into().expect("eight bytes are eight bytes"))
    }
}

const KEY_LENGTH: usize = 32;

impl quinn::crypto::HmacKey for ResetKey {
    fn sign(&self, data: &[u8], signature: &mut [u8]) {
        signature.copy_from_slice(hmac_sha256(&self.0, data).as_ref());
    }

    fn signature_len(&self) -> usize {
        KEY_LENGTH
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), quinn::crypto::CryptoError> {
        if hmac_sha256(&self.0, data).as_ref() == signature { Ok(()) } else { Err(quinn::crypto::CryptoError) }
    }
}

/// HMAC with SHA-256, as in TLS.
fn hmac_sha256(key: &[u8], data: &[u8]) -> rustls::crypto::hmac::Tag {
    let suite = rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
    let suite = suite.tls13().expect("it is a suite of TLS 1.3");
    suite.hkdf_provider.hmac_sign(&OkmBlock::new(key), data)
}

impl Pem {
    fn parse(self, folder: &Path) -> Result<Identity, IdentityError> {
        Ok(Identity {
            authority: parse_item(&self.authority, &folder.join(CA), "certificate")?,
            certificate: parse_item(&self.certificate, &folder.join(CERTIFICATE), "certificate")?,
            key: parse_item(&self.key, &folder.join(KEY), "private key")?,
            pem: self,
        })
    }
}

/// The names in a certificate.
pub(super) struct CertificateNames<'a>(ParsedCertificate<'a>);

impl<'a> CertificateNames<'a> {
    pub(super) fn of(certificate: &'a CertificateDer<'_>) -> Result<CertificateNames<'a>, rustls::Error> {
        Ok(CertificateNames(ParsedCertificate::try_from(certificate)?))
    }

    pub(super) fn cover(&self, party: &Party) -> bool {
        party_host(party).is_ok_and(|host| self.check(host).is_ok())
    }

    /// The host names, for messages; the decision is [`CertificateNames::cover`].
    pub(super) fn hosts(&self) -> Vec<String> {
        // rustls lists the names only in the error for a name that is not among them.
        match self.check("nobody".to_owned()) {
            Err(rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext { presented, .. })) => {
                presented
                    .iter()
                    .map(|name| name.trim_start_matches("DnsName(\"").trim_end_matches("\")").to_owned())
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn check(&self, host: String) -> Result<(), rustls::Error> {
        let name = ServerName::try_from(host).map_err(|error| rustls::Error::General(error.to_string()))?;
        rustls::client::verify_server_name(&self.0, &name)
    }
}

/// True if one certificate, as TLS peers read it, has room for all these names.
pub(super) fn one_certificate_holds(parties: &[Party]) -> bool {
    let names: usize =
        parties.iter().filter_map(|party| party_host(party).ok()).map(|host| host.len() + NAME_ALONG).sum();
    names + CERTIFICATE_BARE <= CERTIFICATE_MAX
}

/// The host name of a party. The mapping is one to one, as host names have neither case nor most characters, and `York`
/// is not `york`.
pub fn party_host(party: &Party) -> Result<String, IdentityError> {
    if *party == Party::Router {
        return Ok(ROUTER_HOST.to_owned());
    }
    let name = party.name();
    let last = name.len().saturating_sub(1);
    let mut label = String::new();
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' => label.push(byte.into()),
            b'-' if at > 0 && at < last => label.push('-'),
            _ => label.push_str(&format!("_{byte:02x}")),
        }
    }
    match label.len() {
        1..=LABEL_MAX => Ok(format!("{label}.{}.hansa", party.role())),
        _ => Err(IdentityError::Name(party.clone())),
    }
}

/// A function of name and key alone, so that an authority can be restored from its key.
fn authority_params(run: &str, key: &KeyPair) -> CertificateParams {
    let mut params = CertificateParams::default();
    let print: String = params.key_identifier(key).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    // Two runs of one name must not have authorities of one name: a mix-up would read as a forged signature.
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, format!("Hansa run {run}, authority {print}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.not_before = OffsetDateTime::now_utc() - Duration::days(1);
    params.not_after = OffsetDateTime::now_utc() + Duration::days(3650);
    params
}

/// The one provider, named at each use: with two in a build the default is a panic at run time.
fn crypto_provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn explain_unusable(error: &rustls::Error) -> String {
    use CertificateError::{BadSignature, Expired, ExpiredContext, NotValidYet, NotValidYetContext, UnknownIssuer};
    match error {
        rustls::Error::InvalidCertificate(Expired | ExpiredContext { .. }) => {
            format!("{CERTIFICATE} has expired; issue new identities")
        }
        rustls::Error::InvalidCertificate(NotValidYet | NotValidYetContext { .. }) => {
            format!("{CERTIFICATE} is not valid yet; is this machine's clock right?")
        }
        rustls::Error::InvalidCertificate(UnknownIssuer | BadSignature) => {
            format!("{CERTIFICATE} was not signed by {CA}; do they come from two runs?")
        }
        rustls::Error::InconsistentKeys(_) => format!("{KEY} is not the key of {CERTIFICATE}"),
        other => other.to_string(),
    }
}

fn parse_item<T: PemObject>(text: &str, path: &Path, what: &str) -> Result<T, IdentityError> {
    T::from_pem_slice(text.as_bytes()).map_err(|error| {
        let problem = match error {
            pem::Error::NoItemsFound => format!("holds no {what} in PEM form; `hansa certs` makes such files"),
            other => format!("is not a PEM file: {other}"),
        };
        IdentityError::Pem { path: path.to_owned(), problem }
    })
}

/// Names of the identities that a folder holds, ascending.
fn identities_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let with_identity = entries.filter(|entry| entry.path().join(CA).exists());
    let mut names: Vec<String> = with_identity.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// Number of identities that a message lists.
const LISTED: usize = 5;

fn list_identities(folder: &Path, names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let paths = names.iter().take(LISTED).map(|name| folder.join(name).display().to_string());
    let more = if names.len() > LISTED { ", ..." } else { "" };
    format!("; one process needs one of {}{more}", paths.collect::<Vec<_>>().join(", "))
}

fn read_text(path: &Path) -> Result<String, IdentityError> {
    let text = read_plain(path).and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    text.map_err(|error| file_error("read", path, error))
}

fn file_error(verb: &'static str, path: &Path, error: io::Error) -> IdentityError {
    IdentityError::File { verb, path: path.to_owned(), error }
}

fn create_folder(folder: &Path) -> Result<(), IdentityError> {
    fs::create_dir_all(folder).map_err(|error| file_error("create", folder, error))
}

fn write_public(path: &Path, text: &str) -> Result<(), IdentityError> {
    write_whole(path, text, 0o644)
}

fn write_secret(path: &Path, text: &str) -> Result<(), IdentityError> {
    write_whole(path, text, 0o600)
}

/// Writes a file so that no reader sees half of it and no key is ever readable by others.
fn write_whole(path: &Path, text: &str, mode: u32) -> Result<(), IdentityError> {
    let written = replace_as(path, mode, |file| file.write_all(text.as_bytes()));
    written.map_err(|error| file_error("write", path, error))
}
