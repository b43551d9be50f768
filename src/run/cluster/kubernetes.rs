//! Kubernetes: an indexed Job whose pods run shares, with one that gathers them; or one Job per role of a run, each
//! with its identity as a Secret. Files come along in a ConfigMap, and results go to a claim that pods share.
//!
//! Pods have nothing but the static binaries, run as an unprivileged user, read-only, and without any right.

use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::super::Failure;
use super::super::identity::{Authority, Identity, IdentityError, VALID_DAYS};
use super::bundle::{FOLDER, FileBundle};
use super::{MachineSpread, RESTARTS, Shares, yaml};
use hansa_sim::protocol::handshake::Party;
use hansa_sim::topology::Roster;

pub const PROGRAM: &str = "/hansa";
pub const RESULTS: &str = "/results";
const IDENTITY: &str = "/identity";
const PORT: u16 = 4433;
/// A user that is not root.
const UNPRIVILEGED: u32 = 65_532;
/// Time limit until all pods of a run have found machines, or all shares are done: 10 days.
const PATIENCE: &str = "864000";

/// Kubernetes replaces this by the number of the pod.
const SHARE: &str = "$(SHARE)";

/// Settings common to all pods.
pub struct Pods {
    pub image: String,
    /// An existing claim, instead of one of its own.
    pub claim: Option<String>,
}

pub fn kubernetes_shares(shares: &Shares, pods: &Pods, bundle: &FileBundle) -> Result<String, Failure> {
    let Shares { name, parts, cpus, .. } = shares;
    let around = ObjectFrame::new(name, pods, bundle);
    let threads = cpus.to_string();
    let index = format!("{SHARE}/{parts}");
    let mut share = around.pod_container(&shares.share_command(&["--threads", &threads, "--index", &index]), true);
    let number =
        json!({ "fieldRef": { "fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']" } });
    share["env"] = json!([{ "name": "SHARE", "valueFrom": number }]);
    share["resources"] = json!({ "requests": { "cpu": threads }, "limits": { "cpu": threads } });
    let mut all = around.job("shares", share, &[]);
    all["spec"]["completions"] = json!(parts);
    all["spec"]["parallelism"] = json!(parts);
    all["spec"]["completionMode"] = json!("Indexed");
    // A share that was ended resumes.
    all["spec"]["backoffLimit"] = json!(6 * parts);
    let gather = around.pod_container(&shares.share_command(&["--gather", "--wait", PATIENCE]), true);

    let head = format!(
        "# Written by `hansa cluster kubernetes`: {name} in {parts} shares, and a pod that waits for them and gathers them.\n\
         #   kubectl apply -f THIS, then: kubectl wait --for=condition=complete --timeout=-1s job/{}\n\
         # Results are in {name} of the claim {}. The image is built by docker/build, and has to be where the cluster can pull it.\n",
        around.full_name("gather"),
        around.claim,
    );
    let mut objects = around.bundle_objects(true);
    objects.extend([all, around.job("gather", gather, &[])]);
    Ok(head + &yaml::write_documents(&objects))
}

pub fn kubernetes_spread(spread: &MachineSpread<'_>, pods: &Pods, bundle: &FileBundle) -> Result<String, Failure> {
    let topology = spread.topology;
    let around = ObjectFrame::new(&topology.name, pods, bundle);
    let system = |error: IdentityError| Failure::System(error.to_string());
    let authority = Authority::new(&topology.name).map_err(system)?;
    let mut objects = around.bundle_objects(false);
    objects.push(around.router_service());
    for party in [Party::Router].into_iter().chain(Roster::of_topology(topology).parties()) {
        let identity = authority.issue(std::slice::from_ref(&party), VALID_DAYS).map_err(system)?;
        objects.extend([around.identity_secret(&party, &identity), around.role_job(&party, spread)]);
    }
    let head = format!(
        "# Written by `hansa cluster kubernetes`: one run of {name}, one Job per role. It holds the keys of the run, valid for {VALID_DAYS} days:\n\
         # write a new one for each run.\n\
         #   kubectl apply -f THIS, then: kubectl wait --for=condition=complete --timeout=-1s job/{}\n\
         # Results are in {name} of the claim {}. The image is built by docker/build, and has to be where the cluster can pull it.\n",
        around.full_name("router"),
        around.claim,
        name = topology.name,
    );
    Ok(head + &yaml::write_documents(&objects))
}

