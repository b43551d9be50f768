//! Workflow files: meaning of valid ones, and errors of invalid ones.

use super::*;
use crate::grid::Edge;

fn workflow(text: &str) -> Workflow {
    match read_workflow("flows/small.json.gz", text.as_bytes()) {
        Ok(WorkflowFile::Workflow(workflow)) => workflow,
        Ok(WorkflowFile::Table(_)) => panic!("this is a table"),
        Err(error) => panic!("{}", error.of("small")),
    }
}

fn diagnostic(text: &str) -> String {
    read_workflow("dir/bad", text.as_bytes()).unwrap_err().of("bad")
}

fn edges(workflow: &Workflow) -> Vec<(&str, &str, u64)> {
    let name = |task: u32| workflow.tasks[task as usize].name.as_str();
    workflow.edges.iter().map(|Edge { from, to, data }| (name(*from), name(*to), *data)).collect()
}

fn tasks(workflow: &Workflow) -> Vec<(&str, u64, u32)> {
    workflow.tasks.iter().map(|task| (task.name.as_str(), task.work.micros(), task.cores)).collect()
}

const V13: &str = r#"{
    "name": "split-and-join", "schemaVersion": "1.3",
    "workflow": { "makespan": 30, "executedAt": "x", "machines": [{"nodeName": "n", "memory": 64}],
        "tasks": [
            {"name": "split_ID1", "id": "ID1", "type": "compute", "runtime": 1.5, "parents": [], "memory": 7,
             "files": [{"name": "raw", "size": 900, "link": "input"}, {"name": "part", "size": 304, "link": "output"}]},
            {"name": "join", "id": "ID2", "type": "compute", "runtime": 2, "cores": 4, "parents": ["split_ID1"],
             "files": [{"name": "part", "size": 305, "link": "input"}]},
            {"name": "log", "type": "auxiliary", "runtime": 0, "parents": ["ID1"], "files": []}
        ]}}"#;

#[test]
fn wfformat_1_3_counts_seconds_and_bytes() {
    let read = workflow(V13);
    assert_eq!(read.name, "split-and-join");
    assert_eq!(tasks(&read), [("split_ID1", 1_500_000, 1), ("join_ID2", 2_000_000, 4), ("log", 0, 1)]);
    assert_eq!(edges(&read), [("split_ID1", "join_ID2", 304), ("split_ID1", "log", 0)]);
}

#[test]
fn wfformat_1_4_has_its_units_in_its_keys() {
    let text = V13.replace("1.3", "1.4").replace("\"runtime\"", "\"runtimeInSeconds\"");
    let text = text.replace("\"size\"", "\"sizeInBytes\"");
    assert_eq!(workflow(&text), workflow(V13));
}

const V15: &str = r#"{
    "name": "chain", "schemaVersion": "1.5", "workflow": {
        "specification": {
            "tasks": [
                {"name": "c", "id": "c", "parents": ["a"], "children": [], "inputFiles": ["x", "y"], "outputFiles": []},
                {"name": "a", "id": "a", "parents": [], "children": ["b"], "inputFiles": [], "outputFiles": ["x"]},
                {"name": "b", "id": "b", "parents": ["a"], "children": [], "inputFiles": ["x"], "outputFiles": ["y"]}
            ],
            "files": [{"id": "x", "sizeInBytes": 10}, {"id": "y", "sizeInBytes": 1e3}]
        },
        "execution": {"makespanInSeconds": 9, "executedAt": "x", "tasks": [
            {"id": "b", "runtimeInSeconds": 2.0000004}, {"id": "a", "runtimeInSeconds": 1, "coreCount": 2.0},
            {"id": "c", "runtimeInSeconds": 3}]}
    }}"#;

/// The edge from b to c follows from the file y alone.
#[test]
fn wfformat_1_5_separates_the_workflow_from_its_execution() {
    let read = workflow(V15);
    assert_eq!(tasks(&read), [("a", 1_000_000, 2), ("b", 2_000_000, 1), ("c", 3_000_000, 1)]);
    assert_eq!(edges(&read), [("a", "b", 10), ("a", "c", 10), ("b", "c", 1000)]);
    assert_eq!(workflow(&V15.replace("1.5", "1.6")), read);
}

