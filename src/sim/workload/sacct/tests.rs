use proptest::prelude::*;

use super::*;
use crate::workload::Rigid;

/// A dump of ten columns, with the hard cases of each.
const DUMP: &str = "\
JobIDRaw|JobID|User|Account|Submit|Eligible|Start|End|ElapsedRaw|State|NNodes|NCPUS|ReqMem|TimelimitRaw|NodeList|JobName|SubmitLine
10|10|ann|phys|2024-02-29T23:59:00|2024-03-01T00:01:00|2024-03-01T00:02:00|2024-03-01T01:02:00|3600|COMPLETED|2|8|4000M|120|n[1-2]|plain|sbatch a.sh
10.batch|10.batch|||2024-03-01T00:02:00|2024-03-01T00:02:00|2024-03-01T00:02:00|2024-03-01T01:02:00|3600|COMPLETED|1|4|||n1|batch|
11|4_1|bob|phys|2024-03-01T00:00:00|2024-03-01T00:00:00|2024-03-01T00:10:00|2024-03-01T00:20:00|600|CANCELLED by 75200|1|4|2Gc|UNLIMITED|n3|a|b|sbatch --wrap=echo 1 | sort
12|12|bob|chem|2024-03-01T00:00:30|2024-03-01T00:00:30|2024-03-01T05:00:00|2024-03-01T05:00:00|0|CANCELLED by 7|1|4|2800Mc|60|None assigned|pending|sbatch
13|13|cid|chem|2024-03-01T00:01:30|2024-03-01T00:01:30|2024-03-01T00:20:00|2024-03-01T00:21:30|90|TIMEOUT|1|2|1Gn|Partition_Limit|n4|two
lines|sbatch --wrap='for i in a|b
do echo |sort
done'
14|14|cid|chem|2024-03-01T00:02:00|Unknown|Unknown|Unknown|0|PENDING|1|2|1Gn|60|None assigned|waits|sbatch
15|15|cid|chem|2024-03-01T00:02:00|2024-03-01T00:02:00|2024-03-01T00:02:00|Unknown|50|RUNNING|1|2|1Gn|60|n4|runs|sbatch
16|16|cid|chem|2024-03-01T00:03:00|2024-03-01T00:03:00|2024-03-01T00:04:00|2024-03-01T00:05:00|60|NODE_FAIL|1|2|1Gn|60|n4|again|sbatch
16|16|cid|chem|2024-03-01T00:05:00|2024-03-01T00:06:00|2024-03-01T00:07:00|2024-03-01T00:09:00|120|COMPLETED|1|2|1Gn|60|n4|again|sbatch
";

fn read_dump(text: &str) -> Trace {
    read(text.as_bytes(), &Form::default()).unwrap()
}

fn shown(trace: &Trace) -> Vec<String> {
    let show = |job: Rigid| {
        let seconds = |micros: u64| micros / 1_000_000;
        format!(
            "{} at {} waits {:?} runs {} on {} of {:?}, memory {:?}, user {:?}, group {:?}, status {:?}",
            job.number,
            seconds(job.submit.micros()),
            job.wait.map(|wait| seconds(wait.micros())),
            seconds(job.runtime.unwrap().micros()),
            job.nodes().unwrap(),
            job.requested_time.map(|time| seconds(time.micros())),
            job.memory_requested.map(|memory| memory.whole_kilobytes()),
            job.user,
            job.group,
            job.status,
        )
    };
    trace.jobs.iter().map(show).collect()
}

#[test]
fn hard_cases_are_read() {
    let trace = read_dump(DUMP);
    assert_eq!(
        shown(&trace),
        [
            "11 at 0 waits Some(600) runs 600 on 4 of None, memory Some(2097152), user Some(2), group Some(1), \
             status Some(5)",
            "10 at 60 waits Some(60) runs 3600 on 8 of Some(7200), memory Some(512000), user Some(1), group Some(1), \
             status Some(1)",
            "13 at 90 waits Some(1110) runs 90 on 2 of None, memory Some(524288), user Some(3), group Some(2), \
             status Some(0)",
            "16 at 360 waits Some(60) runs 120 on 2 of Some(3600), memory Some(524288), user Some(3), group Some(2), \
             status Some(1)",
        ]
    );
    assert_eq!(trace.ids.into_iter().collect::<Vec<_>>(), [(11, "4_1".to_owned())]);
    assert_eq!(trace.header[0], "StartTime: 2024-03-01 00:00:00");
    assert_eq!(
        trace.faults.to_string(),
        "4 left out, 0 put in order\n  \
         1 record, in line 5: ended without a start\n  \
         1 record, in line 10: not started when the log was written\n  \
         1 record, in line 11: not ended when the log was written\n  \
         1 record, in line 12: earlier run of a job that was requeued\n  \
         1 step of jobs left out"
    );
}

