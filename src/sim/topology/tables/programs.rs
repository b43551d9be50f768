//! Keys `command`, `socket` and `timeout`: an external program that decides for a site or for a user.

use crate::grid::{Endpoint, Program, SlurmCluster};
use crate::settings::{
    Field, Form, Layout, POSITIVE_SPAN, Purpose, SPAN, Shape, Text, Unless, Walk, command_form, key, quote_text,
};
use crate::systems::managers::ProgramProtocol;
use crate::time::Span;

const COMMAND: &str = "a program and its arguments, such as [\"python3\", \"manager.py\"]";
const BATSIM_COMMAND: &str =
    "a program and its arguments, such as [\"pybatsim\", \"easyBackfill\", \"-s\", \"{socket}\"]";
const SOCKET: &str = "where a scheduler listens, such as \"tcp://127.0.0.1:28000\" or \"ipc:///tmp/sched.sock\"";

/// Placeholder in a command for the socket that is made for the program, and for the name of its site.
pub const SOCKET_WORD: &str = "{socket}";

/// Parts of a program's description that are missing or uncertain.
#[derive(Clone, Copy)]
pub struct ProgramGaps {
    /// True if the scheduler has an error, which has already been reported.
    pub is_lost: bool,
    /// True for defaults, which sites and users may complete.
    pub defaults: bool,
    /// True if a program could decide here, though none does.
    pub could: bool,
}

/// Walks the program that decides for a site, if there is one. The keys may stay while another scheduler is chosen, as
/// in a comparison of both.
pub fn walk_program(program: &mut Program, protocol: Option<ProgramProtocol>, open: ProgramGaps, w: &mut dyn Walk) {
    let batsim = protocol == Some(ProgramProtocol::Batsim);
    let listed = open.is_lost || w.walk_purpose() == Purpose::List;
    let slurm = protocol == Some(ProgramProtocol::Slurm);
    let stays = listed || open.could && w.reads();
    let fits = protocol.is_some() && !slurm || stays;
    let why = "expected a scheduler = \"external\" or \"batsim\" beside it";
    walk_command(program, fits, why, w);
    let only = "expected a scheduler = \"batsim\" beside it: others are talked to over their standard input and output";
    let socket = key("socket", "the address at which a scheduler of Batsim's listens")
        .only_if(batsim || listed, only)
        .usual("nowhere");
    w.set(socket, &mut program.socket, Unless(SocketForm, String::new()));
    walk_timeout(program, fits, why, w);
    walk_slurm(&mut program.slurm, slurm || stays, w);
    let Some(fields) = w.written_fields().filter(|_| !open.defaults) else { return };
    let has_socket_word = program.command.iter().any(|word| word.contains(SOCKET_WORD));
    match protocol {
        Some(ProgramProtocol::Lines) if program.command.is_empty() => fields.missing("command", COMMAND),
        // An error of the socket has already been reported.
        Some(ProgramProtocol::Batsim) if fields.get("socket").is_some() && program.socket.is_empty() => {}
        Some(ProgramProtocol::Batsim) if program.command.is_empty() && program.socket.is_empty() => {
            fields.missing("command", &format!("{BATSIM_COMMAND}, or a `socket`"));
        }
        Some(ProgramProtocol::Batsim)
            if !program.command.is_empty() && has_socket_word != program.socket.is_empty() =>
        {
            let text = match has_socket_word {
                true => {
                    "expected either a `socket`, or {socket} in the command (the address of a socket that Hansa makes), not both"
                }
                false => {
                    "expected {socket} in one of its arguments (it is replaced by the address to listen on), or a `socket`"
                }
            };
            match fields.get("command") {
                Some(field) => field.complain(text),
                None => fields.complain(text.to_owned()),
            }
        }
        _ => {}
    }
}