#[test]
fn errors_of_wfformat_are_reported_with_their_location() {
    let message = |from: &str, to: &str| diagnostic(&V15.replacen(from, to, 1));
    assert_eq!(message("1.5", "2.0"), "bad: schemaVersion: expected 1.3, 1.4, 1.5 or 1.6, found `2.0`");
    assert_eq!(message("{", "{ {"), "bad:1:3: key must be a string");
    assert_eq!(
        message("\"parents\": [\"a\"]", "\"parents\": 7"),
        "bad:5:53: invalid type: integer `7`, expected a sequence"
    );
    assert_eq!(
        message("\"parents\": [\"a\"]", "\"parents\": [\"A\"]"),
        "bad: workflow.specification.tasks[0].parents[0]: no task is called `A`; did you mean `a`?"
    );
    assert_eq!(
        message("\"id\": \"y\", \"sizeInBytes\": 1e3", "\"id\": \"y\""),
        "bad: workflow.specification.files[1].sizeInBytes: expected the file's size in bytes"
    );
    assert_eq!(
        message("{\"id\": \"y\", \"sizeInBytes\": 1e3}", "{\"id\": \"z\", \"sizeInBytes\": 1e3}"),
        "bad: workflow.specification.tasks[0].inputFiles[1]: workflow.specification.files does not list the file `y`"
    );
    assert_eq!(
        message("\"id\": \"y\"", "\"id\": \"x\""),
        "bad: workflow.specification.files[1].id: the file `x` is listed twice"
    );
    assert_eq!(
        message("1e3", "1e300"),
        "bad: workflow.specification.files[1].sizeInBytes: expected a size of at most 2^53 bytes, some 9 PB"
    );
    assert_eq!(message("1e3", "1e3000"), "bad:9:87: number out of range");
    assert_eq!(
        message("\"sizeInBytes\": 10", "\"sizeInBytes\": -1"),
        "bad: workflow.specification.files[0].sizeInBytes: expected a size that is finite and not negative"
    );
    assert_eq!(
        message("\"runtimeInSeconds\": 3", "\"runtimeInSeconds\": 1e15"),
        "bad: workflow.execution.tasks[2].runtimeInSeconds: expected a time of at most 2^53 microseconds, some 285 years"
    );
    assert_eq!(
        message("{\"id\": \"c\", \"runtimeInSeconds\": 3}", "{\"id\": \"b\", \"runtimeInSeconds\": 3}"),
        "bad: workflow.execution.tasks[2].id: the task `b` is listed twice"
    );
    assert_eq!(
        message(",\n            {\"id\": \"c\", \"runtimeInSeconds\": 3}", ""),
        "bad: workflow.specification.tasks[0]: `c` has no run time: workflow.execution.tasks does not name it"
    );
    assert_eq!(
        message("\"name\": \"b\", \"id\": \"b\"", "\"name\": \"b\", \"id\": \"a\""),
        "bad: workflow.specification.tasks[2]: two tasks have the id `a`"
    );
    assert_eq!(
        message("\"id\": \"a\", \"parents\": []", "\"id\": \"a\", \"parents\": [\"c\"]"),
        "bad: workflow.specification: tasks wait for each other in a cycle: a -> c -> a"
    );
    assert_eq!(
        message("2.0}", "0}"),
        "bad: workflow.execution.tasks[1].coreCount: expected a number of cores from 1 to 2^32 - 1"
    );

    let message = |from: &str, to: &str| diagnostic(&V13.replacen(from, to, 1));
    assert_eq!(
        message("\"size\": 305, ", ""),
        "bad: workflow.tasks[1].files[0].size: expected the file's size in bytes"
    );
    assert_eq!(
        message("\"runtime\": 2, ", ""),
        "bad: workflow.tasks[1].runtime: expected the task's run time in seconds"
    );
    assert_eq!(
        message("\"link\": \"input\"", "\"link\": \"both\""),
        "bad: workflow.tasks[0].files[0].link: expected `input` or `output`, found `both`"
    );
}