#[test]
fn times_beyond_what_can_be_counted_are_left_out() {
    let head = "JobIDRaw|Submit|Eligible|Start|ElapsedRaw|NCPUS\n";
    let job = |id: u32, came: &str, start: &str| {
        format!("{id}|{came}-01-01T00:00:00|{came}-01-01T00:00:00|{start}-01-01T00:00:00|60|1\n")
    };
    let dump =
        [head, &job(1, "2024", "2024"), &job(2, "2024", "9024"), &job(3, "9024", "9024"), &job(4, "2025", "2025")]
            .concat();
    let trace = read_dump(&dump);
    assert_eq!(trace.jobs.iter().map(|job| job.number).collect::<Vec<_>>(), [1, 4]);
    let faults = trace.faults.to_string();
    assert!(faults.contains("line 3: its wait time is too long"), "{faults}");
    assert!(faults.contains("line 4: it was submitted too long after the first job"), "{faults}");
}

/// Records of a dump as texts; `Err` for lines that are none.
fn records(text: &str, names: &[&str], delimiter: &str) -> Vec<Result<Vec<String>, std::ops::Range<u64>>> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let layout = Layout::new(&names, delimiter.as_bytes(), false);
    let mut found = Vec::new();
    let read = read_records(text.as_bytes(), 1, &layout, |entry| {
        found.push(match entry {
            records::Entry::Record { fields, .. } => {
                Ok(fields.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect())
            }
            records::Entry::Lost { lines, .. } => Err(lines),
        });
        Ok::<_, std::convert::Infallible>(())
    });
    read.unwrap_or_else(|never| match never {});
    found
}

#[test]
fn the_end_of_a_text_is_known_by_what_may_follow_it() {
    // The first line has as many delimiters as a record has, yet its text goes on.
    let names = ["JobIDRaw", "Submit", "State", "SubmitLine", "NTasks"];
    let head = "7|2024-03-01T00:00:00|COMPLETED|";
    let one = format!("{head}sbatch --wrap='a|\nb|c'|\n{head}sbatch b|4\n");
    let found = records(&one, &names, "|");
    let texts: Vec<&str> = found.iter().map(|fields| fields.as_ref().unwrap()[3].as_str()).collect();
    assert_eq!(texts, ["sbatch --wrap='a|\nb|c'", "sbatch b"]);
    // A text at the end of a record has no end but the next record.
    let names = ["JobIDRaw", "Submit", "State", "SubmitLine"];
    let last = format!("{head}a\n\nb|c\n{head}d\n");
    let found = records(&last, &names, "|");
    let texts: Vec<&str> = found.iter().map(|fields| fields.as_ref().unwrap()[3].as_str()).collect();
    assert_eq!(texts, ["a\n\nb|c", "d"]);
    // The rest of a cut line does not make a text of the record before.
    let names = ["JobIDRaw", "JobName", "Submit", "State", "User", "WorkDir"];
    let line = "7|a|2024-03-01T00:00:00|COMPLETED|ann|/home\n";
    let found = records(&format!("{line}b|2024-03-01T00:00:00|COMPLETED|bob|/data\n"), &names, "|");
    assert_eq!(found[1], Err(2..3), "{found:?}");
    assert_eq!(found[0].as_ref().unwrap()[1..5], ["a", "2024-03-01T00:00:00", "COMPLETED", "ann"]);
}

#[test]
fn lines_of_a_cut_file_are_no_part_of_a_record() {
    let names = ["JobIDRaw", "Submit", "State", "SubmitLine", "NTasks"];
    let record = "7|2024-03-01T00:00:00|COMPLETED|sbatch a|2\n";
    let cut = format!("PLETED|sbatch|\n{record}8|2024-03-0\n{record}9|2024-03-01T00:00:00|COMPL");
    let found = records(&cut, &names, "|");
    let kinds: Vec<_> = found.iter().map(|found| found.as_ref().err().cloned()).collect();
    assert_eq!(kinds, [Some(1..2), None, Some(3..4), None, Some(5..6)]);
    let trace = read_dump(&DUMP[..DUMP.len() - 40]);
    assert!(trace.faults.to_string().contains("line 13: the file ends within a record"), "{}", trace.faults);
}

