//! Links and routes: meaning, errors and round trip.

use super::*;
use crate::{Names, Tally};
use hansa_sim::kernel::Entry;
use hansa_sim::network::{Duplex, Efficiency, LinkId, Mode};
use hansa_sim::protocol::Record;
use hansa_sim::time::Time;
use hansa_sim::topology::simgrid;
use hansa_sim::topology::{Payload, link_names, network_paths};

/// Three sites around a switch.
pub(super) const STAR: &str = r#"name = "star"
[workflow]
[network]
model = "tcp-parallel"
switches = ["lab"]
[[site]]
name = "york"
cores = 1
[[site]]
name = "bath"
cores = 1
[[site]]
name = "leeds"
cores = 1
[[link]]
name = "a"
capacity = "1 Gbps"
latency = "2 ms"
between = ["york", "lab"]
[[link]]
name = "b"
capacity = "100 MB/s"
between = ["lab", "bath"]
efficiency = "none"
duplex = "half"
[[link]]
name = "c"
capacity = "10 Mbps"
latency = "5 ms"
between = ["leeds", "lab"]
mode = "per-flow"
[[user]]
name = "alice"
[[workload]]
source = "table"
[[workload.job]]
tasks = [{ runtime = "1 min", cores = 1 }]
"#;

#[test]
fn a_full_duplex_cable_is_two_links_and_a_half_duplex_one_is_one() {
    let topology = load_text(STAR, &[]).unwrap();
    let paths = network_paths(&topology);
    assert_eq!(link_names(&topology), ["a york → lab", "a lab → york", "b", "c leeds → lab", "c lab → leeds"]);
    let route = |from, to| paths.route(from, to).iter().map(|link| link.0).collect::<Vec<_>>();
    assert_eq!((route(0, 1), route(1, 0)), (vec![0, 2], vec![2, 1]));
    assert_eq!((route(2, 1), route(0, 2)), (vec![3, 2], vec![0, 4]));
    let capacities: Vec<f64> = paths.links.iter().map(|link| link.capacity).collect();
    assert_eq!(capacities, [125.0, 125.0, 100.0, 1.25, 1.25]);
    let efficiencies: Vec<Efficiency> = paths.links.iter().map(|link| link.efficiency).collect();
    assert_eq!(efficiencies, [Efficiency::Tcp, Efficiency::Tcp, Efficiency::None, Efficiency::Tcp, Efficiency::Tcp]);
    assert_eq!((paths.links[3].mode, paths.links[0].mode), (Mode::PerFlow, Mode::Shared));
    assert_eq!(paths.latency(0, 2), 7_000.0);
}

#[test]
fn words_may_have_either_separator() {
    let other = STAR.replace("per-flow", "per_flow");
    assert_ne!(other, STAR);
    assert_eq!(load_text(&other, &[]).unwrap(), load_text(STAR, &[]).unwrap());
    let policy = |name: &str| load_text(FINE, &[&format!("market.policy={name}")]).map(|topology| topology.systems);
    assert_eq!(policy("p_slr").unwrap(), policy("p-slr").unwrap());
}

#[test]
fn links_and_routes_read_back() {
    let with_route = format!("{STAR}\n[[route]]\nfrom = \"york\"\nto = \"leeds\"\nlinks = [\"a\", \"c\"]\n");
    for text in [STAR, &with_route] {
        let topology = load_text(text, &["link.a.capacity=\"1.5 Mbps\""]).unwrap();
        assert_eq!(topology.cables.as_ref().unwrap().links[0].capacity, 1_500_000);
        let written = topology.to_toml();
        let again = load_text(&written, &[]).unwrap_or_else(|diagnostics| panic!("{diagnostics}\n{written}"));
        assert_eq!(again, topology);
        assert_eq!(again.hash(), topology.hash());
    }
    golden("star.toml", &load_text(&with_route, &[]).unwrap().to_toml());
}

