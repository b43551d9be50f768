import subprocess
import sys

import hansa
import pytest
from hansa import _plots, _stints

KINDS = ["waits", "utilisation", "queue", "slowdown"]


@pytest.fixture
def plt(monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.fixture
def queues(topologies):
    return {
        policy: hansa.run(topologies / "batch.toml", {"site.york.scheduler": policy, "workload.0.jobs": 200}) for policy in ("easy", "fcfs")
    }


@pytest.mark.parametrize("name", ["quickstart", "batch", "dfrs", "failures", "one-grid", "malleable", "provisioning"])
def test_stints_are_the_work_of_the_summary(name, topologies):
    """Cores that tasks used, over time, add up to the use of each site, also where jobs share nodes, move, or are lost."""
    run = hansa.run(topologies / f"{name}.toml")
    stints = run.stints
    work = (stints["end"] - stints["start"]) * stints["used"]
    sites = run.summary["utilisation"]["sites"]
    assert work.sum() > 0
    for site in sites:
        assert work[stints["site"] == site["name"]].sum() == pytest.approx(site["busy"], rel=1e-9), site["name"]
    assert (stints["core_count"] == stints["core_ranges"].map(_stints.core_count)).all()


def test_frames_have_cores_as_ranges(topologies):
    run = hansa.run(topologies / "quickstart.toml")
    started = run.tasks[run.tasks["cores"].notna()]
    assert _stints.core_ranges("0-3 7") == ((0, 3), (7, 7)) and _stints.core_ranges("") == ()
    assert (started["core_count"] == started["requested_number_of_resources"]).all()
    text = [" ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges) for ranges in started["core_ranges"]]
    assert text == started["cores"].to_list()
    # A job of several tasks has no cores of its own.
    assert run.jobs["core_ranges"].map(len).eq(0).all() and run.jobs["core_count"].isna().all()


def test_a_gantt_chart_has_a_block_for_each_range_of_cores(plt, topologies):
    run = hansa.run(topologies / "failures.toml", {"workload.0.jobs": 100})
    ax = hansa.gantt(run)
    (blocks,) = ax.collections
    boxes = [path.get_extents() for path in blocks.get_paths()]
    assert len(boxes) == run.stints["core_ranges"].map(len).sum()
    hours = 3600.0 * 24 if "days" in ax.get_xlabel() else 3600.0
    area = sum(box.width * box.height for box in boxes) * hours
    assert area == pytest.approx(run.summary["utilisation"]["all"]["busy"])
    # Core 0 of the first site is on top, and the sites lie above each other.
    low, high = ax.get_ylim()
    assert (low, high) == (sum(site["cores"] for site in run.summary["utilisation"]["sites"]) - 0.5, -0.5)
    for colour in ("user", "site", "job", "cores", "wait"):
        hansa.gantt(run, colour=colour).figure.canvas.draw()
    one = hansa.gantt(run, site="leeds")
    assert one.get_ylabel() == "core of leeds"
    assert len(one.collections[0].get_paths()) == run.stints[run.stints["site"] == "leeds"]["core_ranges"].map(len).sum()


@pytest.mark.parametrize("name", ["quickstart", "batch", "dfrs"])
def test_curves_over_time_have_the_means_of_the_summary(name, plt, topologies):
    run = hansa.run(topologies / f"{name}.toml")
    summary = run.summary
    (curve,) = hansa.plot(run, "utilisation").patches
    values, edges, _ = curve.get_data()
    busy = summary["utilisation"]["all"]["busy"] / summary["utilisation"]["all"]["cores"]
    assert values.mean() * summary["end"] == pytest.approx(busy)
    assert 0 <= values.min() and values.max() <= 1 + 1e-9
    (curve,) = hansa.plot(run, "queue").patches
    begin, until = _plots._waits(run, None)
    assert curve.get_data().values.mean() * summary["end"] == pytest.approx((until - begin).sum())


def test_waits_and_slowdowns_are_those_of_the_summary(plt, topologies, queues):
    for name in ("quickstart", "batch", "dfrs"):
        run = hansa.run(topologies / f"{name}.toml")
        assert _plots.slowdowns(run).mean() == pytest.approx(run.summary["stretch"]["mean"], rel=1e-5)
    ax = hansa.plot(queues, "waits")
    for line, run in zip(ax.lines, queues.values()):
        waits = run.jobs["waiting_time"]
        median = line.get_xdata()[line.get_ydata().searchsorted(0.5)]
        assert median == waits.sort_values().iloc[len(waits) // 2 - 1]
    ax = hansa.plot(queues, "slowdown")
    assert [line.get_label() for line in ax.lines] == ["easy", "fcfs"]
    labels = [tick.get_text() for tick in ax.get_xticklabels()]
    assert labels[:5] == ["1", "2", "3 to 4", "5 to 8", "9 to 16"]
    alone = queues["easy"].jobs.query("requested_number_of_resources == 1").index
    first = ax.lines[0]
    assert first.get_xdata()[0] == 0
    assert first.get_ydata()[0] == pytest.approx(_plots.slowdowns(queues["easy"]).reindex(alone).mean())


def test_jobs_that_do_not_count_are_in_no_wait(plt, topologies, tmp_path):
    log = tmp_path / "log.swf"
    subprocess.run([hansa.program(), "generate", "lublin", "--jobs", "200", "--nodes", "64", "--out", log], check=True, capture_output=True)
    text = f"""
name = "windows"
[batch]
[[site]]
name = "york"
cores = 64
scheduler = "easy-count"
[[user]]
name = "all"
[[workload]]
source = "swf"
file = {str(log)!r}
warm_up = "6 h"
"""
    run = hansa.run(text)
    counted = run.jobs[run.jobs["counted"] == 1]
    assert 0 < len(counted) < len(run.jobs)
    (line,) = hansa.plot(run, "waits").lines
    # The origin, the jobs, and the right edge.
    assert len(line.get_xdata()) == len(counted) + 2


def test_results_are_compared_in_one_picture(plt, topologies, queues, tmp_path):
    ax = hansa.plot(queues, "comparison")
    (line,) = ax.lines[:1]
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    turnaround = [run.jobs["turnaround_time"].mean() for run in queues.values()]
    assert names[0] == "turnaround, s" and line.get_xdata()[0] == pytest.approx(turnaround[1] / turnaround[0])
    assert hansa.plot(hansa.compare(*queues.values()), "comparison").lines[0].get_label() == "run 2"
    sweep = hansa.sweep(
        topologies / "batch.toml",
        vary={"seed": [1, 2], "site.york.scheduler": ["easy", "fcfs"]},
        set={"workload.0.jobs": 30},
        metrics=["job_wait"],
    )
    ax = hansa.plot(sweep, "comparison", metric="job_wait")
    means = sweep.runs.groupby("site.york.scheduler")["job_wait"].mean()
    assert list(ax.lines[0].get_xdata()) == pytest.approx([means["easy"], means["fcfs"]])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["easy", "fcfs"]
    with pytest.raises(ValueError, match="no metric 'turnaround': expected one of 'job_wait'"):
        hansa.plot(sweep, "comparison")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_into_given_axes_and_of_folders(kind, plt, queues, tmp_path):
    figure, ax = plt.subplots()
    assert hansa.plot([run.out for run in queues.values()], kind, ax=ax) is ax
    figure.canvas.draw()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["run 1", "run 2"]
    one = hansa.plot(queues["easy"], kind)
    one.figure.canvas.draw()
    assert one.get_legend() is None


def test_what_cannot_be_drawn_is_named(plt, topologies, queues):
    run = queues["easy"]
    with pytest.raises(ValueError, match="no kind of picture is called 'wait': expected one of 'waits', 'utilisation'"):
        hansa.plot(run, "wait")
    with pytest.raises(ValueError, match="no site is called 'leeds': expected one of 'york'"):
        hansa.plot(run, "utilisation", site="leeds")
    with pytest.raises(ValueError, match="no colour 'red'"):
        hansa.gantt(run, colour="red")
    with pytest.raises(ValueError, match="two or more results"):
        hansa.plot(run, "comparison")
    with pytest.raises(ValueError, match="needs runs of the same jobs"):
        hansa.plot([run, hansa.run(topologies / "quickstart.toml")], "comparison")
    with pytest.raises(ValueError, match="there are none"):
        hansa.plot([], "waits")
    with pytest.raises(hansa.HansaError, match="is not a result folder"):
        hansa.gantt(topologies)


def test_without_matplotlib_the_command_is_named(queues):
    code = f"""
import sys
sys.modules["matplotlib"] = None
import hansa
hansa.plot({str(queues["easy"].out)!r}, "waits")
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 1 and "ModuleNotFoundError: pictures need matplotlib: pip install matplotlib" in ended.stderr


def test_a_tournament_answers(topologies, tmp_path):
    experiment = tmp_path / "which.toml"
    experiment.write_text(
        f"""
name = "which"
topology = {str(topologies / "batch.toml")!r}
[set]
workload.0.jobs = 60
[vary]
seed = [1, 2, 3]
[[entrant]]
name = "easy"
set = {{ site.york.scheduler = "easy" }}
[[entrant]]
name = "fcfs"
set = {{ site.york.scheduler = "fcfs" }}
"""
    )
    tournament = hansa.tournament(experiment, out=tmp_path / "out", by="job_wait", against="fcfs")
    answer = tournament.answer
    assert answer.by == "job_wait" and answer.verdict.startswith("easy has the best mean") and str(answer).startswith(answer.verdict)
    means = tournament.runs.groupby("entrant")["job_wait"].mean()
    table = answer.tables["answer"].set_index("entrant")
    assert table["job_wait, s"].to_dict() == pytest.approx(means.to_dict())
    work = answer.tables["work"].set_index("entrant")
    assert work.loc["easy", "finished"] == 180
    groups = answer.tables["for_whom"]
    assert groups[groups["By"] == "cores"]["jobs"].sum() == 180
    standings = tournament.standings.set_index(["entrant", "metric"])
    assert standings.loc[("easy", "job_wait"), "difference"] == pytest.approx(means["easy"] - means["fcfs"])
    assert list(tournament.means.columns) == ["entrant", "metric", "runs", "mean", "within"]
    shown = tournament._repr_html_()
    assert answer.verdict in shown and "tournament.html" in shown and "For whom" in shown
    with pytest.raises(hansa.HansaError, match="which_"):
        hansa.tournament(experiment, out=tmp_path / "other", by="which_")