#[test]
fn ends_of_lines_and_delimiters_of_all_kinds_are_read() {
    let expected = shown(&read_dump(DUMP));
    let same = |text: &str, form: &Form| {
        let trace = read(text.as_bytes(), form).unwrap();
        assert_eq!(shown(&trace), expected, "{form:?}");
    };
    same(&DUMP.replace('\n', "|\n").replace("two|\nlines", "two\nlines").replace("b|\ndo", "b\ndo"), &Form::default());
    same(&DUMP.replace('\n', "\r\n"), &Form::default());
    same(&DUMP.replace('|', ";"), &Form::default());
    same(&DUMP.replace('|', "<|>"), &Form { delimiter: Some("<|>".to_owned()), ..Form::default() });
    let (header, body) = DUMP.split_once('\n').unwrap();
    let fields = Form { fields: Some(header.replace('|', ",").replace("JobName", "jobname%40")), ..Form::default() };
    same(body, &fields);
    same(DUMP, &fields);
    let ended: String = body.split_inclusive("sbatch\n").map(|part| part.replace("sbatch\n", "sbatch|\n")).collect();
    let ended = ended.replace("a.sh\n", "a.sh|\n").replace("1 | sort\n", "1 | sort|\n").replace("done'\n", "done'|\n");
    same(&ended.replace("batch|\n11", "batch||\n11"), &fields);
}