/// Routes between two sites over switches; a link is `(name, ends, latency in milliseconds)`.
fn ways(links: &[(&str, &str, &str, u32)]) -> Vec<String> {
    let mut text = STAR.split("[[link]]").next().unwrap().replace("[\"lab\"]", "[\"lab\", \"hub\", \"x\", \"y\"]");
    text = text.replace("[[site]]\nname = \"leeds\"\ncores = 1\n", "");
    for (name, a, b, latency) in links {
        text.push_str(&format!(
            "[[link]]\nname = \"{name}\"\ncapacity = \"1 Gbps\"\nlatency = \"{latency} ms\"\nbetween = [\"{a}\", \"{b}\"]\n\
             duplex = \"half\"\n"
        ));
    }
    text.push_str(&STAR[STAR.find("[[user]]").unwrap()..]);
    let topology = load_text(&text, &[]).unwrap_or_else(|diagnostics| panic!("{diagnostics}\n{text}"));
    let names = link_names(&topology);
    network_paths(&topology).route(0, 1).iter().map(|link: &LinkId| names[link.index()].clone()).collect()
}

#[test]
fn the_shortest_path_has_fewest_links_then_least_latency_then_the_first_names() {
    let detour = ("z", "york", "bath", 900);
    assert_eq!(ways(&[("a", "york", "lab", 1), ("b", "lab", "bath", 1), detour]), ["z"]);
    let two = [("q", "york", "lab", 1), ("p", "lab", "bath", 1), ("b", "york", "hub", 1), ("c", "hub", "bath", 0)];
    assert_eq!(ways(&two), ["b", "c"]);
    // Equal length and latency: the first name that differs decides, not the last.
    let same = [("q", "york", "lab", 1), ("a", "lab", "bath", 1), ("b", "york", "hub", 1), ("z", "hub", "bath", 1)];
    assert_eq!(ways(&same), ["b", "z"]);
    let cables = [("two", "york", "bath", 1), ("one", "york", "bath", 1), ("a", "york", "bath", 2)];
    assert_eq!(ways(&cables), ["one"]);
    // A slow first half may be compensated.
    let late = [("a", "york", "x", 5), ("b", "x", "bath", 1), ("c", "york", "y", 1), ("d", "y", "bath", 4)];
    assert_eq!(ways(&late), ["c", "d"]);
}

type Fault = (&'static str, &'static str);

const FAULTS: &[Fault] = &[
    ("capacity = \"1 Gbps\"\n", ""),
    ("capacity = \"1 Gbps\"", "capacity = \"0 Gbps\""),
    ("capacity = \"1 Gbps\"", "capacity = \"-1 Gbps\""),
    ("capacity = \"1 Gbps\"", "capacity = -5"),
    ("capacity = \"1 Gbps\"", "capacity = 100"),
    ("capacity = \"1 Gbps\"", "capacity = \"1 Mb/s\""),
    ("capacity = \"1 Gbps\"", "capacity = \"1 gigabit\""),
    ("capacity = \"1 Gbps\"", "capacity = \"99999999999999999999999 Tbps\""),
    ("capacity = \"1 Gbps\"", "capacity = [1]"),
    ("latency = \"2 ms\"", "latency = \"-2 ms\""),
    ("latency = \"2 ms\"", "latency = \"365251 d\""),
    ("latency = \"2 ms\"", "latency = \"365250 d\""),
    ("mode = \"per-flow\"", "mode = \"perflow\""),
    ("efficiency = \"none\"", "efficiency = \"udp\""),
    ("duplex = \"half\"", "duplex = \"none\""),
    ("duplex = \"half\"", "duplex = \"half\"\ncolour = \"red\""),
    ("duplex = \"half\"", "duplex = \"one-way\""),
    ("name = \"b\"", "name = \"a\""),
    ("name = \"b\"", "name = \"B link\""),
    ("name = \"b\"\n", ""),
    ("between = [\"york\", \"lab\"]", "between = [\"york\", \"labb\"]"),
    ("between = [\"york\", \"lab\"]", "between = [\"york\"]"),
    ("between = [\"york\", \"lab\"]", "between = [\"york\", \"york\"]"),
    ("between = [\"york\", \"lab\"]", "between = \"york\""),
    ("between = [\"york\", \"lab\"]", "duplex = \"full\""),
    ("between = [\"york\", \"lab\"]", ""),
    ("switches = [\"lab\"]", "switches = [\"lab\", \"york\"]"),
    ("switches = [\"lab\"]", "switches = [\"lab\", \"lab\"]"),
    ("switches = [\"lab\"]", "switches = [\"lab\", \"The Hub\"]"),
    ("switches = [\"lab\"]", "switches = \"lab\""),
    ("model = \"tcp-parallel\"", "model = \"tcp\""),
    ("model = \"tcp-parallel\"", "modl = \"ideal\""),
    ("[[link]]\nname = \"a\"", "[link]\nname = \"a\""),
    ("[workflow]", "[reservation]"),
    ("[[user]]", "[[route]]\nfrom = \"york\"\nto = \"bath\"\nlinks = [\"a\", \"bb\"]\n[[user]]"),
    ("[[user]]", "[[route]]\nfrom = \"york\"\nto = \"bth\"\nlinks = [\"a\", \"b\"]\n[[user]]"),
    ("[[user]]", "[[route]]\nfrom = \"york\"\nto = \"york\"\nlinks = []\n[[user]]"),
    ("[[user]]", "[[route]]\nfrom = \"york\"\nto = \"leeds\"\nlinks = []\n[[user]]"),
    ("[[user]]", "[[route]]\nfrom = \"york\"\nto = \"bath\"\n[[user]]"),
    ("[[user]]", "[[route]]\nfrom = \"york\"\nto = \"bath\"\nlinks = \"a\"\n[[user]]"),
    ("[[user]]", "[[route]]\nfrom = \"york\"\nto = \"bath\"\nlinks = [\"a\", \"c\"]\n[[user]]"),
    ("[[user]]", "[[route]]\nfrom = \"york\"\nto = \"bath\"\nlinks = [\"c\", \"b\"]\n[[user]]"),
    ("[[user]]", "[[route]]\nfrom = \"bath\"\nto = \"york\"\nlinks = [\"b\", \"b\", \"a\"]\n[[user]]"),
    (
        "[[user]]",
        "[[route]]\nfrom = \"york\"\nto = \"bath\"\nlinks = [\"a\", \"b\"]\n\
         [[route]]\nfrom = \"york\"\nto = \"bath\"\nlinks = [\"a\", \"b\"]\n[[user]]",
    ),
];

