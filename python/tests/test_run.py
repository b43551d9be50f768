import json
import subprocess
import sys

import hansa
import pandas as pd
import pytest
from hansa._program import check, explain


def test_a_run_is_that_of_the_program(topologies, tmp_path):
    topology, out = str(topologies / "quickstart.toml"), str(tmp_path / "out")
    flags = ["--set", "market.policy=srtf", "--seed", "7", "--out", out]
    subprocess.run([hansa.program(), "run", "--inline", topology, *flags], check=True, capture_output=True)
    there = hansa.load(out)
    here = hansa.run(topology, {"market.policy": "srtf"}, seed=7)
    assert here.digest == there.digest and len(here.digest) == 32
    assert here.summary == there.summary
    pd.testing.assert_frame_equal(here.tasks, there.tasks)
    assert hansa.run(topology, seed=8).digest != here.digest


def test_only_results_can_be_loaded(tmp_path):
    with pytest.raises(hansa.HansaError, match="is not a result folder") as raised:
        hansa.load(tmp_path / "nowhere")
    assert raised.value.code == 2


def test_processes_give_the_same_digest(topologies):
    topology = topologies / "quickstart.toml"
    inline = hansa.run(topology)
    apart = hansa.run(topology, inline=False)
    fewer = hansa.run(topology, processes=2)
    assert inline.digest == apart.digest == fewer.digest
    assert (inline.facts["layout"], apart.facts["layout"]) == ("inline", "processes")


def test_frames_have_what_the_summary_counts(topologies):
    run = hansa.run(topologies / "quickstart.toml")
    assert len(run.jobs) == run.summary["jobs"]["submitted"]
    assert len(run.tasks) == run.summary["tasks"]["submitted"]
    assert len(run.events) == run.summary["entries"]
    finished = run.events[run.events["event"] == "finished"]
    assert len(finished) == run.summary["tasks"]["finished"]
    # "12.3" is no number, and neither are cores.
    assert finished["task"].map(type).eq(str).all() and "." in finished["task"].iloc[0]
    assert run.tasks["allocated_resources"].dropna().map(type).eq(str).all()
    assert run.transfers.empty and run.reservations.empty
    assert run.summary["topology"] in repr(run) and run.digest in repr(run)


def test_tables_of_other_systems(topologies):
    run = hansa.run(topologies / "one-grid.toml")
    assert len(run.transfers) == run.summary["transfers"]["flows"]
    assert set(run.reservations["answer"]) >= {"accepted"}
    batch = hansa.run(topologies / "batch.toml", {"workload.0.jobs": 200})
    assert len(batch.jobs) == 200 and batch.tasks is batch.jobs


def test_a_topology_may_be_text_and_settings_of_all_kinds(topologies):
    text = (topologies / "quickstart.toml").read_text()
    file = hansa.run(topologies / "quickstart.toml", {"site.york.cores": 32, "workload.0.load": 0.9})
    assert hansa.run(text, {"site.york.cores": 32, "workload.0.load": 0.9}).digest == file.digest
    wait = {"workload.0.total_runtime": ["20 min", "100 min"], "market.admission": "on"}
    assert hansa.run(text, wait).digest != file.digest


def test_results_stay_where_they_were_asked_for(topologies, tmp_path):
    run = hansa.run(topologies / "quickstart.toml", out=tmp_path / "here")
    assert run.out == tmp_path / "here"
    page = run.report()
    assert page.read_text().startswith("<!") and not (run.out / "trace.json").exists()
    assert run.report(trace=True) == page and (run.out / "trace.json").exists()
    kept = hansa.run(topologies / "quickstart.toml")
    folder = kept.out
    assert folder.exists() and folder.name == "out"
    del kept
    assert not folder.exists()


def test_what_is_wrong_is_raised_as_the_program_says_it(topologies):
    with pytest.raises(hansa.HansaError, match="did you mean `policy`") as raised:
        hansa.run(topologies / "quickstart.toml", {"market.polcy": "srtf"})
    assert raised.value.code == 2
    with pytest.raises(hansa.HansaError, match="there is no such file"):
        hansa.run("nowhere.toml")