/// Without a header, the last column may be empty in some lines, and the names of jobs may have delimiters.
#[test]
fn an_empty_last_column_is_not_taken_for_the_end_of_a_line() {
    let form =
        Form { fields: Some("JobIDRaw,Submit,Start,Elapsed,NCPUS,JobName,NTasks".to_owned()), ..Form::default() };
    let numbers = |names: [&str; 3]| {
        let head = "2024-03-01T00:00:00|2024-03-01T00:00:09|00:01:00|2";
        let lines: String = (1..).zip(names).map(|(number, name)| format!("{number}|{head}|{name}\n")).collect();
        read(lines.as_bytes(), &form).unwrap().jobs.iter().map(|job| job.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(["one|", "two|02|", "three|03|"]), [1, 2, 3]);
    assert_eq!(numbers(["one||", "two|2|", "three|3|"]), [1, 2, 3]);
}

#[test]
fn a_dump_in_another_form_is_refused() {
    let refused = |text: &str, form: &Form| read(text.as_bytes(), form).unwrap_err().to_string();
    let with = |delimiter: &str| Form { delimiter: Some(delimiter.to_owned()), ..Form::default() };
    assert_eq!(refused(DUMP, &with(",")), "line 1: its columns are not separated by \",\": did you mean \"|\"?");
    let (header, body) = DUMP.split_once('\n').unwrap();
    assert!(refused(body, &Form::default()).starts_with("line 1: expected the names of columns, as sacct writes them"));
    assert_eq!(refused(" \n", &Form::default()), "it is empty");
    let fields = |fields: &str| Form { fields: Some(fields.to_owned()), ..Form::default() };
    assert_eq!(
        refused(&body.replace('|', ";"), &fields(&header.replace('|', ","))),
        "line 1: its columns are not separated by \"|\": did you mean \";\"?"
    );
    assert_eq!(refused(body, &fields("JobIDRaw,Sumbit")), "there is no column Sumbit of sacct; did you mean Submit?");
    assert_eq!(
        refused("JobID|Submit|Start|End\n", &Form::default()),
        "it has no column AllocCPUS or NCPUS or AllocTRES or ReqCPUS or ReqTRES, without which no job can be made of a \
         record"
    );
    assert!(is_dump(DUMP.as_bytes()) && !is_dump(body.as_bytes()) && !is_dump(b"JobID") && !is_dump(b"\xff|\n"));
}

#[test]
fn ids_without_numbers_are_numbered_by_arrival() {
    let text = "JobID|Cluster|Submit|Start|Elapsed|NNodes|AllocTRES\n\
                5_1|a|2024-03-01T00:00:09|2024-03-01T00:00:09|00:01:00|2|cpu=1.50K,node=2\n\
                5_2|a|2024-03-01T00:00:08|2024-03-01T00:00:09|1-00:00:00.5|1|cpu=3,node=1\n";
    let trace = read_dump(text);
    let seen: Vec<_> =
        trace.jobs.iter().map(|job| (job.number, job.nodes().unwrap(), job.runtime.unwrap().micros())).collect();
    assert_eq!(seen, [(1, 3, 86_400_500_000), (2, 1_536, 60_000_000)]);
    assert!(trace.faults.renumbered && trace.faults.is_empty());
    // Two clusters have jobs of one number.
    let two = read_dump(&text.replace("5_1|a", "5|b").replace("5_2", "5"));
    assert_eq!(two.jobs.iter().map(|job| job.number).collect::<Vec<_>>(), [1, 2]);
    let nodes = read(text.as_bytes(), &Form { size: SizeIn::Nodes, ..Form::default() }).unwrap();
    assert_eq!(nodes.jobs.iter().map(|job| job.nodes().unwrap()).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn moments_are_those_of_the_calendar() {
    for (text, seconds) in [
        ("1970-01-01T00:00:00", 0),
        ("2000-02-29T12:00:00", 951_825_600),
        ("2024-12-31T23:59:59", 1_735_689_599),
        ("2026-03-01T00:00:00", 1_772_323_200),
    ] {
        assert_eq!(values::moment(text.as_bytes()), Some(seconds), "{text}");
        assert_eq!(values::shown_moment(seconds), text.replace('T', " "));
    }
    assert_eq!(values::moment(b"1735689599"), Some(1_735_689_599));
    for text in ["2024-13-01T00:00:00", "2024-01-01", "Unknown", "", "12"] {
        assert_eq!(values::moment(text.as_bytes()), None, "{text}");
    }
}

/// A text of a job, with delimiters and line feeds.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z ./-]{0,12}",
        2 => "[a-z|\n ]{0,16}",
        1 => Just("|\n|".to_owned()),
        1 => Just("echo 5|sort\n\n9x|y".to_owned()),
    ]
}

type RandomJob = (u32, u32, u32, u32, [String; 4]);

fn random_job() -> impl Strategy<Value = RandomJob> {
    (1_u32..64, 0_u32..5_000, 0_u32..5_000, 0_u32..100_000, [text(), text(), text(), text()])
}

const NAMES: [&str; 13] = [
    "JobIDRaw",
    "User",
    "NCPUS",
    "TimelimitRaw",
    "Submit",
    "JobName",
    "Eligible",
    "SubmitLine",
    "Start",
    "Comment",
    "State",
    "End",
    "AdminComment",
];

/// An order of [`NAMES`]: the columns before the first text, and pairs of a text and a column that ends it, are
/// shuffled. The last text may end the record, or be missing.
fn order() -> impl Strategy<Value = Vec<usize>> {
    let head = Just(vec![0, 1, 2, 3, 4, 11]).prop_shuffle();
    let pairs = Just(vec![[5, 6], [7, 8], [9, 10]]).prop_shuffle();
    (head, pairs, any::<bool>()).prop_map(|(head, pairs, ends_with_text)| {
        let last = if ends_with_text { Some(12) } else { None };
        head.into_iter().chain(pairs.into_iter().flatten()).chain(last).collect()
    })
}

proptest! {
    /// Jobs and texts of a dump come out as they went in.
    #[test]
    fn dumps_are_read_back(jobs in prop::collection::vec(random_job(), 1..12), order in order()) {
        let time = |seconds: u32| values::shown_moment(1_709_251_200 + i64::from(seconds)).replace(' ', "T");
        let mut written = Vec::new();
        let mut expected = Vec::new();
        let mut submit = 0;
        for (number, (cores, gap, wait, runtime, texts)) in (1_u64..).zip(&jobs) {
            submit += if number == 1 { 0 } else { *gap };
            let start = submit + wait;
            let [name, line, comment, remark] = texts.clone();
            let fields = [
                number.to_string(), format!("u {cores}"), cores.to_string(), "60".to_owned(), time(submit), name,
                time(submit), line, time(start), comment, "COMPLETED".to_owned(), time(start + runtime), remark,
            ];
            written.push(order.iter().map(|column| fields[*column].clone()).collect::<Vec<_>>());
            expected.push((number, submit, *wait, *runtime, *cores));
        }
        let header: Vec<&str> = order.iter().map(|column| NAMES[*column]).collect();
        let body: String = written.iter().map(|fields| fields.join("|") + "\n").collect();
        let found: Result<Vec<_>, _> = records(&body, &header, "|").into_iter().collect();
        prop_assert_eq!(found, Ok(written), "{}", body);
        let trace = read(format!("{}\n{body}", header.join("|")).as_bytes(), &Form::default()).unwrap();
        prop_assert!(trace.faults.is_empty(), "{}\n{body}", trace.faults);
        let seconds = |micros: u64| (micros / 1_000_000) as u32;
        let read_back = |job: Rigid| {
            let (wait, runtime) = (job.wait.unwrap().micros(), job.runtime.unwrap().micros());
            (job.number, seconds(job.submit.micros()), seconds(wait), seconds(runtime), job.nodes().unwrap())
        };
        prop_assert_eq!(trace.jobs.iter().map(read_back).collect::<Vec<_>>(), expected);
    }

    /// Any bytes are read or refused.
    #[test]
    fn any_lines_are_read_or_refused(lines in "[0-9|:T\n a-c.-]{0,200}", cut in 0_usize..900) {
        let cut = DUMP.floor_char_boundary(cut);
        let text = format!("{}{lines}{}", &DUMP[..cut], &DUMP[cut..]);
        let _ = read(text.as_bytes(), &Form::default());
    }
}
