//! Converts SimGrid platforms (XML, version 4 and the tags of version 3) to topologies.
//!
//! Every host becomes a site with its cores and its speed, every link one or two links, every pair of hosts an explicit
//! route. Supported: nested zones (`zone`, `AS`), hosts, routers, links with their sharing, routes between hosts and
//! between zones, clusters with their own links and backbone. Other tags are skipped, with a warning.

mod platform;
mod quantity;
mod reader;
mod write;

use std::collections::BTreeSet;

use roxmltree::{Document, ParsingOptions};

use self::platform::{SimgridPlatform, Zone};
use self::reader::{HOSTS_MAX, PlatformReader, error_at};
use crate::settings::make_printable;

pub use self::reader::Unconvertible;

/// A topology file, and warnings about what it leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    pub toml: String,
    pub warnings: Vec<String>,
}

const NODES_MAX: u32 = 4_000_000;

pub fn convert_platform(name: &str, text: &str) -> Result<Converted, Unconvertible> {
    let options = ParsingOptions { allow_dtd: true, nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let message = error.to_string();
        let message = message.rsplit_once(" at ").map_or(message.as_str(), |(plain, _)| plain).to_owned();
        Unconvertible { line: error.pos().row, column: error.pos().col, message: make_printable(&message) }
    })?;
    let mut reader = PlatformReader {
        document: &document,
        platform: SimgridPlatform::default(),
        passed_over: BTreeSet::new(),
        warnings: Vec::new(),
    };
    let root = document.root_element();
    if root.tag_name().name() != "platform" {
        return Err(reader.unconvertible(root, format!("expected <platform>, found <{}>", root.tag_name().name())));
    }
    reader.platform.zones.push(Zone::default());
    reader.children(root, 0, 0)?;
    let PlatformReader { platform, passed_over, mut warnings, .. } = reader;
    if platform.hosts.is_empty() {
        return Err(error_at(&document, root, "the platform has no hosts"));
    }
    if platform.hosts.len() > HOSTS_MAX {
        let message = format!("expected at most {HOSTS_MAX} hosts, found {}", platform.hosts.len());
        return Err(error_at(&document, root, message));
    }
    warnings.extend(passed_over.into_iter().map(|tag| format!("<{tag}> is ignored")));
    let toml = platform.toml(name, &mut warnings).map_err(|message| error_at(&document, root, message))?;
    Ok(Converted { toml, warnings: warnings.iter().map(|warning| make_printable(warning)).collect() })
}

#[cfg(test)]
mod tests {
    use super::quantity::{RATES, SPEEDS, parse_quantity};
    use super::*;

    const PLATFORM: &str = r#"<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="world" routing="Full">
    <cluster id="bob" prefix="bob-" suffix=".org" radical="0-1" speed="1Gf" core="4" bw="125MBps" lat="50us" bb_bw="2.25GBps" bb_lat="500us"/>
    <zone id="home" routing="Floyd">
      <host id="Tremblay" speed="98.095Mf"><prop id="x" value="y"/></host>
      <host id="Jupiter" speed="2e9,1e9"/>
      <router id="gate"/>
      <link id="1" bandwidth="41.279125MBps" latency="59.904us" sharing_policy="SHARED"/>
      <link id="fat" bandwidth="10Gbps" latency="1ms" sharing_policy="FATPIPE"/>
      <route src="Tremblay" dst="gate"><link_ctn id="1"/></route>
      <route src="gate" dst="Jupiter"><link_ctn id="fat"/></route>
    </zone>
    <link id="wan" bandwidth="1Gbps" latency="10ms" sharing_policy="SPLITDUPLEX"/>
    <zoneRoute src="bob" dst="home" gw_src="bob-bob_router.org" gw_dst="gate"><link_ctn id="wan" direction="UP"/></zoneRoute>
  </zone>
</platform>
"#;

    fn route(toml: &str, from: &str, to: &str) -> String {
        let head = format!("[[route]]\nfrom = {from:?}\nto = {to:?}\nlinks = ");
        let at = toml.find(&head).unwrap_or_else(|| panic!("no route from {from} to {to} in\n{toml}"));
        toml[at + head.len()..].lines().next().unwrap().to_owned()
    }