/// The common part of all objects of one file.
struct ObjectFrame<'a> {
    name: &'a str,
    pods: &'a Pods,
    bundle: &'a FileBundle,
    claim: String,
}

impl<'a> ObjectFrame<'a> {
    fn new(name: &'a str, pods: &'a Pods, bundle: &'a FileBundle) -> ObjectFrame<'a> {
        let claim = pods.claim.clone().unwrap_or_else(|| object_name(name, "results"));
        ObjectFrame { name, pods, bundle, claim }
    }

    fn full_name(&self, what: &str) -> String {
        object_name(self.name, what)
    }

    fn build_object(&self, version: &str, kind: &str, what: &str, rest: Value) -> Value {
        let mut object = json!({
            "apiVersion": version,
            "kind": kind,
            "metadata": { "name": self.full_name(what), "labels": self.labels(what) },
        });
        for (key, value) in rest.as_object().into_iter().flatten() {
            object[key] = value.clone();
        }
        object
    }

    fn labels(&self, what: &str) -> Value {
        json!({
            "app.kubernetes.io/name": "hansa",
            "app.kubernetes.io/instance": self.name,
            "app.kubernetes.io/component": bounded_label(what),
        })
    }

    /// The files, and the claim if it is its own.
    fn bundle_objects(&self, many_write: bool) -> Vec<Value> {
        let mut text = Map::new();
        let mut bytes = Map::new();
        for (number, content) in self.bundle.files.values().enumerate() {
            match std::str::from_utf8(content) {
                Ok(content) => drop(text.insert(file_key(number), content.into())),
                Err(_) => drop(bytes.insert(file_key(number), encode_base64(content).into())),
            }
        }
        let mut data = json!({ "immutable": true, "data": text });
        if !bytes.is_empty() {
            data["binaryData"] = Value::Object(bytes);
        }
        let mut objects = vec![self.build_object("v1", "ConfigMap", "files", data)];
        if self.pods.claim.is_none() {
            let access = if many_write { "ReadWriteMany" } else { "ReadWriteOnce" };
            let spec = json!({ "accessModes": [access], "resources": { "requests": { "storage": "1Gi" } } });
            objects.push(self.build_object("v1", "PersistentVolumeClaim", "results", json!({ "spec": spec })));
        }
        objects
    }

    /// The service through which members find the router.
    fn router_service(&self) -> Value {
        let port = json!({ "name": "quic", "port": PORT, "targetPort": PORT, "protocol": "UDP" });
        self.build_object(
            "v1",
            "Service",
            "router",
            json!({ "spec": { "selector": self.labels("router"), "ports": [port] } }),
        )
    }

    fn identity_secret(&self, party: &Party, identity: &Identity) -> Value {
        let mut pem = Map::new();
        pem.extend(identity.pem_files().into_iter().map(|(name, text)| (name.to_owned(), text.into())));
        self.build_object("v1", "Secret", &party.slug(), json!({ "type": "Opaque", "stringData": pem }))
    }

    /// The job of one role of a run.
    fn role_job(&self, party: &Party, spread: &MachineSpread<'_>) -> Value {
        let role = party.slug();
        let is_router = *party == Party::Router;
        let mut container = self.pod_container(&self.role_command(party, spread), is_router);
        container["volumeMounts"]
            .as_array_mut()
            .expect("a container mounts files")
            .push(json!({ "name": "identity", "mountPath": IDENTITY, "readOnly": true }));
        if is_router {
            container["ports"] = json!([{ "containerPort": PORT, "protocol": "UDP" }]);
        }
        let secret =
            json!({ "name": "identity", "secret": { "secretName": self.full_name(&role), "defaultMode": 0o440 } });
        let mut job = self.job(&role, container, &[secret]);
        // A killed member is restarted, as the others wait for it; one that ends by itself has reported the reason, and
        // would do so again.
        job["spec"]["backoffLimit"] = json!(if is_router { 0 } else { RESTARTS });
        if !is_router {
            let left = json!({ "containerName": "hansa", "operator": "In", "values": Failure::CODES });
            job["spec"]["podFailurePolicy"] = json!({ "rules": [{ "action": "FailJob", "onExitCodes": left }] });
        }
        job
    }

    /// The command of a role of a run.
    fn role_command(&self, party: &Party, spread: &MachineSpread<'_>) -> Vec<String> {
        let MachineSpread { program, file, results, flags, .. } = spread;
        let words = [program, party.role(), "--topology", file, "--identity", IDENTITY, "--join-within", PATIENCE];
        let mut words = words.map(str::to_owned).to_vec();
        words.extend_from_slice(flags);
        if *party == Party::Router {
            let bind = format!("0.0.0.0:{PORT}");
            words.extend(["--bind", &bind, "--layout", "kubernetes", "--out", results].map(str::to_owned));
        } else {
            let router = format!("{}:{PORT}", self.full_name("router"));
            words.extend(["--name", party.name(), "--router", &router].map(str::to_owned));
        }
        words
    }

    fn pod_container(&self, command: &[String], writes: bool) -> Value {
        // Only the share's name is to be replaced.
        let word = |word: &String| if word.starts_with(SHARE) { word.clone() } else { word.replace('$', "$$") };
        let command: Vec<String> = command.iter().map(word).collect();
        let mut mounts = vec![json!({ "name": "files", "mountPath": FOLDER, "readOnly": true })];
        if writes {
            mounts.push(json!({ "name": "results", "mountPath": RESULTS }));
        }
        json!({
            "name": "hansa",
            "image": self.pods.image,
            "command": command,
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": { "drop": ["ALL"] },
            },
            "volumeMounts": mounts,
        })
    }

