//! Random settings of every table, drawn from the descriptions, are read, written, read again and hashed.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use super::batch::QUEUEING;
use super::*;
use hansa_sim::random::SplitMix64;
use hansa_sim::settings::{Context, Layout, Listed, Shape, What, list_keys};
use hansa_sim::systems;
use hansa_sim::topology::topology_keys;
use hansa_sim::workload;

/// Two sites and two users with one workload.
fn grid(system: &str, source: &str) -> String {
    format!(
        "name = \"base\"\n{system}\n[[site]]\nname = \"york\"\ncores = 64\n[[site]]\nname = \"leeds\"\ncores = 64\n\
         [[user]]\nname = \"alice\"\n[[user]]\nname = \"bob\"\n[[workload]]\n{source}\n"
    )
}

/// Topologies in which settings are changed; together they have every system and every source.
fn bases() -> Vec<(String, String)> {
    let task = "[[workload.job]]\ntasks = [{ runtime = \"1 min\", cores = 1 }";
    let sources = [
        ("market", "jobs = 2\ncores_max = 8".to_owned()),
        ("table", format!("{task}]")),
        ("reservations", "requests = 3".to_owned()),
        ("requests", "[[workload.request]]\nduration = \"1 h\"\nnodes = 1".to_owned()),
        ("workflow", "file = \"flow.dot\"".to_owned()),
        ("swf", "file = \"log.swf\"".to_owned()),
        ("batsim", "file = \"log.json\"".to_owned()),
        ("sacct", "file = \"log.sacct\"".to_owned()),
        ("slurm-events", "file = \"log.events\"".to_owned()),
        ("lublin", "jobs = 2".to_owned()),
        ("layered", "tasks = 5".to_owned()),
        ("parallel", "tasks = 5\ncores = 2".to_owned()),
        ("cybershake", String::new()),
    ];
    let mut bases = Vec::new();
    for row in systems::ALL {
        for source in row.all_sources() {
            let (name, keys) = sources.iter().find(|(name, _)| *name == source).expect("every source is here");
            let wanted = row.traits.wants_deadlines && row.also.contains(&source);
            let keys = if wanted { format!("{keys}\nterms = {{}}") } else { keys.clone() };
            let text = grid(&format!("[{}]", row.key), &format!("source = \"{name}\"\n{keys}"));
            // It has tasks on many cores.
            let text = if *name == "cybershake" { text.replace("cores = 64", "cores = 512") } else { text };
            bases.push((format!("{} {source}", row.key), text));
        }
    }
    for row in systems::ALL.iter().filter(|row| row.traits.stages_data) {
        for &source in row.sources {
            let (name, keys) = sources.iter().find(|(name, _)| *name == source).expect("every source is here");
            let staged = format!("source = \"{name}\"\nhome = \"york\"\n{keys}");
            let text = format!("{}{LINKS}", grid(&format!("[{}]", row.key), &staged));
            bases.push((format!("{} {source} with data", row.key), text));
        }
    }
    let bidder = "[market]\npolicy = \"external\"\n[market.bidder]\ncommand = [\"bid\"]";
    bases.push(("bidder".to_owned(), grid(bidder, "source = \"market\"\njobs = 2\ncores_max = 8")));
    let allocator = "[reservation]\npolicy = \"external\"\n[reservation.allocator]\ncommand = [\"choose\"]";
    bases.push(("allocator".to_owned(), grid(allocator, "source = \"reservations\"\nrequests = 2\nnodes = 8")));
    let kinds = |name: &str, keys: &str| {
        let system = systems::ALL.iter().find(|row| row.all_sources().any(|source| source == name));
        let system = system.expect("every source has a system").key;
        let text = grid(&format!("[{system}]"), &format!("source = \"{name}\"\n{keys}"));
        let text = text.replacen("cores = 64", "cores = 512\nkind = \"a\"", 1);
        (format!("kinds {name}"), text.replace("cores = 64\n[[user]]", "cores = 512\nkind = \"b\"\n[[user]]"))
    };
    bases.push(kinds("market", "jobs = 2\ncores_max = 8"));
    bases.push(kinds("table", &format!("{task}]").replace("cores = 1", "cores = 1, kind = \"a\"")));
    for row in workload::ALL {
        let listed = list_keys(|w| drop((row.read)(w, &Context::without_grid())));
        if listed.iter().any(|listed| listed.key.name == "kind") {
            let (name, keys) = sources.iter().find(|(name, _)| *name == row.name).expect("every source is here");
            bases.push(kinds(name, &format!("{keys}\nkind = \"a\"")));
        }
    }
    let edges = format!(
        "source = \"table\"\n{task}, {{ runtime = \"1 min\", cores = 1 }}]\nworth = {{ max = 1, initial = 2, final = 6 }}"
    );
    bases.push(("job".to_owned(), grid("[market]", &edges)));
    bases.push(("links".to_owned(), super::cables::STAR.to_owned()));
    let market = "source = \"market\"\njobs = 2\ncores_max = 8";
    let offering = grid("[market]\nclearing = \"messages\"", market);
    bases.push(("market by messages".to_owned(), offering));
    bases.push(("market over links".to_owned(), format!("{}{LINKS}", grid("[market]", market))));
    let counted = grid("[market]", market).replacen("\"york\"", "\"york-{}\"\ncount = 2", 1);
    bases.push(("counted".to_owned(), counted.replace("\"alice\"", "\"alice-{}\"\ncount = 2")));
    let usual = "[defaults.site]\ncores = 128\nsystem = \"batch\"\n\
                 reserved = [{ from = \"1 h\", until = \"2 h\", nodes = \"0\" }]\n[market]\n[batch]";
    let defaults = grid(usual, "source = \"lublin\"\njobs = 2");
    let defaults = defaults.replacen("cores = 64", "system = \"batch\"\ncores = 128", 1);
    bases.push(("defaults".to_owned(), defaults.replace("cores = 64", "")));
    let usual = "[defaults.site]\nsystem = \"batch\"\n[market]\n[batch]";
    let one = grid(usual, "source = \"lublin\"\njobs = 2").replacen("cores = 64", "cores = 64\nsystem = \"batch\"", 1);
    bases.push(("the usual system".to_owned(), one));
    let reserved = "cores = 64\nreserved = [{ from = \"1 s\", until = \"2 s\", nodes = \"0\" }]";
    bases.push((
        "reserved".to_owned(),
        grid("[batch]", "source = \"lublin\"\njobs = 2").replace("cores = 64", reserved),
    ));
    bases.push(("queueing".to_owned(), QUEUEING.to_owned()));
    let shared = "cores = 64\nscheduler = \"GreedyPM */per\"\nmemory_gb = 4";
    let lublin = "source = \"lublin\"\njobs = 2";
    bases.push(("shared nodes".to_owned(), grid("[batch]", lublin).replacen("cores = 64", shared, 1)));
    let usual = "[defaults.site]\nscheduler = \"/per\"\nmemory_gb = 4\n[batch]";
    bases.push(("all share nodes".to_owned(), grid(usual, lublin)));
    let needing = "source = \"swf\"\nfile = \"log.swf\"\nneeds = \"dual-core\"";
    bases.push(("needing".to_owned(), grid("[batch]", needing)));
    let dumped = "source = \"sacct\"\nfile = \"log.sacct\"\nneeds = \"dual-core\"";
    bases.push(("needing of a dump".to_owned(), grid("[batch]", dumped)));
    let queued = |defaults: &str| grid(&format!("{defaults}[batch]"), "source = \"lublin\"\njobs = 2");
    let ranked = "order = \"multifactor\"\nmultifactor = { age = 10, accounts = [{ name = \"lab\" }], \
                  partitions = [{ name = \"main\", factor = 1 }], users = [{ name = \"ann\" }], \
                  qos_levels = [{ name = \"high\", priority = 1 }] }";
    let site = format!("cores = 64\n{ranked}");
    bases.push(("ranked".to_owned(), queued("").replacen("cores = 64", &site, 1)));
    bases.push(("all ranked".to_owned(), queued(&format!("[defaults.site]\n{ranked}\n"))));
    let impatient = queued("").replace("name = \"alice\"", "name = \"alice\"\nplanner = \"resubmit\"");
    bases.push(("impatient".to_owned(), impatient));
    bases.push(("all impatient".to_owned(), queued("[defaults.user]\nplanner = \"resubmit\"\n")));
    let fails = |failure: &str| format!("{}[[failure]]\n{failure}\n", queued(""));
    let drawn = "site = \"york\"\nmtbf = \"1 d\"\nmttr = \"1 h\"";
    bases.push(("fails at".to_owned(), fails("site = \"york\"\nat = \"1 h\"\nfor = \"1 min\"")));
    bases.push(("fails together".to_owned(), fails(&format!("{drawn}\nper = \"site\""))));
    let shaped = "distribution = \"weibull\"\nrepair_distribution = \"lognormal\"";
    let saves = "[recovery]\ncheckpoint = { every = \"young\", cost = \"1 s\" }";
    bases.push(("fails by nodes".to_owned(), fails(&format!("{drawn}\n{shaped}\n{saves}"))));
    let shapes = "shapes = [{ nodes = 1, duration = \"1 h\" }, { nodes = 2, duration = \"1 h\" }]";
    let shaped = format!("source = \"requests\"\n[[workload.request]]\n{shapes}");
    bases.push(("shapes".to_owned(), grid("[reservation]", &shaped)));
    let malleable = "source = \"reservations\"\nrequests = 3\nmalleable = 2";
    bases.push(("malleable".to_owned(), grid("[reservation]", malleable)));
    let reserved = grid("[reservation]", "source = \"reservations\"\nrequests = 2");
    bases.push(("fails when reserved".to_owned(), format!("{reserved}[[failure]]\n{drawn}\n")));
    let traced = "site = \"york\"\noutages = [{ component = 3, at = \"1 h\", for = \"1 min\" }]";
    bases.push(("fails by a trace".to_owned(), fails(traced)));
    let cut = "[[failure]]\nlink = \"a\"\nat = \"1 h\"\nfor = \"1 min\"\n";
    bases.push(("links that fail".to_owned(), format!("{}{LINKS}{cut}", grid("[market]", market))));
    for outside in [
        "scheduler = \"external\"\ncommand = [\"manage\"]",
        "scheduler = \"batsim\"\nsocket = \"ipc:///tmp/scheduler\"",
        "scheduler = \"batsim\"\ncommand = [\"schedule\", \"{socket}\"]\ntimeout = \"1 min\"",
        "scheduler = \"slurm\"\nslurm = { nodes = 32 }",
        "scheduler = \"slurm\"\nslurm = { site = \"york\", accounts = \"york.script\", unknown_users = \"ann\" }",
    ] {
        let one = queued("").replacen("cores = 64", &format!("cores = 64\n{outside}"), 1);
        bases.push((format!("outside {outside}"), one));
        bases.push((format!("all outside {outside}"), queued(&format!("[defaults.site]\n{outside}\n"))));
    }
    let planned = "planner = \"external\"\ncommand = [\"plan\"]";
    let one = queued("").replace("name = \"alice\"", &format!("name = \"alice\"\n{planned}"));
    bases.push(("planned outside".to_owned(), one));
    bases.push(("all planned outside".to_owned(), queued(&format!("[defaults.user]\n{planned}\n"))));
    let systems = |text: String| text.replace("cores = 64", "cores = 128\nsystem = [\"market\", \"batch\"]");
    let lublin = grid("[market]\n[batch]", "source = \"lublin\"\njobs = 2");
    bases.push(("several".to_owned(), systems(lublin)));
    let table = format!("source = \"table\"\nsystem = \"market\"\n{task}]");
    bases.push(("one of several".to_owned(), systems(grid("[market]\n[batch]", &table))));
    let bargains = |printed: &str, workload: &str| {
        grid("[provisioning]", workload).replace("name = \"alice\"", &format!("name = \"alice\"\n{printed}"))
    };
    let all_bargain =
        |printed: &str, workload: &str| grid(&format!("[defaults.user]\n{printed}\n[provisioning]"), workload);
    let one = "source = \"lublin\"\njobs = 2\nusers = [\"alice\"]";
    let priced = bargains("strategy = \"reserve\"", one);
    let priced = priced.replacen("cores = 64", "cores = 64\nprices = [{ from = \"8 h\", price = 2.0 }]", 1);
    bases.push(("priced by the hour".to_owned(), priced));
    let all = "[defaults.site]\nprices = [{ from = \"8 h\", price = 2.0 }]\n[provisioning]";
    bases.push(("all priced by the hour".to_owned(), grid(all, one)));
    let two = format!("source = \"table\"\nusers = [\"alice\"]\n{task}, {{ runtime = \"1 min\", cores = 1 }}]");
    let legs = "strategy = \"coallocate\"\nlegs = [\"york\", \"leeds\"]\ncrash = { at = \"1 h\", lasts = \"1 min\" }";
    for (printed, workload) in [("", one), ("strategy = \"moga\"", one), ("strategy = \"var\"", one), (legs, &two)] {
        bases.push((format!("bargains {printed}"), bargains(printed, workload)));
        bases.push((format!("all bargain {printed}"), all_bargain(printed, workload)));
    }
    bases
}