    #[test]
    fn hosts_links_and_routes_are_found() {
        let Converted { toml, warnings } = convert_platform("Small Platform", PLATFORM).unwrap();
        assert_eq!(warnings, ["<host> <prop> is ignored"]);
        assert!(toml.contains("name = \"small-platform\""), "{toml}");
        assert!(toml.contains("name = \"bob-0-org\"    # bob-0.org\ncores = 4\nspeed = 1\n"), "{toml}");
        assert!(toml.contains("name = \"tremblay\"    # Tremblay\ncores = 1\nspeed = 0.098095\n"), "{toml}");
        assert!(toml.contains("name = \"1\"\ncapacity = \"330233000 bps\"\nlatency = \"60 us\"\n"), "{toml}");
        assert!(
            toml.contains("name = \"fat\"\ncapacity = \"10000000000 bps\"\nlatency = \"1000 us\"\nmode = \"per-flow\"")
        );
        let inside = r#"["bob-link-0-up", "bob-backbone", "bob-link-1-down"]"#;
        assert_eq!(route(&toml, "bob-0-org", "bob-1-org"), inside);
        assert_eq!(route(&toml, "tremblay", "jupiter"), r#"["1", "fat"]"#);
        let out = r#"["bob-link-0-up", "bob-backbone", "wan-up", "fat"]"#;
        assert_eq!(route(&toml, "bob-0-org", "jupiter"), out);
        let back = r#"["1", "wan-down", "bob-backbone", "bob-link-1-down"]"#;
        assert_eq!(route(&toml, "tremblay", "bob-1-org"), back);
    }

    #[test]
    fn errors_have_their_lines() {
        let message = |from: &str, to: &str| {
            assert!(PLATFORM.contains(from), "{from}");
            convert_platform("p", &PLATFORM.replacen(from, to, 1)).unwrap_err().to_string()
        };
        assert_eq!(message("id=\"Jupiter\"", "id=\"Tremblay\""), "8:7: the id `Tremblay` is used twice");
        assert_eq!(message("98.095Mf", "fast"), "7:7: expected a speed such as 1Gf, found `fast`");
        assert_eq!(message("98.095Mf", "0f"), "7:7: expected a speed such as 1Gf, found `0f`");
        assert_eq!(
            message("41.279125MBps", "-1"),
            "10:7: bandwidth: expected one such as 125MBps above zero, found `-1`"
        );
        assert_eq!(
            message("<link_ctn id=\"fat\"/>", "<link_ctn id=\"thin\"/>"),
            "13:39: there is no link with the id `thin`"
        );
        assert_eq!(message("radical=\"0-1\"", "radical=\"0-4000000000\""), "5:5: expected at most 256 hosts");
        assert_eq!(message("radical=\"0-1\"", "radical=\"3-1\""), "5:5: expected a radical such as 0-3,7, found `3-1`");
        assert_eq!(
            message("<route src=\"gate\" dst=\"Jupiter\">", "<route src=\"gate\" dst=\"Juno\">"),
            "3:1: there is no route from `gate` to `Jupiter`"
        );
        assert_eq!(message("gw_dst=\"gate\"", "gw_dst=\"gatt\""), "3:1: there is no host or router `gatt`");
        assert_eq!(convert_platform("p", "<adag/>").unwrap_err().to_string(), "1:1: expected <platform>, found <adag>");
        assert_eq!(convert_platform("p", "<platform/>").unwrap_err().to_string(), "1:1: the platform has no hosts");
        let deep = format!("<platform>{}{}</platform>", zones(100), "</zone>".repeat(100));
        assert!(convert_platform("p", &deep).unwrap_err().to_string().contains("more than 64 deep"));
    }

    #[test]
    fn a_route_may_name_one_direction_of_a_link() {
        let named = |name: &str| {
            let text =
                PLATFORM.replace("<link_ctn id=\"wan\" direction=\"UP\"/>", &format!("<link_ctn id=\"{name}\"/>"));
            route(&convert_platform("p", &text).unwrap().toml, "bob-0-org", "jupiter")
        };
        assert_eq!(named("wan_UP"), r#"["bob-link-0-up", "bob-backbone", "wan-up", "fat"]"#);
        assert_eq!(named("wan_DOWN"), r#"["bob-link-0-up", "bob-backbone", "wan-down", "fat"]"#);
        // The two hosts share one link without directions.
        let shared = PLATFORM.replace("<link_ctn id=\"1\"/>", "<link_ctn id=\"1_UP\"/>");
        assert_eq!(convert_platform("p", &shared).unwrap_err().message, "there is no link with the id `1_UP`");
    }

    #[test]
    fn approximate_conversions_have_their_lines() {
        let tree = "<cluster topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,2\" id=\"bob\"";
        let Converted { warnings, .. } = convert_platform("p", &PLATFORM.replace("<cluster id=\"bob\"", tree)).unwrap();
        assert!(warnings[0].starts_with("line 5: the cluster bob becomes a flat one"), "{warnings:?}");
        assert!(warnings[0].contains("topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,2\""), "{warnings:?}");
    }

    #[test]
    fn a_route_crosses_something() {
        let text = PLATFORM.replace("<link_ctn id=\"fat\"/>", "").replace("<link_ctn id=\"1\"/>", "");
        let message = convert_platform("p", &text).unwrap_err().to_string();
        assert_eq!(message, "3:1: the route from `Tremblay` to `Jupiter` crosses no link");
    }

    /// The largest number of hosts, around a router with shortest paths: it takes no minutes.
    #[test]
    fn a_large_star_is_converted() {
        let host = |number: usize| {
            format!(
                "<host id=\"h{number}\" speed=\"1Gf\"/><link id=\"l{number}\" bandwidth=\"1GBps\"/>\
                 <route src=\"h{number}\" dst=\"r\"><link_ctn id=\"l{number}\"/></route>"
            )
        };
        let hosts: String = (0..HOSTS_MAX).map(host).collect();
        let star = format!("<platform><zone id=\"z\" routing=\"Floyd\"><router id=\"r\"/>{hosts}</zone></platform>");
        let toml = convert_platform("star", &star).unwrap().toml;
        assert_eq!(toml.matches("[[route]]").count(), HOSTS_MAX * (HOSTS_MAX - 1));
        assert_eq!(route(&toml, "h7", "h200"), r#"["l7", "l200"]"#);
    }

    fn zones(count: usize) -> String {
        (0..count).map(|number| format!("<zone id=\"z{number}\" routing=\"Full\">")).collect()
    }

    #[test]
    fn quantities_have_units() {
        assert_eq!(parse_quantity("41.279125MBps", &RATES), Some(41.279125e6));
        assert_eq!(parse_quantity("1e3", &RATES), Some(1e3));
        assert_eq!(parse_quantity("2.5e-1 Gf", &SPEEDS), Some(2.5e8));
        assert_eq!(parse_quantity("1exaflop", &SPEEDS), None);
    }
}
