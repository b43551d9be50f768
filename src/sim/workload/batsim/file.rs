//! A workload in its written form, with as few assumptions as possible.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::logged::MaybeLogged;
use super::loose::Loose;
use crate::workload::rigid::JOBS_MAX;

#[derive(Deserialize)]
#[serde(expecting = "an object with jobs and profiles")]
pub struct RawFile {
    #[serde(deserialize_with = "written_jobs")]
    pub jobs: Vec<WrittenJob>,
    #[serde(deserialize_with = "profiles")]
    pub profiles: BTreeMap<String, Profile>,
    #[serde(default, alias = "nb_resources")]
    pub nb_res: Option<u32>,
}

/// The relevant fields of a written job.
#[derive(Deserialize)]
#[serde(expecting = "a job, which is an object")]
pub struct WrittenJob {
    #[serde(default)]
    pub id: Loose,
    #[serde(default)]
    pub subtime: Loose,
    #[serde(default)]
    pub submission_time: Loose,
    #[serde(default)]
    pub res: Loose,
    #[serde(default, alias = "requested_resources")]
    pub resource_request: Loose,
    #[serde(default)]
    pub profile: Loose,
    #[serde(default)]
    pub walltime: Loose,
    #[serde(default)]
    pub swf: MaybeLogged,
}

#[derive(Deserialize)]
#[serde(expecting = "a profile, which is an object")]
pub struct Profile {
    #[serde(default, rename = "type")]
    pub kind: Loose,
    #[serde(default)]
    pub delay: Loose,
}

/// A list, limited to the longest list of jobs: a small compressed file can claim any number.
fn written_jobs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<WrittenJob>, D::Error> {
    struct RawList;
    impl<'de> Visitor<'de> for RawList {
        type Value = Vec<WrittenJob>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of jobs")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<WrittenJob>, A::Error> {
            let mut jobs = Vec::new();
            while let Some(job) = seq.next_element()? {
                if jobs.len() == JOBS_MAX {
                    return Err(A::Error::custom(format_args!("it has more than {JOBS_MAX} jobs")));
                }
                jobs.push(job);
            }
            Ok(jobs)
        }
    }
    deserializer.deserialize_seq(RawList)
}

fn profiles<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Profile>, D::Error> {
    struct RawMap;
    impl<'de> Visitor<'de> for RawMap {
        type Value = BTreeMap<String, Profile>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("profiles by name")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut profiles = BTreeMap::new();
            while let Some((name, profile)) = map.next_entry()? {
                if profiles.len() == JOBS_MAX {
                    return Err(A::Error::custom(format_args!("it has more than {JOBS_MAX} profiles")));
                }
                profiles.insert(name, profile);
            }
            Ok(profiles)
        }
    }
    deserializer.deserialize_map(RawMap)
}