/// Four routes from york to leeds, one of which is valid.
const LINKS: &str = r#"[[site]]
name = "bath"
cores = 64
[network]
switches = []
[[link]]
name = "a"
capacity = "1 Gbps"
between = ["york", "leeds"]
[[link]]
name = "b"
capacity = "1 Gbps"
between = ["york", "leeds"]
[[link]]
name = "c"
capacity = "1 Gbps"
[[link]]
name = "d"
capacity = "1 Gbps"
between = ["leeds", "bath"]
[[route]]
from = "york"
to = "leeds"
links = ["c"]
"#;

const LOG: &str = "1 0 -1 10 1 -1 -1 1 20 -1 1 7 1 -1 -1 -1 -1 -1\n2 5000 -1 10 1 -1 -1 1 20 -1 1 8 2 -1 -1 -1 -1 -1\n";
const BATSIM: &str = r#"{ "nb_res": 4, "jobs": [
    { "id": 1, "subtime": 0, "walltime": 20, "res": 1, "profile": "d" },
    { "id": 2, "subtime": 5000, "walltime": 20, "res": 1, "profile": "d" }],
    "profiles": { "d": { "type": "delay", "delay": 10 } } }"#;
pub(super) const SACCT: &str = "JobIDRaw|User|Submit|Start|Elapsed|NNodes|NCPUS|Timelimit\n\
    1|ann|2024-03-01T00:00:00|2024-03-01T00:00:00|00:00:10|1|2|00:01:00\n\
    2|bob|2024-03-01T01:00:00|2024-03-01T01:00:00|00:00:10|1|1|00:01:00\n";
