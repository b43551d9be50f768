//! Compact storage for the jobs of a log.
//!
//! A [`Rigid`] has room for all fields of a log, more than two hundred bytes, and most logs and models use few of them.
//! So a list of jobs is stored as bytes: the set of fields present, and their values, each with as many bytes as it
//! needs. Number and time of submission, which mostly grow from job to job, are stored as differences, and then the
//! length of the rest. A job takes about 13 bytes if a model has drawn it, and about 36 if a log has all of its fields.
//! Every eighth job is stored independently, so any job is found by reading at most eight numbers and times.

use serde::{Deserialize, Serialize};

use super::rigid::{Kilobytes, Rigid};
use crate::time::{Span, Time};

/// Jobs in order of insertion.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Packed {
    /// Serialised apart ([`Packed::bytes`]), as texts would make them four times as long.
    #[serde(skip)]
    bytes: Vec<u8>,
    /// Offset of each group of jobs.
    groups: Vec<usize>,
    count: usize,
    last: Base,
}

/// Reference of the next job's number and submission.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Base {
    number: u64,
    submit: u64,
}

/// Jobs per group: the most that are read to find one.
const GROUP: usize = 8;

impl Packed {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds the bytes to a list that was serialised without them.
    pub fn with_bytes(self, bytes: Vec<u8>) -> Packed {
        Packed { bytes, ..self }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn push(&mut self, job: &Rigid) {
        if self.count.is_multiple_of(GROUP) {
            self.groups.push(self.bytes.len());
            self.last = Base::default();
        }
        self.count += 1;
        write_job(&mut self.bytes, self.last, job);
        self.last = Base::of_job(job);
    }

    pub fn get(&self, place: usize) -> Option<Rigid> {
        self.iter_from(place).next()
    }

    /// Number of the job at an index, which costs less than the whole job.
    pub fn number(&self, place: usize) -> Option<u64> {
        if place >= self.count {
            return None;
        }
        let jobs = self.iter_from(place);
        let last = if place.is_multiple_of(GROUP) { Base::default() } else { jobs.last };
        let (_, base) = PackedReader { bytes: &self.bytes, at: jobs.at }.head(last);
        Some(base.number)
    }

    pub fn last(&self) -> Option<Rigid> {
        self.get(self.count.checked_sub(1)?)
    }

    pub fn iter(&self) -> JobIter<'_> {
        self.iter_from(0)
    }

    /// The heads of all jobs.
    pub fn heads(&self) -> impl Iterator<Item = JobHead> {
        let mut jobs = self.iter();
        (0..self.count).map(move |_| {
            let signs = jobs.skip_one();
            let Base { number, submit } = jobs.last;
            JobHead { number, submit: Time::from_micros(submit), follows: signs & PRECEDING_SIGN > 0 }
        })
    }

    /// Iterator from the job at an index on.
    pub fn iter_from(&self, place: usize) -> JobIter<'_> {
        let none = JobIter { packed: self, place: self.count, at: self.bytes.len(), last: Base::default() };
        if place >= self.count {
            return none;
        }
        let mut jobs = JobIter { place: place - place % GROUP, at: self.groups[place / GROUP], ..none };
        while jobs.place < place {
            jobs.skip_one();
        }
        jobs
    }
}

impl FromIterator<Rigid> for Packed {
    fn from_iter<I: IntoIterator<Item = Rigid>>(jobs: I) -> Packed {
        let mut packed = Packed::default();
        jobs.into_iter().for_each(|job| packed.push(&job));
        packed
    }
}

impl PartialEq for Packed {
    /// True if both lists have equal bytes, which equal lists have.
    fn eq(&self, other: &Packed) -> bool {
        self.bytes == other.bytes
    }
}

impl std::fmt::Debug for Packed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<'a> IntoIterator for &'a Packed {
    type Item = Rigid;
    type IntoIter = JobIter<'a>;

    fn into_iter(self) -> JobIter<'a> {
        self.iter()
    }
}

/// The part of a job that costs less than the whole job.
pub struct JobHead {
    pub number: u64,
    pub submit: Time,
    /// True if it names a preceding job.
    pub follows: bool,
}

/// Iterator over jobs.
#[derive(Clone)]
pub struct JobIter<'a> {
    packed: &'a Packed,
    place: usize,
    at: usize,
    last: Base,
}

impl Iterator for JobIter<'_> {
    type Item = Rigid;

    fn next(&mut self) -> Option<Rigid> {
        if self.place == self.packed.count {
            return None;
        }
        if self.place.is_multiple_of(GROUP) {
            self.last = Base::default();
        }
        self.place += 1;
        let mut reader = PackedReader { bytes: &self.packed.bytes, at: self.at };
        let (signs, base) = reader.head(self.last);
        reader.at += LENGTH;
        let job = reader.read_rest(signs, base);
        (self.at, self.last) = (reader.at, base);
        Some(job)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.packed.count - self.place;
        (left, Some(left))
    }
}

impl ExactSizeIterator for JobIter<'_> {}

