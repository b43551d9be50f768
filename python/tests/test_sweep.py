import re
import sys

import hansa
import numpy as np
import pytest


class Shortest(hansa.Scheduler):
    """Starts all jobs that fit, the shortest first."""

    asked = 0

    def decide(self):
        self.asked += 1
        for job in sorted(self.waiting.values(), key=lambda job: (job.walltime, job.job)):
            if job.nodes <= len(self.free):
                self.start(job)


def test_rows_are_those_of_single_runs(topologies):
    topology = topologies / "market-40.toml"
    sweep = hansa.sweep(
        topology,
        vary={"seed": [1, 2], "market.policy": ["fifo", "srtf"]},
        set={"workload.0.jobs": 30},
        metrics=["value", "starved"],
    )
    runs = sweep.runs
    assert list(runs.columns) == ["run", "seed", "market.policy", "value", "starved", "digest"]
    assert list(runs["market.policy"]) == ["fifo", "srtf", "fifo", "srtf"]
    one = hansa.run(topology, {"workload.0.jobs": 30, "market.policy": "srtf"}, seed=2)
    assert runs["digest"].iloc[3] == one.digest
    assert runs["value"].iloc[3] == one.summary["value"]["proportion"]


def test_values_may_be_numbers_of_numpy(topologies):
    loads, seeds = np.linspace(0.5, 1.0, 2), np.arange(1, 3)
    sweep = hansa.sweep(
        topologies / "market-40.toml",
        vary={"seed": seeds, "workload.0.load": loads},
        set={"workload.0.jobs": np.int64(20)},
        metrics=["jobs"],
    )
    assert list(sweep.runs["seed"]) == [1, 1, 2, 2]
    assert list(sweep.runs["workload.0.load"]) == [0.5, 1.0, 0.5, 1.0]
    assert list(sweep.runs["jobs"]) == [20] * 4
    one = hansa.run(topologies / "market-40.toml", {"workload.0.load": np.float32(0.5), "workload.0.jobs": 20}, seed=seeds[0])
    assert one.digest == sweep.runs["digest"].iloc[0]


def test_objects_decide_in_every_run_of_a_sweep(topologies):
    topology, fewer = topologies / "foreign-site.toml", {"workload.0.jobs": 40, "user.alice.planner": "script"}
    york = Shortest()
    sweep = hansa.sweep(
        topology,
        vary={"seed": [1, 2, 3], "site.york.scheduler": ["easy", "external"]},
        set=fewer,
        scheduler={"york": york},
    )
    assert york.asked == 0, "each run has a copy"
    digests = dict(zip(zip(sweep.runs["seed"], sweep.runs["site.york.scheduler"]), sweep.runs["digest"]))
    assert digests[1, "easy"] != digests[1, "external"]
    assert digests[2, "external"] == hansa.run(topology, fewer, seed=2, scheduler={"york": york}).digest
    assert digests[3, "easy"] == hansa.run(topology, {**fewer, "site.york.scheduler": "easy"}, seed=3).digest
    assert york.asked > 0


def test_a_bidder_bids_in_every_run_of_a_sweep(topologies, tmp_path):
    class Srtf(hansa.Bidder):
        def bid(self, task, now):
            return -task.rank

    topology, fewer = topologies / "market-40.toml", {"workload.0.jobs": 30}
    for _ in range(2):
        mine = hansa.sweep(topology, vary={"seed": [1, 2]}, set=fewer, bidder=Srtf(), out=tmp_path / "mine")
    ours = hansa.sweep(topology, vary={"seed": [1, 2]}, set={**fewer, "market.policy": "srtf"})
    assert list(mine.runs["digest"]) == list(ours.runs["digest"])