const EVENTS: &str = "-dt 0 -e submit_batch_job | -J a_1 -sim-walltime 10 -N 1 -n 2 -t 1 job\n\
    -dt 5000 -e submit_batch_job | -J a_2 -sim-walltime 10 -N 1 -n 1 -t 1 job\n";
const FLOW: &str = "digraph flow {\n 1 [size=\"1e9\"];\n 2 [size=\"1e9\"];\n 1 -> 2 [size=\"1000\"];\n}\n";

fn read(text: &str, settings: &[String]) -> Result<Topology, String> {
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let files = [
        ("grid.toml", text.as_bytes()),
        ("log.swf", LOG.as_bytes()),
        ("log.json", BATSIM.as_bytes()),
        ("log.sacct", SACCT.as_bytes()),
        ("log.events", EVENTS.as_bytes()),
        ("flow.dot", FLOW.as_bytes()),
        ("mosaic.json", FLOW.as_bytes()),
    ];
    load_files(&files, &settings).map(|loaded| loaded.topology).map_err(|diagnostics| diagnostics.to_string())
}

/// All keys with a value, as `--set` names them, each with the source that it belongs to, if any.
fn leaves(above: &str, keys: &[Listed], source: Option<&'static str>, found: &mut Vec<Leaf>) {
    for Listed { key, what, .. } in keys {
        let path = format!("{above}{}", key.name);
        match what {
            What::Value(shape) => found.push(Leaf { path, shape: shape.clone(), source, aside: key.aside }),
            What::Table(Layout::Sections(_) | Layout::Lines, keys) => {
                leaves(&format!("{path}.0."), keys, source, found)
            }
            What::Table(_, keys) => leaves(&format!("{path}."), keys, source, found),
            What::Variant { word, keys } => leaves(above, keys, Some(word), found),
        }
    }
}