#[test]
fn a_written_workflow_keeps_its_meaning() {
    use crate::grid::{Kind, Step};
    use crate::time::Span;
    use crate::workload::Train;
    use crate::workload::layered::{Costs, Generator, Shape};

    for seed in 0..20 {
        let costs = Costs {
            runtime: (Span::from_micros(1), Span::from_secs(40)),
            ccr_millionths: seed * 100_000,
            bandwidth: 100_000_000,
        };
        let shape = Shape { tasks: 30, fat: 0.7, density: 0.4, regularity: 0.5, jump: 3 };
        let generator = Generator { seed, train: Train::ONE, shape, costs, kind: Kind(0) };
        let drawn = generator.workflow(0).unwrap();
        assert_eq!(workflow(&write::write_dot(&drawn)), drawn);
        assert_eq!(workflow(&write::write_wfformat(&drawn)), drawn);
    }
    let step = |name: &str, cores| Step { name: name.to_owned(), work: Span::from_micros(1_500_001), cores };
    let steps = vec![step("first one", 3), step("2", 1)];
    let wide = Workflow::new("w".to_owned(), steps, vec![Edge { from: 0, to: 1, data: 0 }]).unwrap();
    assert_eq!(workflow(&write::write_wfformat(&wide)), wide);
}

#[test]
fn deep_nesting_is_an_error_and_no_crash() {
    for open in ["[", "{\"a\":"] {
        let text = format!("{{\"schemaVersion\": \"1.5\", \"workflow\": {}", open.repeat(1_000_000));
        assert!(diagnostic(&text).starts_with("bad:1:"), "{}", diagnostic(&text));
    }
    let text = format!("{}x", "<a>".repeat(100_000));
    assert!(diagnostic(&text).starts_with("bad:1:"), "{}", diagnostic(&text));
}

const DAX: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE adag>
<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" name="test">
  <job id="A" name="first" runtime="13.39">
    <uses file="in" link="input" size="304"/>
    <uses file="mid" link="output" size="1000"/>
  </job>
  <job id="B" runtime="0.5">
    <profile namespace="pegasus" key="cores">2</profile>
    <uses file="mid" link="input" size="1007"/>
  </job>
  <job id="C" name="last"><profile namespace="pegasus" key="runtime">2</profile></job>
  <child ref="B"><parent ref="A"/></child>
  <child ref="C"><parent ref="A"/><parent ref="B"/></child>
</adag>
"#;

/// Tasks disagree on the size of `mid`: that of its writer counts.
#[test]
fn dax_has_dependencies_by_file_and_by_name() {
    let read = workflow(DAX);
    assert_eq!(read.name, "small");
    assert_eq!(tasks(&read), [("first_A", 13_390_000, 1), ("B", 500_000, 2), ("last_C", 2_000_000, 1)]);
    assert_eq!(edges(&read), [("first_A", "B", 1000), ("first_A", "last_C", 0), ("B", "last_C", 0)]);
}

#[test]
fn errors_of_dax_are_reported_with_their_line() {
    let message = |from: &str, to: &str| diagnostic(&DAX.replacen(from, to, 1));
    assert_eq!(message("id=\"B\"", "id=\"A\""), "bad:8:3: two jobs have the id `A`");
    assert_eq!(message(" runtime=\"0.5\"", ""), "bad:8:3: expected an attribute `runtime` of <job>, in seconds");
    assert_eq!(message("0.5", "soon"), "bad:8:3: runtime: expected a number, found `soon`");
    assert_eq!(message("0.5", "-1"), "bad:8:3: runtime: expected a time that is finite and not negative");
    assert_eq!(message("0.5", "nan"), "bad:8:3: runtime: expected a time that is finite and not negative");
    assert_eq!(message(" size=\"1007\"", ""), "bad:10:5: expected an attribute `size` of <uses>");
    assert_eq!(message("1007", "1e99"), "bad:10:5: size: expected a size of at most 2^53 bytes, some 9 PB");
    assert_eq!(message("<child ref=\"B\">", "<child ref=\"D\">"), "bad:13:3: no job has the id `D`");
    assert_eq!(
        message("<parent ref=\"B\"/>", "<parent ref=\"C\"/>"),
        "bad:12:3: tasks wait for each other in a cycle: last_C -> last_C"
    );
    assert_eq!(message("</adag>", ""), "bad:1:1: the root node was opened but never closed");
    assert_eq!(diagnostic("<platform/>"), "bad:1:1: expected <adag>, found <platform>");
}

