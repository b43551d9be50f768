import hansa
import pytest
from hansa import _numbers


def runs(topologies, *policies):
    return [hansa.run(topologies / "batch.toml", {"site.york.scheduler": policy, "workload.0.jobs": 60}) for policy in policies]


def test_runs_are_compared_in_frames(topologies, tmp_path):
    easy, fcfs, cons = runs(topologies, "easy", "fcfs", "conservative")
    both = hansa.compare(easy, fcfs)
    wait = both.metrics.loc["job_wait"]
    means = [run.summary["job_wait"]["mean"] for run in (easy, fcfs)]
    assert [wait["A"], wait["B"]] == means
    assert wait["B - A"] == pytest.approx(means[1] - means[0]) and wait["B / A"] == pytest.approx(means[1] / means[0])
    assert both.settings.loc["site.york.scheduler"].to_list() == ["easy", "fcfs"]

    # The largest change is that of the frames of both runs.
    turnaround = fcfs.jobs.set_index("job_id")["turnaround_time"] - easy.jobs.set_index("job_id")["turnaround_time"]
    first = both.jobs.iloc[0]
    assert abs(first["difference"]) == pytest.approx(turnaround.abs().max())
    assert turnaround[int(first["job"])] == pytest.approx(first["difference"])

    three = hansa.compare(easy, fcfs, cons.out)
    assert "C / A" in three.metrics.columns and len(three.verdicts) == 2
    page = three.page(tmp_path / "page.html")
    assert "Change of turnaround, job by job" in page.read_text()


def test_results_show_themselves_in_notebooks(topologies):
    easy, fcfs = runs(topologies, "easy", "fcfs")
    shown = hansa.compare(easy, fcfs)._repr_html_()
    assert "<td" in shown and "site.york.scheduler" in shown and "largest changes" in shown
    assert "A has the best mean turnaround" in shown and "For whom" in shown
    assert str(easy.out) not in shown
    shown = easy._repr_html_()
    assert easy.digest in shown and "60 of 60" in shown and _numbers.span(easy.summary["job_wait"]["mean"]) in shown
    sweep = hansa.sweep(
        topologies / "batch.toml",
        vary={"seed": [1, 2], "site.york.scheduler": ["easy", "fcfs"]},
        set={"workload.0.jobs": 30},
        metrics=["job_wait", "utilisation"],
    )
    shown = sweep._repr_html_()
    assert "4 runs" in shown and shown.count("<tr") == 3 and "fcfs" in shown
    assert "best mean turnaround" in shown
    means = sweep.means.set_index(["site.york.scheduler", "metric"])["mean"]
    by_hand = sweep.runs[sweep.runs["site.york.scheduler"] == "fcfs"]["job_wait"].mean()
    assert means["fcfs", "job_wait"] == pytest.approx(by_hand)


def test_errors_name_the_runs_of_the_call(topologies, tmp_path):
    (easy,) = runs(topologies, "easy")
    with pytest.raises(hansa.HansaError) as raised:
        hansa.compare(easy, easy)
    assert raised.value.code == 2
    assert str(raised.value) == "run 1 and run 1 are the same folder: expected different results"
    with pytest.raises(hansa.HansaError, match="is not a result folder"):
        hansa.compare(easy, tmp_path)
    with pytest.raises(ValueError, match="expected two or more results"):
        hansa.compare(easy)


def test_numbers_read_as_those_of_the_program():
    spans = [0.0, 0.0015, 0.5, 59.0, 61.0, 29_700.0, 90_000_000.0]
    assert [_numbers.span(seconds) for seconds in spans] == [
        "0 s",
        "1.5 ms",
        "0.5 s",
        "59 s",
        "1 min 01 s",
        "8 h 15 min",
        "1,041 d 16 h",
    ]
    assert [_numbers.signed_span(seconds) for seconds in (-61.0, 0.0, 3600.0)] == ["−1 min 01 s", "0 s", "+1 h 00 min"]
    assert _numbers.percent(0.75) == "75.0 %"
    assert _numbers.table(["a<b"], [["<script>"]]).count("&lt;") == 2