struct Leaf {
    path: String,
    shape: Shape,
    source: Option<&'static str>,
    aside: bool,
}

impl Leaf {
    fn place(&self) -> String {
        format!("{} {}", self.path, self.source.unwrap_or_default())
    }
}

/// A random value of this shape, in TOML.
fn draw(shape: &Shape, random: &mut SplitMix64) -> String {
    let pick = |random: &mut SplitMix64, count: usize| random.int(0, count as u64 - 1) as usize;
    match shape {
        Shape::Text { example, .. } => format!("\"{example}\""),
        Shape::Free { example, .. } => (*example).to_owned(),
        Shape::Flag => ["true", "false"][pick(random, 2)].to_owned(),
        Shape::Whole { least, most } => random.int(*least, (*most).min(least.saturating_add(63))).to_string(),
        Shape::Number { least, most, above, .. } => {
            let least = least.max(-10.0);
            let most = most.min(10.0);
            // Four decimals are valid everywhere.
            let number = least + (1.0 - random.unit()) * (most - least);
            let number = (number * 1e4).floor() / 1e4;
            format!("{:?}", if *above { number.max(least + 1e-4) } else { number })
        }
        Shape::Span { .. } => format!("\"{} {}\"", random.int(1, 90), ["us", "ms", "s", "min", "h"][pick(random, 5)]),
        Shape::Rate => format!("\"{} {}\"", random.int(1, 90), ["kbps", "MB/s", "Gbps"][pick(random, 3)]),
        Shape::Volume { .. } => format!("\"{} {}\"", random.int(0, 90), ["B", "kB", "GB"][pick(random, 3)]),
        Shape::Words(words) | Shape::Grammar { words, .. } => format!("\"{}\"", words[pick(random, words.len())].name),
        Shape::NameOf("a user") => ["\"alice\"", "\"bob\""][pick(random, 2)].to_owned(),
        Shape::NameOf("a link") => ["\"a\"", "\"b\"", "\"c\""][pick(random, 3)].to_owned(),
        Shape::NameOf("a site or a switch") => ["\"york\"", "\"bath\"", "\"lab\""][pick(random, 3)].to_owned(),
        Shape::NameOf("a system of this topology") => {
            format!("\"{}\"", systems::ALL[pick(random, systems::ALL.len())].key)
        }
        Shape::NameOf("a kind of core that a site offers") => ["\"a\"", "\"b\""][pick(random, 2)].to_owned(),
        Shape::NameOf(_) => ["\"york\"", "\"leeds\"", "\"bath\""][pick(random, 3)].to_owned(),
        Shape::List { of, least, most } => {
            let count = random.int(*least as u64, (*most).min(least + 2) as u64);
            let items: Vec<String> = (0..count).map(|_| draw(of, random)).collect();
            format!("[{}]", items.join(", "))
        }
    }
}