impl JobIter<'_> {
    /// Skips a job. Returns the flags of its fields.
    fn skip_one(&mut self) -> u64 {
        if self.place.is_multiple_of(GROUP) {
            self.last = Base::default();
        }
        self.place += 1;
        let mut reader = PackedReader { bytes: &self.packed.bytes, at: self.at };
        let (signs, base) = reader.head(self.last);
        self.at = reader.at + LENGTH + usize::from(self.packed.bytes[reader.at]);
        self.last = base;
        signs
    }
}

impl Base {
    fn of_job(job: &Rigid) -> Base {
        Base { number: job.number, submit: job.submit.micros() }
    }
}

/// Fields of a job in addition to its number and submission; the most frequent ones come first, as the flags of seven
/// fit into a byte.
const FIELDS: usize = 16;

/// Fields that are counted in millionths, and their number: run time, requested time, wait, CPU time, think time, and
/// memory used and requested.
const FINE: [bool; FIELDS] = {
    let mut fine = [false; FIELDS];
    let mut field = 0;
    while field < FIELDS {
        fine[field] = matches!(field, 0 | 2 | 6 | 11 | 12 | 13 | 15);
        field += 1;
    }
    fine
};

/// Before the flags of the fields: true if the submission, and any other field, are stored in millionths instead of
/// units.
const SUBMIT_IS_FINE: u64 = 1;
const REST_IS_FINE: u64 = 2;
const FIRST_SIGN: u32 = 2;
/// The flag of the preceding job.
const PRECEDING_SIGN: u64 = 1 << (FIRST_SIGN + 14);
/// After the flags of the fields, as only formats with profiles, or with options of `sbatch`, have them.
const PROFILE_SIGN: u64 = 1 << (FIRST_SIGN + FIELDS as u32);
const REQUEST_SIGN: u64 = PROFILE_SIGN << 1;

const MILLION: u64 = 1_000_000;

/// Bytes of the length of a job's fields after its number and submission. The longest take 170 bytes.
const LENGTH: usize = 1;

fn job_fields(job: &Rigid) -> [Option<u64>; FIELDS] {
    [
        span_field(job.runtime),
        number_field(job.requested),
        span_field(job.requested_time),
        number_field(job.queue),
        number_field(job.status),
        number_field(job.user),
        span_field(job.wait),
        number_field(job.allocated),
        number_field(job.group),
        number_field(job.executable),
        number_field(job.partition),
        span_field(job.cpu_time),
        memory_field(job.memory_used),
        memory_field(job.memory_requested),
        job.preceding,
        span_field(job.think),
    ]
}

fn span_field(span: Option<Span>) -> Option<u64> {
    span.map(Span::micros)
}

fn number_field(number: Option<u32>) -> Option<u64> {
    number.map(u64::from)
}

fn memory_field(memory: Option<Kilobytes>) -> Option<u64> {
    memory.map(Kilobytes::millionths)
}

fn write_job(bytes: &mut Vec<u8>, last: Base, job: &Rigid) {
    let fields = job_fields(job);
    let step = job.submit.micros().wrapping_sub(last.submit).cast_signed();
    let is_submit_fine = step % MILLION.cast_signed() != 0;
    let of_time = fields.iter().zip(FINE).filter(|(_, fine)| *fine).filter_map(|(field, _)| *field);
    let is_rest_fine = of_time.into_iter().any(|field| field % MILLION != 0);

    let mut signs = if is_submit_fine { SUBMIT_IS_FINE } else { 0 } | if is_rest_fine { REST_IS_FINE } else { 0 };
    for (place, field) in fields.iter().enumerate() {
        signs |= u64::from(field.is_some()) << (FIRST_SIGN + place as u32);
    }
    signs |= if job.profile.is_some() { PROFILE_SIGN } else { 0 };
    signs |= if job.request.is_some() { REQUEST_SIGN } else { 0 };
    write_number(bytes, signs);
    write_number(bytes, zigzag_encode(job.number.wrapping_sub(last.number).wrapping_sub(1).cast_signed()));
    write_number(bytes, zigzag_encode(if is_submit_fine { step } else { step / MILLION.cast_signed() }));
    let length_at = bytes.len();
    bytes.push(0);
    for (field, fine) in fields.iter().zip(FINE) {
        if let Some(value) = *field {
            write_number(bytes, if fine && !is_rest_fine { value / MILLION } else { value });
        }
    }
    job.profile.into_iter().for_each(|profile| write_number(bytes, profile.into()));
    job.request.into_iter().for_each(|request| write_number(bytes, request.into()));
    bytes[length_at] = (bytes.len() - length_at - LENGTH) as u8;
}