#[test]
fn errors_have_their_places() {
    let mut page = String::new();
    for (fine, fault) in FAULTS {
        assert!(STAR.contains(fine), "{fine}");
        let text = STAR.replacen(fine, fault, 1);
        let diagnostics = load_text(&text, &[]).err().unwrap_or_else(|| panic!("{fault} is taken"));
        page.push_str(&format!("#### {} -> {}\n\n{diagnostics}\n\n", fine.trim(), fault.trim().replace('\n', "; ")));
    }
    let lone = FINE.replace("[[user]]", "[network]\nmodel = \"ideal\"\n[[user]]");
    page.push_str(&format!("#### a network without links\n\n{}\n", load_text(&lone, &[]).unwrap_err()));
    golden("cables.txt", &page);
}

/// An excess of sites is the only error: nothing says that there are no links.
#[test]
fn too_many_sites_for_links_are_one_fault() {
    let many = "name = \"many\"\n[batch]\n[network]\nmodel = \"ideal\"\n[[site]]\nname = \"s{}\"\ncount = 1025\ncores = 1\n\
                [[user]]\nname = \"ann\"\n[[link]]\nname = \"l\"\ncapacity = \"1 Gbps\"\nbetween = [\"s1\", \"s2\"]\n\
                [[workload]]\nsource = \"lublin\"\njobs = 1\nnodes = 1\noutput = \"1 GB\"\nhome = \"s1\"\n";
    let message = load_text(many, &[]).unwrap_err().rendered();
    let messages: Vec<&str> = message.iter().map(|message| message.message.as_str()).collect();
    assert_eq!(messages, ["expected at most 1024 sites on a grid with links, found 1025"]);
}

#[test]
fn a_converted_simgrid_platform_is_a_topology() {
    let platform = include_str!("small-platform.xml");
    let converted = simgrid::convert_platform("small", platform).unwrap();
    let topology = load_text(&converted.toml, &[]).unwrap_or_else(|message| panic!("{message}\n{}", converted.toml));
    let cables = topology.cables.as_ref().unwrap();
    assert_eq!(cables.routes.len(), topology.sites.len() * (topology.sites.len() - 1));
    assert!(cables.links.iter().all(|link| link.duplex == Duplex::Half));
    assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
}