    fn job(&self, what: &str, container: Value, more_volumes: &[Value]) -> Value {
        let items: Vec<Value> =
            (0..).zip(self.bundle.files.keys()).map(|(n, path)| json!({ "key": file_key(n), "path": path })).collect();
        let mut volumes =
            vec![json!({ "name": "files", "configMap": { "name": self.full_name("files"), "items": items } })];
        let mounts = container["volumeMounts"].as_array().into_iter().flatten();
        if mounts.clone().any(|mount| mount["name"] == "results") {
            volumes.push(json!({ "name": "results", "persistentVolumeClaim": { "claimName": self.claim } }));
        }
        volumes.extend(more_volumes.iter().cloned());
        let template = json!({
            "metadata": { "labels": self.labels(what) },
            "spec": {
                "restartPolicy": "Never",
                "automountServiceAccountToken": false,
                "securityContext": {
                    "runAsNonRoot": true,
                    "runAsUser": UNPRIVILEGED,
                    "runAsGroup": UNPRIVILEGED,
                    "fsGroup": UNPRIVILEGED,
                    "seccompProfile": { "type": "RuntimeDefault" },
                },
                "containers": [container],
                "volumes": volumes,
            },
        });
        self.build_object("batch/v1", "Job", what, json!({ "spec": { "template": template } }))
    }
}

fn object_name(name: &str, what: &str) -> String {
    bounded_label(&format!("hansa-{name}-{what}"))
}

/// A label that is at most as long as a host name's part; different long texts have different labels.
fn bounded_label(text: &str) -> String {
    if text.len() <= LABEL_MAX && !text.ends_with('-') {
        return text.to_owned();
    }
    let kept: String = text.chars().take(LABEL_MAX - 9).collect();
    format!("{}-{:08x}", kept.trim_end_matches('-'), xxh3_64(text.as_bytes()) as u32)
}

/// Limit on labels, as the names of pods are longer by a suffix.
const LABEL_MAX: usize = 52;

/// Key of a file in a ConfigMap, where keys have no folders.
fn file_key(number: usize) -> String {
    format!("file-{number}")
}

fn encode_base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let all = three.iter().fold(0_u32, |all, byte| all << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let shown = (all >> (18 - 6 * digit)) & 63;
            text.push(if digit <= three.len() { DIGITS[shown as usize] as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_in_base_64() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(encode_base64(bytes.as_bytes()), text);
        }
        assert_eq!(encode_base64(&[0xff, 0xfe, 0xfd, 0xfc]), "//79/A==");
    }

    #[test]
    fn names_are_those_of_hosts_and_stay_different() {
        let a = object_name(&"x".repeat(63), "site-york");
        let b = object_name(&"x".repeat(63), "site-durham");
        assert!(a.len() <= LABEL_MAX && b.len() <= LABEL_MAX && a != b, "{a} {b}");
        assert_eq!(object_name("quickstart", "site-york"), "hansa-quickstart-site-york");
        assert!(!object_name("quickstart", "site-york-").ends_with('-'));
    }
}
