import hansa
import pytest


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


def test_an_experiment_goes_on_where_it_was(root, tmp_path, capsys):
    text = (root / "experiments" / "policies-40.toml").read_text()
    text = text.replace("../topologies", str(root / "topologies")).replace("seed = [1, 2, 3, 4, 5]", "seed = [1]")
    file = tmp_path / "few.toml"
    file.write_text(text)
    first = hansa.sweep(file, out=tmp_path / "out", threads=1)
    assert len(first.runs) == 30
    assert "30" in capsys.readouterr().err, "tqdm's bar has counted"
    again = hansa.sweep(file, out=tmp_path / "out", progress=False)
    assert again.runs.equals(first.runs) and capsys.readouterr().err == ""
    file.write_text(text.replace("0.7, ", ""))
    with pytest.raises(hansa.HansaError, match="an earlier version of this experiment"):
        hansa.sweep(file, out=tmp_path / "out")
    assert len(hansa.sweep(file, out=tmp_path / "out", fresh=True).runs) == 20


def test_what_is_wrong_is_raised(topologies, tmp_path):
    with pytest.raises(hansa.HansaError, match="did you mean"):
        hansa.sweep(topologies / "market-40.toml", vary={"market.polcy": ["fifo"]})
    with pytest.raises(ValueError, match="says itself"):
        hansa.sweep("experiments/policies-40.toml", set={"seed": 1})


def test_the_plain_bar_counts(topologies, monkeypatch, capsys):
    from hansa import _sweep

    monkeypatch.setattr(_sweep, "_bar", _sweep._Plain)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    hansa.sweep(topologies / "market-40.toml", vary={"seed": [1, 2, 3]}, set={"workload.0.jobs": 20})
    assert "3/3 runs" in capsys.readouterr().err