/// Checks that a topology is written and read back, with the same hash.
fn survives(topology: &Topology, what: &str) {
    let text = topology.to_toml();
    let again = read(&text, &[]).unwrap_or_else(|diagnostics| panic!("{what}\n{diagnostics}\n{text}"));
    assert_eq!(&again, topology, "{what}\n{text}");
    assert_eq!(again.hash(), topology.hash(), "{what}\n{text}");
    let jobs = topology.prepared_jobs();
    if jobs.iter().any(Option::is_some) {
        let launched = with_prepared_jobs(&text, &jobs);
        let launched = launched.unwrap_or_else(|diagnostics| panic!("{what}\n{diagnostics}\n{text}"));
        assert_eq!(launched, again, "{what}, with prepared jobs\n{text}");
    }
}

/// Loads a written topology as a launched process does: logs are not there.
fn with_prepared_jobs(text: &str, jobs: &[Option<Vec<u8>>]) -> Result<Topology, String> {
    let mut read = |path: &str| match path {
        "grid.toml" => Ok(text.as_bytes().to_vec()),
        "flow.dot" | "mosaic.json" => Ok(FLOW.as_bytes().to_vec()),
        _ => Err("only what is not prepared is read".to_owned()),
    };
    let loaded = load_prepared("grid.toml", &mut read, jobs);
    loaded.map(|loaded| loaded.topology).map_err(|diagnostics| diagnostics.to_string())
}

