//! An external program as the choice among candidates: the questions, the checks of its answers, and a program that
//! chooses like the built-in policies.

use std::sync::Mutex;

use super::failing::{drawn, once, play_with};
use super::fit::{Fit, FitMeasure, Seek};
use super::*;
use crate::grid::{Bookings, Checkpoint, Every, JobShape, Killed, Per, Recovery};
use crate::protocol::outside::allocator::{Allocation, AllocationQuery, AllocatorAnswer, AllocatorQuestion};
use crate::roles::outside::CheckedProgram;

/// Chooses like a built-in policy, by nothing but the lines of the conversation.
struct AsPolicy {
    fit: &'static Fit,
    speeds: Vec<Speed>,
}

impl AsPolicy {
    /// Rank of a candidate, the smallest first: rectangles without end are equal and the largest.
    fn key(&self, candidate: &serde_json::Value, shapes: &serde_json::Value) -> (bool, i128, i128) {
        let micros = |key: &str| candidate[key].as_f64().map(|seconds| (seconds * 1e6).round() as i128);
        let site: usize = candidate["site"].as_str().unwrap().parse().unwrap();
        let width = i128::from(candidate["width"].as_u64().unwrap()) * i128::from(self.speeds[site].0);
        let long = micros("free_until").map(|until| until - micros("free_from").unwrap());
        let measure = match self.fit.measure {
            FitMeasure::Start => Some(0),
            FitMeasure::Nodes => Some(width),
            FitMeasure::Duration => long,
            FitMeasure::Area => long.map(|long| long * width),
        };
        let is_endless = measure.is_none();
        let measure = measure.unwrap_or_default();
        // An end counts without checkpoints.
        let work = &shapes[candidate["shape"].as_u64().unwrap() as usize]["duration"];
        let work = Span::from_micros((work.as_f64().unwrap() * 1e6).round() as u64);
        let end = micros("start").unwrap() + i128::from(self.speeds[site].time(work).micros());
        match self.fit.seek {
            Seek::Least => (is_endless, measure, end),
            Seek::Most => (!is_endless, -measure, end),
        }
    }
}

impl Allocates for AsPolicy {
    fn choose_candidate(&mut self, _: Time, query: &AllocationQuery) -> Option<Allocation> {
        let names: Vec<String> = (0..self.speeds.len()).map(|site| site.to_string()).collect();
        let question = serde_json::to_value(AllocatorQuestion::new(query, &names)).unwrap();
        let candidates = question["candidates"].as_array().unwrap();
        let best =
            (0..candidates.len()).min_by_key(|number| self.key(&candidates[*number], &question["shapes"])).unwrap();
        let answer = format!("{{\"type\":\"allocate\",\"ask\":1,\"candidate\":{best}}}");
        serde_json::from_str::<AllocatorAnswer>(&answer).unwrap().allocation().unwrap()
    }
}

impl CheckedProgram for AsPolicy {
    fn refuse_answer(&mut self, now: Time, why: &str) {
        panic!("at {now}: {why}");
    }

    fn has_failed(&self) -> bool {
        false
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(unoptimised) { 300 } else { 2_000 }))]

    /// Under every policy and rule, at sites of different speeds, also where nodes fail: each job has the schedule that
    /// it has under the policy.
    #[test]
    fn a_program_that_chooses_like_a_policy_has_its_schedule(
        asked in prop::collection::vec(
            (0u64..60, 0u64..20, 0u64..15, 0u64..40, 1u64..15, 0u32..8, prop::option::weighted(0.2, 0u64..30)),
            1..40,
        ),
        (fit, rect_end) in (0..ALL.len(), 0..RectEnd::ALL.len()),
        (choose, rule) in (0..Choose::ALL.len(), 0..ShapeRule::ALL.len()),
        latencies in prop::array::uniform3(0u64..4),
        (mtbf, mttr, seed) in (prop::option::of(10u64..200), 1u64..40, 0u64..1_000),
        (bookings, killed, every) in (0usize..3, 0usize..4, 0u64..6),
        (steps, tenths) in (0u32..3, prop::sample::select(vec![[10u64, 10], [10, 20], [7, 10], [13, 30]])),
    ) {
        let fit = &ALL[fit];
        let rect_end = RectEnd::ALL[rect_end].1;
        let choose = Choose::ALL[choose].1;
        let rule = ShapeRule::ALL[rule].1;
        let failures = mtbf.map_or_else(Vec::new, |mtbf| vec![
            drawn(0, 4, mtbf, mttr, Per::Node, true),
            drawn(1, 6, 2 * mtbf, mttr, Per::Site, false),
            once(1, "0-4", 30, 20),
        ]);
        let saves = Checkpoint { every: Every::Span(Span::from_secs(every.max(1))), cost: Span::from_millis(500) };
        let checkpoint = (every > 0).then_some(saves);
        let bookings = Bookings::ALL[bookings].1;
        let killed = Killed::ALL[killed].1;
        let recovery = Recovery { killed, checkpoint, bookings, ..Recovery::default() };
        let speeds = tenths.map(|tenths| Speed(tenths * 100_000));
        let malleability = Malleability { steps, serial_millionths: 100_000 };
        let run = |books: &'static Fit, allocator: Option<Box<dyn Allocates>>| {
            let messages = messages_in_shapes(&asked, malleability);
            let log = play_with(speeds, messages, latencies, (&failures, &recovery, seed), (books, rect_end), |clusters| {
                MetaScheduler::new(clusters, choose, None).with_shape_rule(rule).with_allocator(allocator)
            });
            log.iter().map(|entry| format!("{entry:?}")).collect::<Vec<_>>()
        };
        let program = AsPolicy { fit, speeds: speeds.to_vec() };
        prop_assert_eq!(run(&ALL[0], Some(Box::new(program))), run(fit, None));
    }
}

