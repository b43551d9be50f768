//! Real programs under `hansa clock`: they sleep for days of virtual time, and each test takes moments.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::grid::{HANSA, Process, Scratch, expect_error, text};
use crate::skip::skip;

const SOON: Duration = Duration::from_secs(60);

fn clock(flags: &[&str], program: &[&str]) -> Output {
    let mut command = Command::new(HANSA);
    command.arg("clock").args(flags).arg("--").args(program).stdin(Stdio::null());
    command.output().unwrap()
}

fn bash(script: &str) -> Output {
    clock(&[], &["bash", "-c", script])
}

/// True if the program is installed; skips the test otherwise.
fn is_there(program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        skip(program);
    }
    is_there
}

/// Compiles a program in C; None, and the test is skipped, without a compiler.
fn compiled(scratch: &Scratch, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let source = scratch.file("program.c", source);
    let program = scratch.path("program");
    let done = Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(&program).arg(source).args(flags).output();
    if done.is_ok_and(|done| done.status.success()) {
        return Some(program);
    }
    skip("a C compiler");
    None
}

/// Processes that have this text in their environment.
fn marked(mark: &str) -> Vec<u32> {
    let has_mark = |process: &u32| {
        let variables = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&variables).contains(mark)
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(has_mark).collect()
}

#[test]
fn a_day_of_sleep_takes_moments() {
    let begun = Instant::now();
    let output = clock(&[], &["sleep", "86400"]);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let printed = text(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{printed}");
    assert!(printed.starts_with("clock: 1 d 0 h 0 min 0 s of virtual time in 0."), "{printed}");
    assert!(printed.contains("(1 step, "), "{printed}");
    let quiet = Command::new(HANSA).args(["--quiet", "clock", "--", "sleep", "5"]).output().unwrap();
    assert_eq!((quiet.status.code(), text(&quiet.stderr)), (Some(0), String::new()));
}

#[test]
fn exit_codes_are_those_of_the_command() {
    let code = |flags: &[&str], program: &[&str]| {
        let output = clock(flags, program);
        (output.status.code().unwrap(), text(&output.stderr))
    };
    assert_eq!(code(&[], &["bash", "-c", "sleep 7; exit 3"]).0, 3);
    assert_eq!(code(&[], &["bash", "-c", "sleep 7; kill -9 $$"]).0, 137);
    let (missing, printed) = code(&[], &["/no/such/program"]);
    assert!(missing == 127 && printed.contains("cannot run /no/such/program"), "{printed}");
    assert_eq!(code(&[], &["/etc/passwd"]).0, 126);
    let (over, printed) = code(&["--until", "1h"], &["bash", "-c", "while :; do sleep 60; done"]);
    assert!(over == 124 && printed.contains("1 h 0 min 0 s of virtual time"), "{over} {printed}");
    for waits in ["sleep infinity", "read -r line < <(sleep 4; sleep infinity)", "cat <(sleep infinity)"] {
        let (over, printed) = code(&["--until", "5h"], &["bash", "-c", waits]);
        assert!(over == 124 && printed.contains("5 h 0 min 0 s of virtual time"), "{waits}: {over} {printed}");
        assert!(!printed.contains("all wait for data"), "{waits}: {printed}");
    }
    assert_eq!(code(&["--until", "1h"], &["bash", "-c", "sleep 2h & exit 3"]).0, 3);
    let (wrong, printed) = code(&["--start", "tomorrow"], &["true"]);
    assert!(wrong == 2 && printed.contains("expected a date in UTC"), "{printed}");
}

#[test]
fn programs_see_the_virtual_date() {
    let dates = clock(
        &["--start", "2031-05-06T07:08:09"],
        &["bash", "-c", "export TZ=UTC; date +%FT%T; sleep 1d; date +%FT%T"],
    );
    assert_eq!(text(&dates.stdout), "2031-05-06T07:08:09\n2031-05-07T07:08:09\n", "{}", text(&dates.stderr));
    let usual = bash("date +%s; SECONDS=0; sleep 90; echo $SECONDS $EPOCHSECONDS");
    assert_eq!(text(&usual.stdout), "1767225600\n90 1767225690\n");
}

/// Another program says up to when the clock goes, as a site under Slurm does. The end of its orders ends all programs.
#[test]
fn a_clock_can_be_driven() {
    let scratch = Scratch::new();
    let folder = scratch.path("").to_string_lossy().into_owned();
    let mut command = Command::new(HANSA);
    command.args(["clock", "--driven"]).env("MARK", &folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut clock = command.spawn().unwrap();
    let mut orders = clock.stdin.take().unwrap();
    let mut answers = BufReader::new(clock.stdout.take().unwrap());
    let mut ask = |order: serde_json::Value| -> serde_json::Value {
        writeln!(orders, "{order}").unwrap();
        let mut line = String::new();
        answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    let start = |number: u32, script: &str| {
        let command = ["/bin/bash", "-c", script];
        let output = format!("{folder}/{number}");
        let variables = serde_json::json!({ "PATH": "/usr/bin:/bin", "MARK": folder });
        serde_json::json!({ "start": { "number": number, "command": command, "variables": variables, "folder": folder,
            "output": output } })
    };
    let second = 1_000_000_000u64;
    assert_eq!(ask(start(1, "sleep 10; echo $SECONDS; exit 3"))["fault"], serde_json::Value::Null);
    assert_eq!(ask(start(2, "sleep 1000"))["fault"], serde_json::Value::Null);
    let early = ask(serde_json::json!({ "move_to": 5 * second }));
    assert_eq!((early["now"].as_u64(), early["is_there"].as_bool()), (Some(5 * second), Some(true)), "{early}");
    assert_eq!((early["next"].as_u64(), early["ended"].as_array().unwrap().len()), (Some(10 * second), 0), "{early}");
    let late = ask(serde_json::json!({ "move_to": 10 * second }));
    assert_eq!((late["next"].as_u64(), &late["ended"]), (Some(1000 * second), &serde_json::json!([[1, 3]])), "{late}");
    assert_eq!(fs::read_to_string(scratch.path("1")).unwrap(), "10\n");
    let idle = ask(serde_json::json!({ "move_to": 2000 * second }));
    assert_eq!((idle["now"].as_u64(), &idle["next"]), (Some(2000 * second), &serde_json::Value::Null), "{idle}");
    let missing =
        ask(serde_json::json!({ "start": { "number": 3, "command": ["/no/such"], "variables": {}, "folder": "/",
        "output": format!("{folder}/3") } }));
    assert!(missing["fault"].as_str().unwrap().contains("cannot run /no/such: No such file"), "{missing}");
    assert_eq!(ask(start(4, "sleep 1000"))["fault"], serde_json::Value::Null);
    assert!(marked(&folder).len() > 1);
    drop(orders);
    assert_eq!(clock.wait().unwrap().code(), Some(0));
    assert_eq!(marked(&folder), Vec::<u32>::new());
}

/// With the real one, a daemon would seem to be on a machine that starts again and again.
#[test]
fn the_uptime_of_the_system_is_virtual() {
    if !is_there("python3") {
        return;
    }
    let script = "import ctypes, time\nlibc, facts = ctypes.CDLL(None), (ctypes.c_long * 64)()\n\
                  def uptime(): return libc.sysinfo(facts) or facts[0]\n\
                  begun = uptime(); time.sleep(86400); print(uptime() - begun, uptime() - int(time.monotonic()))";
    let output = clock(&[], &["python3", "-c", script]);
    assert_eq!(text(&output.stdout), "86400 0\n", "{}", text(&output.stderr));
}

#[test]
fn sleepers_wake_in_the_order_of_their_deadlines() {
    let script = "for i in 5 3 1 4 2; do (sleep $i; echo $i) & done; wait; \
                  (for i in 1 2 3; do sleep $i; echo $i; done) | while read x; do echo got $x; done; \
                  read -t 5 x < <(sleep 100); echo $?; timeout 10 sleep 100; echo $?; date +%s; kill %%; kill $!";
    let output = bash(script);
    let expected = "1\n2\n3\n4\n5\ngot 1\ngot 2\ngot 3\n142\n124\n1767225626\n";
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
}

/// Forty shells with up to five children each wake at the same moments: those that are born first, first.
#[test]
fn runs_repeat() {
    let script = "for i in $(seq 1 20); do (for k in 1 2 3; do sleep $((i % 4 + 1)); echo $i.$k; done) & done; wait; \
                  (sleep 2; echo a) | (sleep 2; cat; date +%s) | sed s/a/b/";
    let first = bash(script);
    assert_eq!(text(&first.stdout).lines().count(), 62, "{}", text(&first.stderr));
    assert!(text(&first.stdout).ends_with("b\n1767225614\n"), "{}", text(&first.stdout));
    for flags in [&[][..], &["--all-cores"], &[]] {
        let again = clock(flags, &["bash", "-c", script]);
        assert_eq!(text(&again.stdout), text(&first.stdout), "{flags:?}: {}", text(&again.stderr));
    }
}

/// The clock moves without a look at each thread if the system lets threads take turns. A look at all finds none that
/// could run, for any kind of wait.
#[test]
fn threads_that_take_turns_are_asleep_when_the_clock_moves() {
    let probe = clock(&["--in-turn"], &["true"]);
    if probe.status.code() == Some(7) {
        skip("the right to real-time priorities");
        return;
    }
    let scratch = Scratch::new();
    let shells = "for i in $(seq 1 40); do (for k in 1 2 3; do sleep $((i % 4 + 1)); echo $i; done | cat | \
                  while read x; do echo $x; done) & done; wait; exit 3";
    // Topology libraries bind themselves to one core after the other.
    let binds = "import os, time\ntry: os.sched_setaffinity(0, {1023})\nexcept OSError as error: print(error.errno)\n\
                 os.sched_setaffinity(0, range(1024)); print(len(os.sched_getaffinity(0)))\n\
                 os.fork(); time.sleep(5)";
    let leaves = "import os, time; os.fork(); os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0)); \
                  [time.sleep(1) for i in range(20)]";
    let c = compiled(&scratch, include_str!("clock.c"), &[]);
    let c = c.map(|program| program.to_str().unwrap().to_owned()).unwrap_or("true".to_owned());
    let python = if is_there("python3") { "python3" } else { "true" };
    for (program, code, expected) in [
        (&["bash", "-c", shells][..], 3, ""),
        (&[&c], 0, ""),
        (&[python, "-c", PYTHON], 0, ""),
        (&[python, "-c", binds], 0, "22\n1\n"),
        (&[python, "-c", leaves], 0, ""),
    ] {
        let output = clock(&["--in-turn", "--judge"], program);
        assert_eq!(output.status.code(), Some(code), "{program:?}: {}", text(&output.stderr));
        assert!(program[0] == "true" || text(&output.stdout).starts_with(expected), "{}", text(&output.stdout));
    }
}

#[test]
fn few_open_files_are_enough() {
    let script = "for i in $(seq 40); do (sleep $i; echo $i) & done; wait";
    let limited = format!("ulimit -n 40; exec {HANSA} clock -- bash -c '{script}'");
    let output = Command::new("bash").args(["-c", &limited]).output().unwrap();
    let expected: String = (1..=40).map(|i| format!("{i}\n")).collect();
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
}

/// The waits of Python: threads, asyncio, select, signals, children, locks, sockets.
const PYTHON: &str = r#"
import asyncio, os, queue, select, signal, socket, struct, subprocess, threading, time
begun, monotonic = time.time(), time.monotonic()
def show(*what): print(f"{time.time() - begun:.2f}", *what, flush=True)
def work(name, pause):
    for i in range(3):
        time.sleep(pause)
        show("thread", name, i)
threads = [threading.Thread(target=work, args=each) for each in (("a", 5), ("b", 7), ("c", 3))]
for thread in threads: thread.start()
for thread in threads: thread.join()
async def task(name, pause):
    for i in range(3):
        await asyncio.sleep(pause)
        show("task", name, i)
async def tasks(): await asyncio.gather(task("x", 1), task("y", 2.5), task("z", 0.7))
asyncio.run(tasks())
show("select", select.select([], [], [], 100))
reads, writes = os.pipe()
def later():
    time.sleep(10)
    os.write(writes, b"data")
threading.Thread(target=later).start()
show("pipe", select.select([reads], [], [], 1000)[0] == [reads], os.read(reads, 10))
signal.signal(signal.SIGALRM, lambda *_: show("alarm"))
signal.alarm(30)
signal.pause()
signal.setitimer(signal.ITIMER_REAL, 5, 5)
time.sleep(12)
signal.setitimer(signal.ITIMER_REAL, 0)
show("child", subprocess.run(["sleep", "3600"]).returncode)
try: subprocess.run(["sleep", "3600"], timeout=60)
except subprocess.TimeoutExpired: show("child late")
show("bare child", subprocess.check_output(["/bin/sh", "-c", "sleep 5; date +%s"], env={}))
try: queue.Queue().get(timeout=77)
except queue.Empty: show("queue late")
condition = threading.Condition()
with condition: show("condition", condition.wait(9))
event = threading.Event()
threading.Timer(11, event.set).start()
show("event", event.wait(100))
one, other = socket.socketpair()
one.settimeout(8)
try: one.recv(1)
except TimeoutError: show("socket late")
one.settimeout(None)
one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 6, 0))
try: one.recv(1)
except BlockingIOError: show("SO_RCVTIMEO late")
os.system("sleep 4")
show("popen", os.popen("sleep 2; echo done").read().strip())
server = socket.create_server(("127.0.0.1", 0))
def serve():
    peer, _ = server.accept()
    while data := peer.recv(100):
        time.sleep(1)
        peer.sendall(data)
threading.Thread(target=serve).start()
client = socket.create_connection(server.getsockname())
for i in range(3):
    client.sendall(b"ping")
    client.recv(100)
client.close()
show("monotonic", round(time.monotonic() - monotonic, 2))
"#;

const SEEN_BY_PYTHON: &str = "\
3.00 thread c 0
5.00 thread a 0
6.00 thread c 1
7.00 thread b 0
9.00 thread c 2
10.00 thread a 1
14.00 thread b 1
15.00 thread a 2
21.00 thread b 2
";

#[test]
fn python_waits_in_virtual_time() {
    if !is_there("python3") {
        return;
    }
    let begun = Instant::now();
    let outputs: Vec<Output> = (0..3).map(|_| clock(&[], &["python3", "-c", PYTHON])).collect();
    let first = text(&outputs[0].stdout);
    assert!(first.starts_with(SEEN_BY_PYTHON), "{first}{}", text(&outputs[0].stderr));
    for line in ["bare child b'1767", "queue late", "condition False", "event True", "SO_RCVTIMEO late", "popen done"] {
        assert!(first.contains(line), "{line}: {first}");
    }
    let last = first.lines().last().unwrap();
    let end: f64 = last.split(' ').next().unwrap().parse().unwrap();
    assert!(last == format!("{end:.2} monotonic {end}") && (3960.0..3970.0).contains(&end), "{first}");
    for again in &outputs[1..] {
        assert_eq!(text(&again.stdout), first, "{}", text(&again.stderr));
    }
    assert!(begun.elapsed() < SOON);
}

/// A program that removes the clock from its environment, in any way, passes it on to its shells.
const REMOVES: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void shells(const char *how) {
    time_t begun = time(NULL);
    int code = WEXITSTATUS(system("/bin/sleep 2; exit 7"));
    char text[20] = "";
    FILE *first = popen("/bin/sleep 3; echo yes", "r"), *second = popen("cat", "we");
    fputs("cat\n", second);
    fflush(second);
    int read = fscanf(first, "%19s", text);
    int closed = pclose(second), ended = WEXITSTATUS(pclose(first));
    printf("%s: %ld s, %d, %d %s, %d %d\n", how, (long)(time(NULL) - begun), code, read, text, closed, ended);
    fflush(stdout);
}
static void on_interrupt(int signal) { printf("signal %d\n", signal); }
int main(void) {
    shells("as given");
    unsetenv("LD_PRELOAD");
    shells("unsetenv");
    signal(SIGINT, on_interrupt);
    printf("killed %d\n", WTERMSIG(system("kill -INT $PPID; kill -KILL $$")));
    printf("killed %d\n", WTERMSIG(system("kill -INT $$; echo no")));
    fflush(stdout);
    raise(SIGINT);
    printf("mode %d\n", popen("true", "x") == NULL && errno == EINVAL);
    fflush(stdout);
    clearenv();
    shells("clearenv");
    static char *none[] = {NULL};
    environ = none;
    shells("environ");
    return 0;
}
"#;

#[test]
fn shells_of_programs_that_remove_the_clock_get_it_back() {
    let scratch = Scratch::new();
    let Some(program) = compiled(&scratch, REMOVES, &[]) else { return };
    let output = clock(&[], &[program.to_str().unwrap()]);
    let shells = |how: &str| format!("cat\n{how}: 5 s, 7, 1 yes, 0 0\n");
    let signals = "killed 9\nkilled 2\nsignal 2\nmode 1\n";
    let expected =
        [&shells("as given"), &shells("unsetenv"), signals, &shells("clearenv"), &shells("environ")].concat();
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    if !is_there("python3") {
        return;
    }
    let script = "import os, time; begun = time.time(); os.environ.pop('LD_PRELOAD'); os.environ.pop('HANSA_CLOCK')\n\
                  os.system('sleep 3'); os.popen('sleep 4').close(); print(round(time.time() - begun, 1))";
    let output = clock(&[], &["python3", "-c", script]);
    assert_eq!(text(&output.stdout), "7.0\n", "{}", text(&output.stderr));
}

#[test]
fn perl_waits_in_virtual_time() {
    if !is_there("perl") {
        return;
    }
    let script = "$SIG{ALRM} = sub { print time, \" alarm\\n\" }; alarm 5; sleep 100; select(undef, undef, undef, 2.5); \
                  my $child = fork; if (!$child) { sleep 7; exit 4 } wait; print time, \" \", $? >> 8, \"\\n\";";
    let output = clock(&[], &["perl", "-e", script]);
    assert_eq!(text(&output.stdout), "1767225605 alarm\n1767225614 4\n", "{}", text(&output.stderr));
}

const SEEN_BY_C: &str = "\
3.000 condition late 1
5.000 monotonic condition late 1
9.000 condition in time 0
15.000 mutex of a sleeper 0
18.000 cancelled 1
23.000 semaphore late 1
30.000 semaphore of a child 0
35.000 timerfd 1
60.000 timerfd 2
65.000 epoll 1
68.000 epoll late 0
68.000 left 7
69.000 timer calls 7
71.000 timer calls 7
74.000 timer sends 9
74.000 interrupted sleep 8
78.000 futex 1
86.000 sigtimedwait 1
88.000 poll after closing all 0
88.000 clock_settime refused 1
91.000 daemon 0
";

#[test]
fn waits_of_the_c_library_end_in_virtual_time() {
    let scratch = Scratch::new();
    let Some(program) = compiled(&scratch, include_str!("clock.c"), &[]) else { return };
    for flags in [&["--wait"][..], &["--wait", "--all-cores"]] {
        let output = clock(flags, &[program.to_str().unwrap()]);
        assert_eq!(text(&output.stdout), SEEN_BY_C, "{}", text(&output.stderr));
    }
}

#[test]
fn what_is_left_behind_is_ended_or_waited_for() {
    let script = "(sleep 50; date +%s) & sleep 1";
    let ended = bash(script);
    assert_eq!((ended.status.code(), text(&ended.stdout)), (Some(0), String::new()));
    assert!(text(&ended.stderr).contains("ended processes that the command left behind: "), "{}", text(&ended.stderr));
    let waited = clock(&["--wait"], &["bash", "-c", script]);
    assert_eq!(text(&waited.stdout), "1767225650\n", "{}", text(&waited.stderr));
}

#[test]
fn what_the_clock_does_not_reach_is_named() {
    let scratch = Scratch::new();
    let source = "#include <unistd.h>\nint main(void) { sleep(1); return 5; }\n";
    let Some(program) = compiled(&scratch, source, &["-static"]) else { return };
    let output = bash(&format!("(sleep 100; echo hundred) & {}; echo $?; date +%s; wait", program.display()));
    assert_eq!(text(&output.stdout), "5\n1767225600\nhundred\n", "the clock stands still: {}", text(&output.stderr));
    let printed = text(&output.stderr);
    assert_eq!(printed.matches("(program) is beyond the clock's reach").count(), 1, "{printed}");
    assert!(printed.contains("1 process was beyond the clock's reach"), "{printed}");
}

#[test]
fn programs_that_do_not_sleep_are_named_and_can_be_stopped() {
    let scratch = Scratch::new();
    let mark = scratch.path("mark").to_str().unwrap().to_owned();
    let mut command = Command::new(HANSA);
    let script = "trap 'exit 9' TERM; while :; do :; done";
    command.args(["clock", "--", "bash", "-c", script]).env("MARK", &mark);
    let mut busy = Process::start("hansa clock", &mut command);
    busy.await_text("(bash) has not slept for 5 s of real time: the clock stands still until it does");
    busy.signal("TERM");
    busy.end_with(9, SOON);
    assert_eq!(marked(&mark), Vec::<u32>::new());
}

/// With a charge, each reading of a thread is later than its last one: exact in all kinds of programs.
#[test]
fn readings_of_a_clock_take_their_charge() {
    let scratch = Scratch::new();
    let Some(program) = compiled(&scratch, include_str!("charge.c"), &[]) else { return };
    let program = program.to_str().unwrap();
    // The first of the 1,000 readings counts; the one after a sleep does not. The parent, which reads until 10 ms have
    // passed, does not keep its child from waking in time, and three threads read side by side.
    let expected = "readings 20000\nafter a sleep 1020000\nafter a wait for nothing 1020020\nchild 1025020\n\
                    parent 1030060\nthread 0 1030080 1050060 1050560\nthread 1 1030080 1050060 1050560\n\
                    thread 2 1030080 1050060 1050560\nend 1050560\n";
    for flags in [&["--charge", "20us"][..], &["--charge", "20us", "--all-cores"], &["--charge", "0.02 ms"]] {
        let output = clock(flags, &[program]);
        assert_eq!(text(&output.stdout), expected, "{flags:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("clock: 1.05056 s of virtual time"), "{}", text(&output.stderr));
    }
    let dates = "for i in 1 2 3; do date +%s.%N; sleep 1; done";
    let free = clock(&["--charge", "0"], &["bash", "-c", dates]);
    assert_eq!((text(&free.stdout), free.status.code()), (text(&bash(dates).stdout), Some(0)));
    assert!(text(&free.stdout).starts_with("1767225600.000000000\n1767225601.000000000\n"), "{}", text(&free.stdout));
}

/// A program that reads the clock until a time has come waits for ever without a charge, and ends with one.
#[test]
fn busy_waiting_on_the_clock_ends_under_a_charge() {
    let scratch = Scratch::new();
    let Some(program) = compiled(&scratch, include_str!("charge.c"), &[]) else { return };
    let program = program.to_str().unwrap();
    let output = clock(&["--charge", "20us"], &[program, "spin"]);
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("spins 500\n", Some(0)));
    assert!(text(&output.stderr).contains("clock: 0.01002 s of virtual time"), "{}", text(&output.stderr));
    // New processes read it in turn.
    let shell = "while [ $(date +%s%N) -lt 1767225600001000000 ]; do :; done; date +%s%N";
    let output = clock(&["--charge", "20us"], &["bash", "-c", shell]);
    assert_eq!(text(&output.stdout), "1767225600001000000\n", "{}", text(&output.stderr));
    let over = clock(&["--charge", "20us", "--until", "5ms"], &[program, "spin"]);
    expect_error(&over, 124, "clock: 0.005 s of virtual time");

    let mut command = Command::new(HANSA);
    let mut busy = Process::start("hansa clock", command.args(["clock", "--", program, "spin"]));
    busy.await_text("(program) has not slept for 5 s of real time: the clock stands still until it does");
    busy.signal("TERM");
    assert_eq!(busy.end(SOON).0, Some(143));
}

/// Threads that a run says to be idle wait until they are signalled. A series of sleeps is one: the first thread sees
/// the time of its end from the first sleep on, and all that comes after it has the times that it has without.
#[test]
fn threads_that_only_poll_can_be_spared() {
    let scratch = Scratch::new();
    let Some(program) = compiled(&scratch, include_str!("polls.c"), &[]) else { return };
    let run = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = Command::new(HANSA);
        command.args(["clock", "--"]).arg(&program).args(arguments).envs(variables.iter().copied());
        let output = command.stdin(Stdio::null()).output().unwrap();
        text(&output.stdout)
    };
    let plain = "100 200 300 400 500 600 700 800 900 1000\n\
                 1100 1200 1300 1400 1500 1600 1700 1800 1900 2000\nanother thread 100\n\
                 another span 2050\nafter another sleep 7250\nwakes 8\n";
    assert_eq!(run(&[], &[]), plain);
    assert_eq!(run(&[("HANSA_IDLE_THREADS", "poll,pollers"), ("HANSA_SLEEP_SERIES", "10x1000")], &[]), plain);
    let idle = ("HANSA_IDLE_THREADS", "other,poller");
    assert_eq!(run(&[idle], &[]), plain.replace("wakes 8", "wakes 1"));
    assert_eq!(run(&[idle], &["someone"]), plain);
    let series = ("HANSA_SLEEP_SERIES", "10x100000");
    let at_once = "1000 1000 1000 1000 1000 1000 1000 1000 1000 1000\n\
                   2000 2000 2000 2000 2000 2000 2000 2000 2000 2000\nanother thread 100\nanother span 2050\n";
    // The next sleeps of this length are two series, as something else comes between them.
    assert_eq!(run(&[idle, series], &[]), format!("{at_once}after another sleep 9050\nwakes 1\n"));
}