#[test]
fn prepared_jobs_that_are_damaged_are_reported() {
    let text = grid("[batch]", "source = \"swf\"\nfile = \"log.swf\"");
    let topology = read(&text, &[]).unwrap();
    let text = topology.to_toml();
    let mut jobs = topology.prepared_jobs();
    assert_eq!(with_prepared_jobs(&text, &jobs), Ok(topology));
    let bytes = jobs[0].as_mut().expect("a log is prepared");
    bytes.truncate(bytes.len() - 1);
    let message = with_prepared_jobs(&text, &jobs).unwrap_err();
    assert!(message.contains("its prepared jobs are damaged"), "{message}");
}

/// A topology in which keys are set.
struct Base {
    name: String,
    text: String,
    source: Option<&'static str>,
    topology: Topology,
}

impl Base {
    fn of((name, text): (String, String)) -> Base {
        let topology = read(&text, &[]).unwrap_or_else(|diagnostics| panic!("{name}\n{diagnostics}"));
        survives(&topology, &name);
        let names = workload::ALL.iter().map(|row| row.name);
        let source = { names }.find(|source| text.contains(&format!("source = \"{source}\"")));
        Base { name, text, source, topology }
    }

    /// Sets a key to random values. True if one that is not the default was taken. The values depend on the name of the
    /// base and on the key alone, so that a new base or key changes those of no other.
    fn takes(&self, leaf: &Leaf) -> bool {
        let Base { name, text, source, topology: base } = self;
        if leaf.source.is_some() && leaf.source != *source {
            return false;
        }
        let mut random = SplitMix64::new(seed_of(name, &leaf.path));
        // Two valid values are enough; some keys accept few of the values of their form. A key of every base is tried
        // less often in each.
        let words: Option<Vec<&str>> = match &leaf.shape {
            Shape::Words(words) | Shape::Grammar { words, .. } => Some(words.iter().map(|word| word.name).collect()),
            Shape::NameOf("a system of this topology") => Some(systems::ALL.iter().map(|row| row.key).collect()),
            _ => None,
        };
        let is_choosy = leaf.source.is_some() || matches!(leaf.shape, Shape::List { .. });
        let attempts = match &words {
            Some(words) => words.len().min(12),
            // Few numbers divide the 64 cores of its site.
            None if leaf.path.ends_with("slurm.nodes") => 64,
            // Few times are short enough for a reading of a clock.
            None if leaf.path.ends_with("slurm.charge") => 64,
            // Few numbers are whole thousandths.
            None if leaf.path.contains("prices.") => 64,
            None if is_choosy => 24,
            None => 4,
        };
        let mut taken = 0;
        for attempt in 0..attempts {
            if taken == 2 {
                break;
            }
            let value = match &words {
                Some(words) => format!("\"{}\"", words[attempt]),
                None => draw(&leaf.shape, &mut random),
            };
            let setting = format!("{}={value}", leaf.path);
            let topology = match read(text, std::slice::from_ref(&setting)) {
                Ok(topology) => topology,
                // A key that is refused for a reason of its own is refused with any value.
                Err(message) if message.contains(": there is no [") || message.contains(": leave this out") => break,
                Err(_) => continue,
            };
            let what = format!("{name}: {setting}");
            survives(&topology, &what);
            // The hash covers every change of the meaning.
            let differs = Topology { about: None, ..topology.clone() } != Topology { about: None, ..base.clone() };
            assert_eq!(topology.hash() != base.hash(), differs && !writes_only(leaf), "{what}");
            taken += usize::from(topology != *base);
        }
        taken > 0
    }
}