/// Gives prepared answers, and keeps the questions and refusals.
struct Scripted {
    answers: Vec<&'static str>,
    transcript: Arc<Mutex<Vec<String>>>,
    failed: bool,
}

impl Allocates for Scripted {
    fn choose_candidate(&mut self, now: Time, query: &AllocationQuery) -> Option<Allocation> {
        let names = ["york".to_owned(), "leeds".to_owned()];
        let question = serde_json::to_string(&AllocatorQuestion::new(query, &names)).unwrap();
        self.transcript.lock().unwrap().push(question);
        let answer = format!("{{\"type\":\"allocate\",\"ask\":1,{}}}", self.answers.remove(0));
        let answer: AllocatorAnswer = serde_json::from_str(&answer).unwrap();
        answer.allocation().unwrap_or_else(|why| {
            self.refuse_answer(now, &why);
            None
        })
    }
}

impl CheckedProgram for Scripted {
    fn refuse_answer(&mut self, _: Time, why: &str) {
        self.transcript.lock().unwrap().push(why.to_owned());
        self.failed = true;
    }

    fn has_failed(&self) -> bool {
        self.failed
    }
}

/// The questions to a program with these answers, and the offer for the request of Figure 1, in further shapes if there
/// are any.
fn scripted(answers: &[&'static str], shapes: &[JobShape], rule: ShapeRule) -> (Vec<String>, Option<ShapedOffer>) {
    let book = figure_book("ff", RectEnd::Open);
    let transcript = Arc::default();
    let program = Scripted { answers: answers.to_vec(), transcript: Arc::clone(&transcript), failed: false };
    let site = ActorId(1);
    let latency = Span::ZERO;
    let speed = Speed::USUAL;
    let cluster = Cluster { site, latency, speed, is_shared: false, book, outages: None };
    let meta = MetaScheduler::new(vec![cluster], Choose::First, None).with_shape_rule(rule);
    let wanted = match shapes {
        [] => WantedJob::rigid(JobId(7), figure_request(), figure_request().duration),
        shapes => shapes::wanted(shapes, 4, 20).unwrap(),
    };
    let found = meta.with_allocator(Some(Box::new(program))).find(at(0), &wanted, None, &[]);
    (transcript.lock().unwrap().clone(), found)
}

/// The candidates of Figure 1. Without a limit, the rectangle at 15 s ends never.
#[test]
fn a_question_has_all_candidates_and_an_answer_may_name_nodes() {
    let (transcript, found) = scripted(&["\"candidate\":1"], &[], ShapeRule::Policy);
    let line = |start, free, width, from, until| {
        let end = f64::from(start) + 5.0;
        format!(
            "{{\"site\":\"york\",\"shape\":0,\"start\":{start}.0,\"end\":{end:?},\"free\":\"{free}\",\"width\":{width},\
             \"free_from\":{from}.0,\"free_until\":{until}}}"
        )
    };
    let candidates = [
        line(4, "4-9", 6, 2, "18.0"),
        line(6, "0-9", 10, 6, "18.0"),
        line(13, "0-9", 10, 6, "18.0"),
        line(15, "0-3", 4, 6, "null"),
    ];
    let expected = format!(
        "{{\"job\":7,\"submitted\":0.0,\"ready\":4.0,\"deadline\":20.0,\"shapes\":[{{\"nodes\":4,\"duration\":5.0}}],\
         \"candidates\":[{}]}}",
        candidates.join(",")
    );
    assert_eq!(transcript, [expected]);
    let offer = |start, nodes| {
        Some(ShapedOffer { cluster: 0, shape: 0, offer: Offer { start: at(start), nodes: set(nodes), rank: 0 } })
    };
    assert_eq!(found, offer(6, "0-3"));
    let named = scripted(&["\"candidate\":2,\"nodes\":\"1 5 8-9\""], &[], ShapeRule::Policy);
    assert_eq!(named.1, offer(13, "1 5 8-9"));
    assert_eq!(scripted(&["\"candidate\":null"], &[], ShapeRule::Policy).1, None);
}

#[test]
fn impossible_answers_are_refused() {
    let cases = [
        ("\"candidate\":4", "chooses candidate 4 for job 7, which has 4 candidates (expected 0 to 3 or null)"),
        ("\"candidate\":0,\"nodes\":\"4-6\"", "gives job 7 3 nodes (4-6) at candidate 0 (expected 4 nodes)"),
        (
            "\"candidate\":0,\"nodes\":\"2-5\"",
            "gives job 7 the nodes 2-5 at candidate 0, where 2-3 are not free (expected 4 nodes of 4-9)",
        ),
        ("\"candidate\":null,\"nodes\":\"2-5\"", "names the nodes 2-5, but no candidate"),
        (
            "\"candidate\":0,\"nodes\":\"2,3\"",
            "names the nodes \"2,3\", where numbers in order such as \"0-3 7\" were expected",
        ),
    ];
    for (answer, why) in cases {
        let (transcript, found) = scripted(&[answer], &[], ShapeRule::Policy);
        assert_eq!((transcript[1].as_str(), found), (why, None));
    }
    // An allocator that forgets the key does not mean to decline.
    for answer in ["", ",\"candidate\":-1", ",\"candidate\":0,\"why\":1"] {
        let answer = format!("{{\"type\":\"allocate\",\"ask\":1{answer}}}");
        assert!(serde_json::from_str::<AllocatorAnswer>(&answer).is_err(), "{answer}");
    }
}

/// Two nodes for 10 s at 10 s, or eight for 3 s at 6 s: by the rules that compare shapes, the program chooses for each.
#[test]
fn a_program_compares_shapes_under_the_rule_policy_only() {
    let shape = |nodes, seconds| {
        let duration = Span::from_secs(seconds);
        JobShape { nodes, duration, runtime: duration }
    };
    let two = shape(2, 10);
    let eight = shape(8, 3);
    let asked =
        |transcript: &[String]| transcript.iter().map(|line| line.matches("\"start\"").count()).collect::<Vec<_>>();
    // 2 nodes at 4, 6, 8 and 10 s; 8 nodes at 6 and 15 s.
    let (transcript, found) = scripted(&["\"candidate\":4"], &[two, eight], ShapeRule::Policy);
    let found = found.unwrap();
    assert_eq!((asked(&transcript), found.shape, found.offer.start), (vec![6], 1, at(6)));
    let answers = ["\"candidate\":3", "\"candidate\":1"];
    let (transcript, found) = scripted(&answers, &[two, eight], ShapeRule::Finish);
    let found = found.unwrap();
    assert_eq!((asked(&transcript), found.shape, found.offer.start), (vec![4, 2], 1, at(15)));
    let (transcript, found) = scripted(&answers, &[two, eight], ShapeRule::Listed);
    let found = found.unwrap();
    assert_eq!((asked(&transcript), found.shape, found.offer.start), (vec![4], 0, at(10)));
    let (transcript, found) = scripted(&["\"candidate\":null", answers[1]], &[two, eight], ShapeRule::Listed);
    assert_eq!((asked(&transcript), found.unwrap().shape), (vec![4, 2], 1));
}

/// Once the program has failed, nothing is decided: no request is answered.
#[test]
fn nothing_is_decided_after_a_fault() {
    let asked = [(0, 1, 5, 1, 5, 2, None), (1, 1, 5, 1, 5, 2, None), (2, 1, 5, 1, 5, 2, None)];
    let transcript = Arc::default();
    let answers = vec!["\"candidate\":0", "\"candidate\":9"];
    let program = Scripted { answers, transcript: Arc::clone(&transcript), failed: false };
    let recovery = Recovery::default();
    let usual = (&ALL[0], RectEnd::Clip);
    let log = play_with([Speed::USUAL; 2], messages(&asked), [0; 3], (&[], &recovery, 1), usual, |clusters| {
        MetaScheduler::new(clusters, Choose::First, None).with_allocator(Some(Box::new(program)))
    });
    let answered: Vec<String> =
        super::render_log(&log).into_iter().filter(|line| line.contains("gets") || line.contains("Declined")).collect();
    assert_eq!(answered, ["0: 0 gets 0-1 of 1 at 1"]);
    assert_eq!(transcript.lock().unwrap().len(), 3);
}