/// A billion laughs, and an entity that contains itself.
#[test]
fn entity_bombs_are_errors() {
    let mut bomb = "<?xml version=\"1.0\"?>\n<!DOCTYPE adag [\n<!ENTITY e0 \"ha\">\n".to_owned();
    for level in 1..12 {
        let again = format!("&e{};", level - 1).repeat(10);
        bomb.push_str(&format!("<!ENTITY e{level} \"{again}\">\n"));
    }
    bomb.push_str("]>\n<adag>&e11;</adag>");
    assert!(diagnostic(&bomb).contains("entity"), "{}", diagnostic(&bomb));
    let own = "<!DOCTYPE adag [ <!ENTITY e \"&e;\"> ]><adag>&e;</adag>";
    assert!(diagnostic(own).contains("entity"), "{}", diagnostic(own));
}

#[test]
fn dot_counts_operations_and_bytes() {
    let text = "// daggen n=3\ndigraph G {\n  1 [size=\"1413309989\", alpha=\"0.07\"]\n  1 -> 2 [size =\"33554432\"]\n  \
                2 [size=\"2.5e+09\"];\n 1 -> end [size=\"1.000000e-12\"]\n /* no\nwork */ end [size=\"0\"]\n}\n";
    let read = workflow(text);
    assert_eq!(read.name, "small");
    assert_eq!(tasks(&read), [("1", 1_413_310, 1), ("2", 2_500_000, 1), ("end", 0, 1)]);
    assert_eq!(edges(&read), [("1", "2", 33_554_432), ("1", "end", 0)]);
    let twice = workflow("digraph { a [size=1] b [size=1] a -> b [size=7] a -> b [size=7] }");
    assert_eq!(edges(&twice), [("a", "b", 7)]);
    let chain = workflow(
        "strict digraph { rankdir=LR; node [shape=box]; a [size=1e9] b [size=2e9]\nc [size=3] a -> b -> c [size=7] }",
    );
    assert_eq!(edges(&chain), [("a", "b", 7), ("b", "c", 7)]);
    let keywords = workflow(
        "digraph { \"node\" [size=1e9] \"subgraph\" [size=2e9] edge [size=3] \"node\" -> \"subgraph\" [size=7] }",
    );
    assert_eq!(tasks(&keywords), [("node", 1_000_000, 1), ("subgraph", 2_000_000, 1)]);
    assert_eq!(edges(&keywords), [("node", "subgraph", 7)]);
}

#[test]
fn errors_of_dot_are_reported_with_their_line() {
    let message = |text: &str| diagnostic(text);
    assert_eq!(
        message(""),
        "bad: the file is empty: expected a workflow: WfFormat or a table of costs (JSON), DAX (XML) or DOT"
    );
    assert_eq!(message(&"[".repeat(1_000_000)), "bad: expected an object of WfFormat, found a list");
    let kinds = "a workflow: WfFormat or a table of costs (JSON), DAX (XML) or DOT";
    assert_eq!(message("hello"), format!("bad:1:1: expected {kinds}, found `hello`"));
    assert_eq!(message("; Version: 2\n"), format!("bad:1:1: expected {kinds}, found a log of jobs (SWF)"));
    let topology = "# A grid of one site.\n\nname = \"one\"\n";
    assert_eq!(message(topology), format!("bad:1:1: expected {kinds}, found TOML"));
    assert_eq!(message("// a\n/* b\n */ # c"), format!("bad:1:1: expected {kinds}, found only comments"));
    assert_eq!(message("name = \"x\"\n"), format!("bad:1:1: expected {kinds}, found TOML"));
    assert_eq!(message("graph {}"), "bad:1:1: expected `digraph`, found `graph`");
    assert_eq!(message("digraph {}"), "bad: the workflow has no tasks");
    assert_eq!(
        message("digraph {\n a [size=1]\n"),
        "bad:3:1: expected a node, an edge or `}`, found the end of the file"
    );
    assert_eq!(
        message("digraph {\n a [size=1]\n a -> b [size=2]\n}"),
        "bad:3:7: node `b` has no size, its number of operations"
    );
    assert_eq!(message("digraph { a [size=1]\n b [size=1]\n a -> b\n}"), "bad:3:2: this edge has no size, in bytes");
    assert_eq!(message("digraph {\n a [size=x]\n}"), "bad:2:10: expected a number, found `x`");
    assert_eq!(message("digraph {\n a [size=\"1]\n}"), "bad:2:10: this quote is never closed");
    assert_eq!(message("digraph {\n a [size=1] a [size=2]\n}"), "bad:2:13: node `a` has two sizes");
    assert_eq!(
        message("digraph {\n a [size=1] b [size=1] a -> b [size=1]\n a -> b [size=2]\n}"),
        "bad:3:2: this edge is given twice, with different sizes"
    );
    assert_eq!(
        message("digraph { a [size=1] b [size=1] a -> b [size=1] b -> a [size=1] }"),
        "bad:1:11: tasks wait for each other in a cycle: a -> b -> a"
    );
    assert_eq!(
        message("digraph { a [size=1e99] }"),
        "bad:1:11: node `a`: expected a finite size that is not negative, below 9e24 operations"
    );
    assert_eq!(
        message("digraph { a [size=1] } b"),
        "bad:1:24: expected nothing after the `}` that ends the graph, found `b`"
    );
    assert_eq!(message("digraph { a:b [size=1] }"), "bad:1:12: expected a node, an edge or `}`");
}