fn walk_slurm(slurm: &mut SlurmCluster, fits: bool, w: &mut dyn Walk) {
    let about = "the cluster of a site that a real Slurm manages (docs/slurm.md)";
    let its = key("slurm", about).only_if(fits, "expected a scheduler = \"slurm\" beside it").usual("a node a core");
    let mut written = (*slurm != SlurmCluster::default()).then(|| slurm.clone());
    w.maybe(its, Layout::Inline, &mut written, SlurmCluster::default, |slurm, w| {
        let site = key("site", "the folder of a site's own slurm.conf, gres.conf, topology.conf and sacctmgr.script");
        w.set(site.usual("none"), &mut slurm.site, Unless(Text(SITE), String::new()));
        let has_site = !slurm.site.is_empty() || w.walk_purpose() == Purpose::List;
        let accounts = key("accounts", "the script, or dump, of sacctmgr with the accounts, users and QOS of the site");
        let accounts =
            accounts.only_if(has_site, "expected `site` beside it").usual("sacctmgr.script in `site`, if any");
        w.set(accounts, &mut slurm.accounts, Unless(Text(SCRIPT), String::new()));
        let about = "the user of the site to whom jobs belong whose own user it does not know";
        let unknown = key("unknown_users", about).only_if(has_site, "expected `site` beside it");
        let unknown = unknown.usual("none: such a job is an error");
        w.set(unknown, &mut slurm.unknown_users, Unless(Text(USER), String::new()));
        let alike = slurm.site.is_empty() || w.walk_purpose() == Purpose::List;
        let nodes = key("nodes", "the number of its nodes, which share the cores of the site equally");
        let most = SlurmCluster::NODES_MAX;
        let nodes = nodes.only_if(alike, "leave nodes out: slurm.conf of `site` has them");
        w.set(nodes.usual("a node a core"), &mut slurm.nodes, Unless(1..=most, 0));
        let conf = key("conf", "a file with lines for its slurm.conf, beside the topology");
        w.set(conf.usual("none"), &mut slurm.conf, Unless(Text(CONF), String::new()));
        let about = "a file with lines that replace those of `conf` with the same key, or for the same partition";
        let change = key("change", about);
        w.set(change.usual("none"), &mut slurm.change, Unless(Text(CONF), String::new()));
        let charge = key("charge", "the virtual time that a reading of the clock takes Slurm's programs");
        w.set(charge.usual("none"), &mut slurm.charge, Unless(SPAN, Span::ZERO));
        if let Some(field) = w.written_fields().and_then(|fields| fields.get("charge"))
            && slurm.charge > SlurmCluster::CHARGE_MAX
        {
            field.complain(format!("expected at most {}: {CHARGE_BOUND}", SlurmCluster::CHARGE_MAX));
        }
        let programs = key("programs", "the folder of slurmctld, slurmd, sbatch and their kin");
        w.set(programs.usual("`PATH`, /usr/sbin and /sbin"), &mut slurm.programs, Unless(Text(FOLDER), String::new()));
    });
    *slurm = written.unwrap_or_default();
}

const SITE: &str = "the path of a folder, such as \"site/\"";
const SCRIPT: &str = "the path of a file, such as \"sacctmgr.script\"";
const USER: &str = "the name of a user of the site";
const CONF: &str = "the path of a file, such as \"extra.conf\"";
const CHARGE_BOUND: &str = "a submission takes hundreds of readings, and with 10 ms each sbatch gives up \
                            waiting for slurmctld";
const FOLDER: &str = "the path of a folder, such as \"/opt/slurm/sbin\"";

/// Walks the program that decides for a user, if there is one; its keys may stay, too.
pub fn walk_planner(program: &mut Program, is_external: bool, could_be: bool, defaults: bool, w: &mut dyn Walk) {
    let fits = is_external || w.walk_purpose() == Purpose::List || could_be && w.reads();
    let why = "expected a planner = \"external\" beside it";
    walk_command(program, fits, why, w);
    walk_timeout(program, fits, why, w);
    match w.written_fields() {
        Some(fields) if is_external && !defaults && program.command.is_empty() => fields.missing("command", COMMAND),
        _ => {}
    }
    if w.reads() && !is_external {
        *program = Program::default();
    }
}

fn walk_command(program: &mut Program, fits: bool, why: &'static str, w: &mut dyn Walk) {
    let about = "the external program that decides, with its arguments";
    let form = Unless(command_form(COMMAND), Vec::new());
    w.set(key("command", about).only_if(fits, why).usual("none"), &mut program.command, form);
}

fn walk_timeout(program: &mut Program, fits: bool, why: &'static str, w: &mut dyn Walk) {
    let timeout = key("timeout", "the time that it has to answer, in real time").only_if(fits, why);
    w.set(timeout, &mut program.timeout, POSITIVE_SPAN);
}

/// Form of the socket on which a scheduler listens.
struct SocketForm;

impl Form<String> for SocketForm {
    fn read_value(&self, field: &Field<'_>) -> Option<String> {
        let text = field.text(SOCKET)?;
        match Endpoint::parse(text) {
            Some(_) => Some(text.to_owned()),
            None => field.report_wrong(SOCKET),
        }
    }

    fn toml_text(&self, value: &String) -> Option<String> {
        Some(quote_text(value))
    }

    fn value_shape(&self) -> Shape {
        let pattern = Some(r"^(tcp://[^*\s]+:[0-9]+|ipc://.+)$");
        Shape::Text { what: SOCKET, pattern, example: "tcp://127.0.0.1:28000" }
    }
}