#[test]
fn charges_that_are_none_are_refused() {
    for (charge, expected) in [
        ("20", "expected a time with its unit, such as 20us"),
        ("20usec", "did you mean us?"),
        ("-20us", "expected a time that is not negative"),
        ("2s", "expected at most 1 s a reading"),
    ] {
        let refused = clock(&[&format!("--charge={charge}")], &["true"]);
        let printed = text(&refused.stderr);
        assert!(refused.status.code() == Some(2) && printed.contains(expected), "{charge}: {printed}");
    }
}

/// Everything ends with the clock, whichever of its processes is killed, even what has left its session.
#[test]
fn no_kill_leaves_a_process_behind() {
    for victim in ["hansa", "keeper", "command"] {
        let scratch = Scratch::new();
        let mark = scratch.path("mark").to_str().unwrap().to_owned();
        let pids_path = scratch.path("told");
        let mut command = Command::new(HANSA);
        let script =
            format!("exec 3<&0; setsid cat <&3 & cat <&3 & sleep 5; echo $PPID $$ > {}; cat", pids_path.display());
        command.args(["clock", "--", "bash", "-c", &script]).env("MARK", &mark).stdin(Stdio::piped());
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        let numbers = loop {
            let pids = fs::read_to_string(&pids_path).unwrap_or_default();
            let numbers: Vec<u32> = pids.split_whitespace().map(|number| number.parse().unwrap()).collect();
            if pids.ends_with('\n') && marked(&mark).len() >= 5 {
                break numbers;
            }
            assert!(begun.elapsed() < SOON, "{pids}");
            std::thread::sleep(Duration::from_millis(5));
        };
        let number = match victim {
            "hansa" => process.id(),
            "keeper" => numbers[0],
            _ => numbers[1],
        };
        assert!(Command::new("kill").args(["-KILL", &number.to_string()]).status().unwrap().success());
        let status = process.wait().unwrap();
        if victim == "command" {
            assert_eq!(status.code(), Some(137));
        }
        let begun = Instant::now();
        while !marked(&mark).is_empty() {
            assert!(begun.elapsed() < SOON, "{victim}: {:?}", marked(&mark));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// An unmodified Slurm: jobs wait for nodes, are ended at their limits, and an hour of it takes seconds.
#[test]
fn a_slurm_cluster_runs_in_virtual_time() {
    if !Path::new("/usr/sbin/slurmctld").exists() || !Path::new("/usr/sbin/slurmd").exists() {
        skip("slurmctld, slurmd and slurm-client");
        return;
    }
    let cluster = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/slurm-cluster.sh");
    let script = "date +%s > $BEGUN; for i in 1 2 3; do sbatch -N2 -t 20 -o /dev/null --wrap 'sleep 600'; done; \
                  sbatch -N3 -t 5 -o /dev/null --wrap 'sleep 100000'; sbatch -N1 -t 5 -o /dev/null --wrap 'exit 3'; \
                  while [ -n \"$(squeue -h)\" ]; do sleep 10; done; cat $SLURM_JOBS; exit 6";
    let mut command = Command::new(HANSA);
    command.args(["clock", "--", cluster, "4", "bash", "-c", script]).stdin(Stdio::null());
    let scratch = Scratch::new();
    let output = command.env("BEGUN", scratch.path("begun")).env("TZ", "UTC").output().unwrap();
    let shown_jobs = text(&output.stdout);
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{shown_jobs}{printed}");
    let begun: u64 = fs::read_to_string(scratch.path("begun")).unwrap().trim().parse().unwrap();
    let seconds = |line: &str, key: &str| -> u64 {
        let time = line.split(&format!(" {key}=2026-01-01T")).nth(1).unwrap_or_else(|| panic!("{key}: {line}"));
        let parts: Vec<u64> = time[..8].split(':').map(|part| part.parse().unwrap()).collect();
        1_767_225_600 + parts[0] * 3600 + parts[1] * 60 + parts[2] - begun
    };
    // Job, how it ended, and the earliest second at which it could start and end.
    let jobs =
        [(1, "COMPLETED", 0, 600), (2, "COMPLETED", 0, 600), (3, "COMPLETED", 600, 1200), (4, "TIMEOUT", 1200, 1500)];
    for (job, state, start, end) in jobs {
        let line = shown_jobs
            .lines()
            .find(|line| line.starts_with(&format!("JobId={job} ")))
            .unwrap_or_else(|| panic!("{shown_jobs}"));
        assert!(line.contains(&format!("JobState={state} ")), "{line}");
        let started = seconds(line, "StartTime");
        let ended = seconds(line, "EndTime");
        // Slurm looks for jobs to end every 30 s.
        assert!((start..start + 15).contains(&started) && (end..end + 60).contains(&ended), "{started} {ended} {line}");
    }
    assert!(
        shown_jobs.lines().any(|line| line.starts_with("JobId=5 ") && line.contains("JobState=FAILED ")),
        "{shown_jobs}"
    );
}

#[test]
fn a_program_that_cannot_have_the_clock_does_not_run() {
    let removed = bash("rm \"$HANSA_CLOCK\"; /bin/date; echo $?");
    assert_eq!(text(&removed.stdout), "7\n");
    assert!(
        text(&removed.stderr).contains("the clock has ended, or its folder was removed"),
        "{}",
        text(&removed.stderr)
    );
    let nested = bash(&format!("{HANSA} clock -- true; echo $?"));
    assert_eq!(text(&nested.stdout), "2\n");
    assert!(text(&nested.stderr).contains("a clock already runs here"), "{}", text(&nested.stderr));
    let scratch = Scratch::new();
    let folder = scratch.path("two words");
    fs::create_dir(&folder).unwrap();
    let mut command = Command::new(HANSA);
    let output = command.args(["clock", "--", "true"]).env("TMPDIR", &folder).output().unwrap();
    expect_error(&output, 7, "set TMPDIR to a path without spaces");
    assert!(fs::read_dir(Path::new(&folder)).unwrap().next().is_none(), "nothing is left there");
}