#[test]
fn cost_tables_keep_the_order_of_the_file() {
    let text = r#"{"source": "x", "compute": {"10": [1, 2], "2": [3, 4], "1": [5, 6]}, "edges": [[10, 2, 7.5], ["1", 10, 8]]}"#;
    let Ok(WorkflowFile::Table(table)) = read_workflow("t", text.as_bytes()) else { panic!("expected a table") };
    assert_eq!(table.names, ["1", "10", "2"]);
    assert_eq!(table.run, [[5.0, 6.0], [1.0, 2.0], [3.0, 4.0]]);
    assert_eq!(table.edges, [(0, 1, 8.0), (1, 2, 7.5)]);
    let message = |from: &str, to: &str| diagnostic(&text.replacen(from, to, 1));
    assert_eq!(message("[3, 4]", "[3]"), "bad: compute.2: expected 2 times, one per processor, found 1");
    assert_eq!(message("[3, 4]", "[3, 0]"), "bad: compute.2: expected times above 0 and up to 1000000000");
    assert_eq!(message("7.5", "-1"), "bad: edges[0]: expected a time from 0 to 1000000000");
    assert_eq!(message("[10, 2, 7.5]", "[10, 3, 7.5]"), "bad: edges[0]: no task is called `3`");
}

/// As in Montage, where every task that fits a difference writes `fit.txt`.
#[test]
fn a_file_with_many_writers_comes_from_the_dependencies_of_its_reader() {
    let writer =
        |task: u32| format!("<job id=\"w{task}\" runtime=\"1\"><uses file=\"f\" link=\"output\" size=\"100\"/></job>");
    let writers: String = (0..40).map(writer).collect();
    let reader = "<job id=\"r\" runtime=\"1\"><uses file=\"f\" link=\"input\" size=\"100\"/></job>";
    let waits = "<child ref=\"r\"><parent ref=\"w3\"/><parent ref=\"w39\"/></child>";
    let Ok(WorkflowFile::Workflow(workflow)) =
        read_workflow("f.dax", format!("<adag>{writers}{reader}{waits}</adag>").as_bytes())
    else {
        panic!("it is a workflow")
    };
    let edges: Vec<_> = workflow.edges.iter().map(|edge| (edge.from, edge.to, edge.data)).collect();
    assert_eq!(edges, [(3, 40, 100), (39, 40, 100)]);
}

#[test]
fn errors_contain_no_control_characters_of_the_file() {
    for text in ["\u{1b}[2J", "digraph { a [size=\"\u{7}\"] }", "{ \"schemaVersion\": \"\\u001b\" }"] {
        let message = diagnostic(text);
        assert!(!message.chars().any(char::is_control), "{message:?}");
    }
}