fn seed_of(base: &str, key: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(format!("{base} {key}").as_bytes())
}

#[test]
fn every_key_of_every_table_is_read_written_and_hashed() {
    let mut all = Vec::new();
    leaves("", &topology_keys(), None, &mut all);
    let bases: Vec<Base> = bases().into_iter().map(Base::of).collect();
    // Builds without optimisation set each key in the first base that takes it, counted from one that its name chooses.
    let enough = if cfg!(unoptimised) { 1 } else { usize::MAX };
    let is_taken = |leaf: &Leaf| {
        let first = seed_of("", &leaf.path) as usize % bases.len();
        let places = bases[first..].iter().chain(&bases[..first]);
        places.filter(|base| base.takes(leaf)).take(enough).count() > 0
    };
    let next = AtomicUsize::new(0);
    let mut never: Vec<(usize, String)> = std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
        let work = || {
            let mut never = Vec::new();
            loop {
                let at = next.fetch_add(1, Relaxed);
                let Some(leaf) = all.get(at) else { return never };
                if !is_taken(leaf) {
                    never.push((at, leaf.place()));
                }
            }
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no base fails")).collect()
    });
    // Each key has been set to another value than its default somewhere.
    never.sort_unstable();
    let never: Vec<&str> = never.iter().map(|(_, place)| place.as_str()).collect();
    assert_eq!(never, NEVER, "these keys have never been set to anything that was taken");
}

/// True for keys that do not affect the meaning: the path of a log and the names of jobs.
fn writes_only(leaf: &Leaf) -> bool {
    leaf.aside
        && (leaf.path.ends_with(".file")
            || leaf.path.contains(".job.") && !leaf.path.contains(".tasks.") && leaf.path.ends_with(".name"))
}

/// Keys without an effect here: file names, of which there is one per format, redundant keys, and loads that no two
/// copies of so few jobs reach.
const NEVER: &[&str] = &[
    "hansa ",
    "failure.0.trace ",
    "workload.0.include ",
    "workload.0.file workflow",
    "workload.0.file swf",
    "workload.0.hash swf",
    "workload.0.count swf",
    "workload.0.utilisation swf",
    "workload.0.file batsim",
    "workload.0.hash batsim",
    "workload.0.count batsim",
    "workload.0.utilisation batsim",
    "workload.0.file sacct",
    "workload.0.hash sacct",
    "workload.0.count sacct",
    "workload.0.utilisation sacct",
    "workload.0.file slurm-events",
    "workload.0.hash slurm-events",
    "workload.0.count slurm-events",
    "workload.0.utilisation slurm-events",
];

#[test]
fn every_key_has_a_meaning() {
    fn look(keys: &[Listed]) {
        for Listed { key, what, .. } in keys {
            match what {
                What::Variant { keys, .. } => look(keys),
                What::Table(_, keys) => look(keys),
                What::Value(_) => {}
            }
            let messages = matches!(what, What::Variant { .. }) || key.line().len() > 3;
            assert!(messages, "nothing says what {} means", key.name);
        }
    }
    look(&topology_keys());
}

#[test]
fn many_keys_at_once_are_read_written_and_hashed() {
    let mut all = Vec::new();
    leaves("", &topology_keys(), None, &mut all);
    let mut random = SplitMix64::new(11);
    let mut taken = 0;
    for (name, text) in bases() {
        for _ in 0..8 {
            let mut settings: Vec<String> = Vec::new();
            // Keys that conflict with others are left out again.
            for _ in 0..8 {
                let leaf = &all[random.int(0, all.len() as u64 - 1) as usize];
                settings.push(format!("{}={}", leaf.path, draw(&leaf.shape, &mut random)));
                if read(&text, &settings).is_err() {
                    settings.pop();
                }
            }
            let topology = read(&text, &settings).unwrap();
            survives(&topology, &format!("{name}: {settings:?}"));
            taken += settings.len();
        }
    }
    assert!(taken > 100, "{taken}");
}