def test_what_an_object_raises_ends_a_sweep(topologies):
    class Broken(hansa.Scheduler):
        def decide(self):
            raise LookupError("no idea")

    def sweep(scheduler, **others):
        hansa.sweep(topologies / "foreign-site.toml", scheduler={"york": scheduler}, **{"vary": {"seed": [1, 2]}, **others})

    with pytest.raises(LookupError, match="no idea"):
        sweep(Broken())
    with pytest.raises(ValueError, match=re.escape("vary has site.york.scheduler, and a scheduler is given: expected 'external'")):
        sweep(Shortest(), vary={"site.york.scheduler": ["easy", "fcfs"]})
    with pytest.raises(ValueError, match="vary has site.york.command, and a scheduler is given"):
        sweep(Shortest(), vary={"site.york.command": [["a"], ["b"]]})
    with pytest.raises(ValueError, match="expected a topology, not an experiment file"):
        sweep(Shortest(), vary=None)
    unlike = Shortest()
    unlike.lines = (line for line in ())
    with pytest.raises(TypeError, match="each run of a sweep gets a copy of the Shortest, but it cannot be copied"):
        sweep(unlike)


def test_an_experiment_goes_on_where_it_was(root, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    text = (root / "experiments" / "policies-40.toml").read_text()
    text = text.replace("../topologies", str(root / "topologies")).replace("seed = [1, 2, 3, 4, 5]", "seed = [1]")
    file = tmp_path / "few.toml"
    file.write_text(text)
    first = hansa.sweep(file, out=tmp_path / "out", threads=1)
    assert len(first.runs) == 30
    assert "30" in capsys.readouterr().err, "tqdm's bar has counted"
    again = hansa.sweep(file, out=tmp_path / "out", progress=False)
    assert again.runs.equals(first.runs) and capsys.readouterr().err == ""
    made = (tmp_path / "out" / "runs.jsonl").read_text()
    file.write_text(text.replace("0.7, ", ""))
    assert len(hansa.sweep(file, out=tmp_path / "out").runs) == 20, "what no longer belongs to it is left out"
    assert (tmp_path / "out" / "runs.jsonl").read_text() == made, "and nothing is run again"
    file.write_text(text.replace("seed = [1]", "seed = [2]"))
    with pytest.raises(hansa.HansaError, match="an earlier version of this experiment"):
        hansa.sweep(file, out=tmp_path / "out")
    assert len(hansa.sweep(file, out=tmp_path / "out", fresh=True).runs) == 30


def test_what_is_wrong_is_raised(topologies, tmp_path):
    with pytest.raises(hansa.HansaError, match="did you mean"):
        hansa.sweep(topologies / "market-40.toml", vary={"market.polcy": ["fifo"]})
    with pytest.raises(ValueError, match="need `vary`"):
        hansa.sweep("experiments/policies-40.toml", set={"seed": 1})


def test_no_bar_where_nobody_watches(topologies, monkeypatch, capsys):
    from hansa import _sweep

    for bar in (_sweep._bar, _sweep._Plain):
        monkeypatch.setattr(_sweep, "_bar", bar)
        hansa.sweep(topologies / "market-40.toml", vary={"seed": [1, 2]}, set={"workload.0.jobs": 20})
        assert capsys.readouterr().err == ""


def test_the_plain_bar_counts(topologies, monkeypatch, capsys):
    from hansa import _sweep

    monkeypatch.setattr(_sweep, "_bar", _sweep._Plain)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    hansa.sweep(topologies / "market-40.toml", vary={"seed": [1, 2, 3]}, set={"workload.0.jobs": 20})
    assert "3/3 runs" in capsys.readouterr().err


def test_a_notebook_gets_no_escapes(topologies, monkeypatch, capsys):
    from hansa import _sweep

    monkeypatch.setattr(_sweep, "_bar", _sweep._Plain)
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    hansa.sweep(topologies / "market-40.toml", vary={"seed": [1, 2, 3]}, set={"workload.0.jobs": 20})
    shown = capsys.readouterr().err
    assert shown.endswith("\r3/3 runs\n") and "\x1b" not in shown, repr(shown)