/// Hosts of a platform may have any names; some are reserved in a topology.
#[test]
fn hosts_from_simgrid_do_not_take_names_of_the_run() {
    let names = ["router", "network", "dispatcher", "meta-scheduler", "user", "york"];
    let host = |name: &&str| format!("<host id=\"{name}\" speed=\"1Gf\"/>");
    let hosts: String = names.iter().map(host).collect();
    let link = "<link id=\"l\" bandwidth=\"1GBps\" latency=\"1ms\"/>";
    let ways = names.iter().enumerate().flat_map(|(at, from)| names[at + 1..].iter().map(move |to| (from, to)));
    let route = |(from, to)| format!("<route src=\"{from}\" dst=\"{to}\"><link_ctn id=\"l\"/></route>");
    let routes: String = ways.map(route).collect();
    let platform = format!("<platform><zone id=\"z\" routing=\"Full\">{hosts}{link}{routes}</zone></platform>");
    let toml = simgrid::convert_platform("small", &platform).unwrap().toml;
    let topology = load_text(&toml, &[]).unwrap_or_else(|message| panic!("{message}\n{toml}"));
    let sites: Vec<&str> = topology.sites.iter().map(|site| site.name.as_str()).collect();
    assert_eq!(sites, ["router-2", "network-2", "dispatcher-2", "meta-scheduler-2", "user-2", "york"]);
}

#[test]
fn data_that_would_take_forever_is_refused() {
    let jobs = "tasks = [{ runtime = \"1 min\", cores = 1 }, { runtime = \"1 min\", cores = 1 }]\nedges = [[0, 1, 4000000000000]]\n";
    let text = STAR.replace("tasks = [{ runtime = \"1 min\", cores = 1 }]\n", jobs);
    let message = |settings: &[&str]| {
        let topology = load_text(&text, settings).unwrap();
        let all = hansa_sim::topology::Roster::of_topology(&topology).all();
        hansa_sim::topology::build_actors(&topology, &all).err().map(|error| error.to_string())
    };
    assert_eq!(message(&[]), None);
    let loaded = load_files(&[("grid.toml", text.as_bytes())], &["link.b.capacity=\"1 kbps\""]).unwrap();
    let error = hansa_sim::topology::check_jobs(&loaded.topology).unwrap_err();
    let line = text.lines().position(|line| line == "[[workload]]").unwrap() + 1;
    assert!(
        loaded.error_text(&error).ends_with(&format!("\n --> grid.toml:{line}:1")),
        "{}",
        loaded.error_text(&error)
    );
    let slow = message(&["link.b.capacity=\"1 kbps\""]).unwrap();
    assert_eq!(
        slow,
        "workload.0: job 0: all data up to here would take more than a thousand years over the slowest link"
    );
}

/// A market of two sites with a cable between them, and a job whose last task needs data from both.
const LINKED: &str = r#"name = "linked"
[market]
[[site]]
name = "york"
cores = 1
[[site]]
name = "bath"
cores = 1
[[link]]
name = "cable"
capacity = "1 MB/s"
latency = "250 ms"
between = ["york", "bath"]
[[user]]
name = "alice"
[[workload]]
source = "table"
[[workload.job]]
tasks = [
    { runtime = "10 s", cores = 1 },
    { runtime = "10 s", cores = 1 },
    { runtime = "10 s", cores = 1 },
]
edges = [[0, 2, 10000000], [1, 2, 3000000]]
"#;

/// Log of a run, with seconds, and its table of transfers.
fn play_with_transfers(topology: &Topology) -> (Vec<String>, String) {
    let log = crate::play::play(topology);
    let mut tally = Tally::new(topology, &Names::of(topology));
    log.iter().for_each(|entry| tally.add(entry).unwrap());
    let mut table = String::new();
    let put = |bytes: &[u8]| {
        table.push_str(std::str::from_utf8(bytes).unwrap());
        Ok::<(), ()>(())
    };
    tally.transfers_csv(put).unwrap();
    let seconds = |time: Time| format!("{} s", time.micros() as f64 / 1e6);
    let render_entry = |entry: &Entry<Record>| {
        let what = match &entry.record {
            Record::Sent { edge, bytes, active, .. } | Record::Shipped { edge, bytes, active, .. } => {
                format!("{bytes} B of {edge}, active at {}", seconds(*active))
            }
            Record::Delivered { edge } => format!("{edge} is there"),
            Record::Started { task, .. } => format!("{task} starts"),
            Record::Finished { task } => format!("{task} ends"),
            _ => return None,
        };
        Some(format!("{} {what}", seconds(entry.stamp.time)))
    };
    (log.iter().filter_map(render_entry).collect(), table)
}