def test_warnings_are_not_what_went_wrong():
    with pytest.raises(hansa.HansaError, match=r"\Ait fails\n  error: why\Z"):
        check(7, "warning: it may fail\nerror: it fails\n  error: why\n")
    with pytest.raises(hansa.HansaError, match=r"\Akilled\Z"):
        check(70, "killed\n")


def test_an_interrupted_run_raises_it(topologies, tmp_path):
    # The signal comes once the run has begun to write, and long before so many jobs can be over.
    code = f"""
import os, pathlib, signal, threading, time, hansa

def interrupt():
    while not any(log.stat().st_size for log in pathlib.Path({str(tmp_path)!r}).glob("*/events.jsonl")):
        time.sleep(0.01)
    os.killpg(0, signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
hansa.run({str(topologies / "market-40.toml")!r}, {{"workload.0.jobs": 4_000_000}}, out={str(tmp_path / "out")!r})
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, start_new_session=True)
    assert ended.returncode != 0 and "KeyboardInterrupt" in ended.stderr
    status = json.loads((tmp_path / "out" / "summary.json").read_text())["results"]["status"]
    assert status.startswith("partial: interrupted")


def test_the_program_is_found_and_python_can_be_it(monkeypatch):
    assert hansa.version().startswith("hansa ")
    said = subprocess.run([sys.executable, "-m", "hansa", "--version"], check=True, capture_output=True, text=True)
    assert said.stdout.strip() == hansa.version()
    monkeypatch.setenv("HANSA_PROGRAM", "/bin/false")
    assert hansa.program() == "/bin/false"
    with pytest.raises(hansa.HansaError, match="ended with 1"):
        hansa.run("x.toml")


def test_errors_speak_of_the_call():
    """Not of the command line, of files that the module wrote, or of each key that one object sets."""
    told = (
        "site.york.scheduler: expected `fcfs`, found `external`\n  --> the command line\n  = did you mean `easy`?"
        "\n\nerror: site.york.scheduler.command: no such key\n  --> the command line"
        "\n\nerror: market.policy: no such policy\n  --> /tmp/hansa-1/sweep.toml:3:4"
    )
    error = hansa.HansaError(told, 2)
    keys = {"site.york.scheduler", "site.york.scheduler.command"}
    explained = explain(error, keys, "/tmp/hansa-1/sweep.toml")
    assert str(explained) == (
        "site.york.scheduler: expected `fcfs`, found `external`\n  --> the object for site.york\n  = did you mean `easy`?"
        "\n\nerror: market.policy: no such policy\n  --> the arguments of the call"
    )
    assert explained.code == 2
    assert "the command line" not in str(explain(hansa.HansaError("x: wrong\n --> the command line", 2)))


class Slow(hansa.Bidder):
    def bid(self, *_):
        raise AssertionError("nobody asks it")


@pytest.mark.parametrize("dies", ["kill -9 $$", "exec 1>&- 2>&-; kill -15 $$", "echo half a >&2; kill -6 $$", "exit 101"])
def test_a_program_that_dies_is_an_error(dies, topologies, tmp_path, monkeypatch):
    program = tmp_path / "hansa"
    program.write_text(f"#!/bin/sh\n{dies}\n")
    program.chmod(0o755)
    monkeypatch.setenv("HANSA_PROGRAM", str(program))
    signal = {"kill -9 $$": "SIGKILL", "exec 1>&- 2>&-; kill -15 $$": "SIGTERM", "echo half a >&2; kill -6 $$": "SIGABRT"}.get(dies)
    for talks in ({}, {"bidder": Slow()}):
        with pytest.raises(hansa.HansaError) as raised:
            hansa.run("name = 'x'\n[market]\n", **talks)
        assert raised.value.code != 0
        if signal is not None:
            assert f"hansa was ended by a signal: {signal}" in str(raised.value)


def test_a_notebook_links_to_the_page(topologies, tmp_path, monkeypatch):
    out = tmp_path / "a <b>"
    run = hansa.run(topologies / "three-sites.toml", out=out)
    assert "report() writes a page" in run._repr_html_() and "<a " not in run._repr_html_()
    run.report()
    assert f'<a href="{out.as_uri()}/report.html"' in run._repr_html_()
    monkeypatch.chdir(tmp_path)
    assert '<a href="a%20%3Cb%3E/report.html"' in hansa.load("a <b>")._repr_html_()