struct PackedReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl PackedReader<'_> {
    /// Reads the flags of the fields, the number and the submission.
    fn head(&mut self, last: Base) -> (u64, Base) {
        let signs = self.number();
        let number = zigzag_decode(self.number()).cast_unsigned().wrapping_add(last.number).wrapping_add(1);
        let step = zigzag_decode(self.number());
        let step = if signs & SUBMIT_IS_FINE > 0 { step } else { step * MILLION.cast_signed() };
        (signs, Base { number, submit: last.submit.wrapping_add_signed(step) })
    }

    fn read_rest(&mut self, signs: u64, Base { number, submit }: Base) -> Rigid {
        let unit = if signs & REST_IS_FINE > 0 { 1 } else { MILLION };
        let mut left = signs >> FIRST_SIGN;
        let mut next = |unit: u64| {
            let is_present = left & 1 > 0;
            left >>= 1;
            is_present.then(|| self.number() * unit)
        };
        // In the order of `job_fields`.
        Rigid {
            number,
            submit: Time::from_micros(submit),
            runtime: read_span(next(unit)),
            requested: read_small(next(1)),
            requested_time: read_span(next(unit)),
            queue: read_small(next(1)),
            status: read_small(next(1)),
            user: read_small(next(1)),
            wait: read_span(next(unit)),
            allocated: read_small(next(1)),
            group: read_small(next(1)),
            executable: read_small(next(1)),
            partition: read_small(next(1)),
            cpu_time: read_span(next(unit)),
            memory_used: read_memory(next(unit)),
            memory_requested: read_memory(next(unit)),
            preceding: next(1),
            think: read_span(next(unit)),
            profile: read_small(next(1)),
            request: read_small(next(1)),
        }
    }

    #[inline]
    fn number(&mut self) -> u64 {
        let mut number = 0;
        let mut shift = 0;
        loop {
            let byte = self.bytes[self.at];
            self.at += 1;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return number;
            }
            shift += 7;
        }
    }
}

fn read_span(span: Option<u64>) -> Option<Span> {
    span.map(Span::from_micros)
}

fn read_small(number: Option<u64>) -> Option<u32> {
    number.map(|number| number as u32)
}

fn read_memory(memory: Option<u64>) -> Option<Kilobytes> {
    memory.map(Kilobytes::from_millionths)
}

/// Appends a number, seven bits per byte, the low ones first; all bytes but the last have their top bit set.
fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Maps numbers near zero of either sign to small ones.
fn zigzag_encode(number: i64) -> u64 {
    (number << 1 ^ number >> 63).cast_unsigned()
}

fn zigzag_decode(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number() -> impl Strategy<Value = u64> {
        prop_oneof![0u64..300, (0u64..4_000).prop_map(|whole| whole * MILLION), any::<u64>()]
    }

    fn job() -> impl Strategy<Value = Rigid> {
        let wide = prop::collection::vec(prop::option::of(number()), 8);
        let small = prop::collection::vec(prop::option::of(any::<u32>()), 10);
        (number(), number(), wide, small).prop_map(|(number, submit, wide, small)| {
            let span = |at: usize| wide[at].map(Span::from_micros);
            let memory = |at: usize| wide[at].map(Kilobytes::from_millionths);
            Rigid {
                number,
                submit: Time::from_micros(submit),
                wait: span(0),
                runtime: span(1),
                allocated: small[0],
                cpu_time: span(2),
                memory_used: memory(3),
                requested: small[1],
                requested_time: span(4),
                memory_requested: memory(5),
                status: small[2],
                user: small[3],
                group: small[4],
                executable: small[5],
                queue: small[6],
                partition: small[7],
                preceding: wide[6],
                think: span(7),
                profile: small[8],
                request: small[9],
            }
        })
    }

    proptest! {
        #[test]
        fn jobs_come_out_as_they_went_in(jobs in prop::collection::vec(job(), 0..30)) {
            let packed: Packed = jobs.iter().cloned().collect();
            prop_assert_eq!(packed.len(), jobs.len());
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), jobs.clone());
            let found: Vec<_> = (0..jobs.len()).filter_map(|place| packed.get(place)).collect();
            prop_assert_eq!(&found, &jobs);
            prop_assert_eq!(packed.get(jobs.len()), None);
            let numbers: Vec<_> = (0..=jobs.len()).map(|place| packed.number(place)).collect();
            let expected = jobs.iter().map(|job| Some(job.number)).chain([None]);
            prop_assert_eq!(numbers, expected.collect::<Vec<_>>());
            let half = jobs.len() / 2;
            prop_assert_eq!(packed.iter_from(half).collect::<Vec<_>>(), &jobs[half..]);
            prop_assert_eq!(packed.last(), jobs.last().cloned());
            let heads: Vec<_> = packed.heads().map(|head| (head.number, head.submit, head.follows)).collect();
            let expected = jobs.iter().map(|job| (job.number, job.submit, job.preceding.is_some()));
            prop_assert_eq!(heads, expected.collect::<Vec<_>>());
            prop_assert!(packed == found.into_iter().collect());
        }
    }

    #[test]
    fn jobs_of_a_model_take_few_bytes() {
        let job = |number: u64| Rigid {
            number: number + 1,
            submit: Time::from_micros(number * 700 * MILLION),
            runtime: Some(Span::from_secs(number % 90_000)),
            requested: Some(1 + number as u32 % 128),
            queue: Some(1),
            ..Rigid::default()
        };
        let packed: Packed = (0..80_000).map(job).collect();
        assert!(packed.bytes.len() < 12 * packed.len(), "{} bytes", packed.bytes.len());
    }
}