#[test]
fn in_a_market_with_links_a_task_waits_for_its_data_on_its_cores() {
    let topology = load_text(LINKED, &[]).unwrap();
    let (story, table) = play_with_transfers(&topology);
    assert_eq!(
        story,
        [
            "0 s 0.0 starts",
            "0 s 0.1 starts",
            "10 s 0.0 ends",
            "10 s 0.1 ends",
            "10 s 3000000 B of 0.1-2, active at 10.25 s",
            "13.25 s 0.1-2 is there",
            "13.25 s 0.2 starts",
            "23.25 s 0.2 ends",
        ]
    );
    let row = "0,1-2,bath,york,3000000,10,10.25,13.25,923076.923,923076.923,1.000";
    assert_eq!(table.lines().nth(1), Some(row));
    let parallel = load_text(LINKED, &["network.model=tcp-parallel"]).unwrap();
    assert!(play_with_transfers(&parallel).0.contains(&"14.25 s 0.1-2 is there".to_owned()));
    assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
}

#[test]
fn the_tasks_of_a_generated_market_write_at_a_rate() {
    let (grid, _) = LINKED.split_once("[[workload]]").unwrap();
    let text = format!("{grid}[[workload]]\nsource = \"market\"\njobs = 4\ncores_max = 1\noutput = \"8 kbps\"\n");
    let topology = load_text(&text, &[]).unwrap();
    assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
    let (_, table) = play_with_transfers(&topology);
    let bytes: Vec<u64> = table.lines().skip(1).map(|row| row.split(',').nth(4).unwrap().parse().unwrap()).collect();
    // 8 kbps are 60 kB per minute, and tasks run for whole minutes.
    assert!(!bytes.is_empty() && bytes.iter().all(|bytes| *bytes > 0 && bytes % 60_000 == 0), "{bytes:?}");

    let unlinked = load_text(
        &text.replace(
            "[[link]]\nname = \"cable\"\ncapacity = \"1 MB/s\"\nlatency = \"250 ms\"\nbetween = [\"york\", \"bath\"]\n",
            "",
        ),
        &[],
    );
    assert!(
        unlinked.unwrap_err().to_string().contains("workload.0.output: data needs links, but this topology has none")
    );
}

#[test]
fn payloads_are_scales() {
    let payload = |text: &str| {
        let topology = load_text(STAR, &[&format!("network.payload={text}")]);
        topology.map(|topology| {
            assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
            topology.cables.unwrap().payload
        })
    };
    let scale = |real, of| Some(Payload { real, of });
    assert_eq!(payload("1 kB per GB").unwrap(), scale(1_000, 1_000_000_000));
    assert_eq!(payload("\"1.5 kB per 3 MB\"").unwrap(), scale(1_500, 3_000_000));
    assert_eq!(payload("0").unwrap(), None);
    assert_eq!(Payload { real: 1_000, of: 1_000_000_000 }.amount(1), 1);
    assert_eq!(Payload { real: 1_000, of: 1_000_000_000 }.amount(2_500_000_000), 2_500);
    for wrong in ["much", "1 kB", "2 kB per kB", "1 per GB", "true", "1 XB per GB"] {
        let diagnostics = payload(wrong).unwrap_err().to_string();
        assert!(diagnostics.contains("network.payload: expected"), "{diagnostics}");
    }
}

#[test]
fn delays_and_links_do_not_go_together() {
    for setting in ["market.ccr=0.1", "market.network=per_cluster"] {
        let diagnostics = load_text(LINKED, &[setting]).unwrap_err().to_string();
        assert!(diagnostics.contains("the links of this topology determine how long transfers take"), "{diagnostics}");
    }
}

#[test]
fn a_workflow_logs_its_transfers_too() {
    let text = LINKED.replace("[market]", "[workflow]\npolicy = \"best-effort\"");
    let slow = text.replace("name = \"bath\"\ncores = 1", "name = \"bath\"\ncores = 1\nspeed = 0.5");
    let (story, _) = play_with_transfers(&load_text(&slow, &[]).unwrap());
    assert_eq!(story[5..], ["23.25 s 0.1-2 is there", "23.25 s 0.2 starts", "33.25 s 0.2 ends"]);
}
