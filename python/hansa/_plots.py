"""Standard pictures of results, drawn by matplotlib."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Union, cast, get_args

from ._compare import Comparison, compare
from ._program import Path
from ._run import Run
from ._sweep import Sweep

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection

#: A run or its folder, several, or several by the names that the legend shows.
Results = Union[Run, Path, Sequence[Union[Run, Path]], Mapping[str, Union[Run, Path]]]
Kind = Literal["waits", "utilisation", "queue", "slowdown", "comparison"]
Colours = Literal["user", "site", "job", "cores", "wait"]

#: Parts of equal length into which a run is divided by charts over time.
_PARTS = 320
#: Most users or sites with a colour of their own.
_NAMED_MAX = 9
_OTHERS = "#b5b5b5"
#: Run times, and critical paths, count as at least this many seconds in a slowdown.
_THRESHOLD_SECONDS = 10.0
#: Scales of waits are linear up to here, and logarithmic beyond.
_LINEAR_SECONDS = 60.0


def plot(
    results: Union[Results, Comparison, Sweep],
    kind: Kind,
    *,
    ax: Axes | None = None,
    site: str | None = None,
    metric: str = "turnaround",
) -> Axes:
    """Draws a standard picture of results, and returns its axes.

    - "waits": the share of jobs that waited at most so long;
    - "utilisation": the share of the cores in use over time, of all sites or of one `site`;
    - "queue": the number of ready tasks that wait for their start, over time;
    - "slowdown": the mean bounded slowdown of finished jobs by the cores that they ask for;
    - "comparison": of several results, one metric of each family as a multiple of the first result's; of a `Sweep`, the means of
      `metric`, with 95 % confidence intervals.

    `ax` are axes to draw into, by default those of a new figure.
    """
    kinds = get_args(Kind)
    if kind not in kinds:
        raise ValueError(f"no kind of picture is called {kind!r}: expected one of {', '.join(map(repr, kinds))}")
    if isinstance(results, Sweep):
        if kind != "comparison":
            raise ValueError(f'{kind!r} needs runs, and a sweep keeps only their metrics: expected the kind "comparison"')
        return _plot_means(results, metric, _axes(ax))
    if isinstance(results, Comparison):
        results = results.runs
    runs = _named(results)
    if kind == "comparison":
        return _plot_families(runs, _axes(ax))
    ax = _axes(ax)
    if kind == "waits":
        _plot_waits(runs, ax)
    elif kind == "slowdown":
        _plot_slowdowns(runs, ax)
    else:
        _plot_over_time(runs, kind, site, ax)
    _name_runs(ax, len(runs))
    return ax


def gantt(
    result: Union[Run, Path],
    *,
    colour: Colours | None = None,
    site: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws when tasks were on which cores, and returns the axes.

    One block is one stint of a task on adjacent cores: a task that was moved, paused or lost has several, and where jobs share nodes
    their blocks lie upon each other, half transparent. `colour` is by "user" (those with most core time, the others grey; the default if
    there are several), "site", "job" (colours repeat), "cores" (of the task) or "wait" (of the job). Sites lie above each other, core 0
    on top; `site` draws only one.
    """
    if colour is not None and colour not in get_args(Colours):
        raise ValueError(f"no colour {colour!r}: expected one of {', '.join(map(repr, get_args(Colours)))}")
    ax = _axes(ax)
    import numpy as np
    from matplotlib.collections import PolyCollection

    run = _load(result)
    if colour is None:
        colour = "user" if run.jobs["user"].nunique() > 1 else "job"
    sites = _sites(run, site)
    stints = run.stints[run.stints["site"].isin(list(sites))]
    divisor, unit = _time_unit(run)
    tops: dict[str, int] = {}
    for name, cores in sites.items():
        tops[name] = sum(sites[other] for other in tops)
        if tops[name]:
            ax.axhline(tops[name] - 0.5, color="0.4", linewidth=0.8, zorder=3)
    columns = (stints[column] for column in ("site", "start", "end", "core_ranges"))
    boxes = [
        (tops[name] + first - 0.5, tops[name] + last + 0.5, start / divisor, end / divisor)
        for name, start, end, ranges in zip(*columns)
        for first, last in ranges
    ]
    low, high, left, right = np.array(boxes, dtype=float).reshape(-1, 4).T
    corners = np.stack([np.stack([left, left, right, right]), np.stack([low, high, high, low])]).transpose(2, 1, 0)
    blocks = stints["core_ranges"].map(len).to_numpy()
    is_shared = any(one["shared"] for one in run.summary.get("sharing", {}).get("sites", []))
    shapes = PolyCollection(list(corners), linewidths=0.3, edgecolors="white", alpha=0.6 if is_shared else 1.0)
    _colour_blocks(run, stints, blocks, colour, shapes, ax)
    ax.add_collection(shapes)
    ax.set_xlim(0, max(run.summary["end"] or 0, 1e-6) / divisor)
    ax.set_ylim(sum(sites.values()) - 0.5, -0.5)
    if len(sites) == 1:
        ax.set_ylabel(f"core of {next(iter(sites))}")
    else:
        places, labels = _site_labels(sites)
        ax.set_yticks(places, labels)
        ax.tick_params(axis="y", length=0)
    ax.set_xlabel(f"{unit} since the start of the run")
    ax.set_title(run.summary["topology"], loc="left")
    return ax


def _site_labels(sites: Mapping[str, int]) -> tuple[list[float], list[str]]:
    """Labels beside the cores of sites, and their places. Small sites that follow each other share one."""
    low = 0.06 * sum(sites.values())
    places: list[float] = []
    labels: list[str] = []
    top, was_small = 0, False
    for name, cores in sites.items():
        is_small = cores < low
        if is_small and was_small:
            labels[-1] += f", {name}"
            places[-1] += cores / 2
        else:
            places.append(top + cores / 2 - 0.5)
            labels.append(name if is_small else f"{name}\n{cores} cores")
        top, was_small = top + cores, is_small
    return places, labels


def _colour_blocks(run: Run, stints: pd.DataFrame, blocks: Any, colour: Colours, shapes: PolyCollection, ax: Axes) -> None:
    """Colours `shapes`, of which each stint has as many as `blocks` says, and adds the legend or the scale."""
    import numpy as np
    from matplotlib import colormaps, colors
    from matplotlib.patches import Patch

    if colour == "job":
        palette = np.array(colormaps["tab20"].colors)  # type: ignore[attr-defined]
        shapes.set_facecolor(palette[np.repeat(stints["job"].to_numpy() % len(palette), blocks)])
        return
    jobs = run.jobs.set_index("job")
    if colour in ("cores", "wait"):
        if colour == "cores":
            values = stints["core_count"].to_numpy(dtype=float)
            norm: colors.Normalize = colors.LogNorm(1, max(values.max(initial=2.0), 2.0))
        else:
            values = stints["job"].map(jobs["waiting_time"]).fillna(0).to_numpy(dtype=float)
            norm = colors.SymLogNorm(_LINEAR_SECONDS, vmin=0, vmax=max(values.max(initial=1.0), 1.0))
        shapes.set(array=np.repeat(values, blocks), norm=norm, cmap="viridis_r")
        if ax.figure is not None:
            scale = ax.figure.colorbar(shapes, ax=ax, label="cores of the task" if colour == "cores" else "wait of the job")
            if colour == "cores":
                scale.ax.yaxis.set_major_formatter("{x:g}")
            else:
                places, labels = _duration_ticks(values.max(initial=0.0))
                scale.set_ticks(places, labels=labels)
            scale.ax.minorticks_off()
        return
    names = stints["site"] if colour == "site" else stints["job"].map(jobs["user"])
    area = (stints["end"] - stints["start"]) * stints["core_count"]
    by_area = area.groupby(names).sum().sort_values(ascending=False, kind="stable")
    tab10 = colormaps["tab10"].colors  # type: ignore[attr-defined]
    named = {str(name): colors.to_hex(one) for name, one in zip(by_area.index, tab10[:_NAMED_MAX])}
    shapes.set_facecolor(list(np.repeat([named.get(str(name), _OTHERS) for name in names], blocks)))
    entries = [Patch(color=one, label=name) for name, one in named.items()]
    if len(by_area) > len(named):
        entries.append(Patch(color=_OTHERS, label=f"{len(by_area) - len(named)} others"))
    ax.legend(handles=entries, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


def _axes(ax: Axes | None) -> Axes:
    """The axes to draw into. Raises ModuleNotFoundError with the command to install matplotlib if it is missing."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise ModuleNotFoundError("pictures need matplotlib: pip install matplotlib", name="matplotlib") from None
    return ax if ax is not None else plt.subplots(figsize=(8, 4), layout="constrained")[1]


def _named(results: Results) -> dict[str, Run]:
    """Runs by the names that legends show: the keys of a mapping, or the names of the folders, or numbers."""
    if isinstance(results, Run):
        return {results.summary["topology"]: results}
    if isinstance(results, Mapping):
        loaded = {name: _load(one) for name, one in results.items()}
    elif isinstance(results, Sequence) and not isinstance(results, str):
        runs = [_load(one) for one in results]
        names = [run.out.name for run in runs]
        # Folders that the module made are all called the same.
        if len(set(names)) < len(names) or "out" in names:
            names = [f"run {number}" for number in range(1, len(runs) + 1)]
        loaded = dict(zip(names, runs))
    else:
        run = Run(results)
        loaded = {run.summary["topology"]: run}
    if not loaded:
        raise ValueError("expected one or more results, but there are none")
    return loaded


def _load(result: Union[Run, Path]) -> Run:
    return result if isinstance(result, Run) else Run(result)


def _sites(run: Run, only: str | None) -> dict[str, int]:
    """Cores of each site, in the topology's order."""
    sites = {site["name"]: int(site["cores"]) for site in run.summary["utilisation"]["sites"]}
    if only is None:
        return sites
    if only not in sites:
        raise ValueError(f"no site is called {only!r}: expected one of {', '.join(map(repr, sites))}")
    return {only: sites[only]}


def _time_unit(*runs: Run) -> tuple[float, str]:
    """Seconds and name of the unit in which the axis of these runs has handy numbers."""
    return _unit_of(max(run.summary["end"] or 0 for run in runs))


def _unit_of(seconds: float) -> tuple[float, str]:
    for size, name in ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")):
        if seconds >= 3 * size:
            return size, name
    return 1.0, "seconds"


def _counted(jobs: pd.DataFrame) -> pd.DataFrame:
    """Jobs that count: those outside of warm-up and cool-down."""
    return jobs[jobs["counted"] == 1] if "counted" in jobs else jobs


def _plot_waits(runs: Mapping[str, Run], ax: Axes) -> None:
    import numpy as np

    waits = {name: _counted(run.jobs)["waiting_time"].dropna().sort_values().to_numpy() for name, run in runs.items()}
    longest = max((float(each[-1]) for each in waits.values() if len(each)), default=0.0)
    for name, each in waits.items():
        shares = np.arange(1, len(each) + 1) / max(len(each), 1)
        # The curve goes on to the right edge.
        ax.step(np.concatenate([[0.0], each, [longest]]), np.concatenate([[0.0], shares, shares[-1:]]), where="post", label=name)
    # Most jobs of many logs start at once, and a few wait for long.
    ax.set_xscale("symlog", linthresh=_LINEAR_SECONDS)
    ax.set_xticks(*_duration_ticks(longest))
    ax.minorticks_off()
    ax.set_xlim(0, max(longest, 1.0))
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("wait of a job (linear up to a minute, then logarithmic)")
    ax.set_ylabel("share of the started jobs")


def _duration_ticks(longest: float) -> tuple[list[float], list[str]]:
    """Places and labels of ticks for durations in seconds, up to the longest."""
    ticks = [(0, "0"), (60, "1 min"), (600, "10 min"), (3_600, "1 h"), (21_600, "6 h"), (86_400, "1 d"), (864_000, "10 d"), (8_640_000, "100 d")]
    if longest < 60:
        ticks = [(0, "0"), (1, "1 s"), (10, "10 s"), (30, "30 s")]
    shown = [tick for tick in ticks if tick[0] <= longest]
    return [float(seconds) for seconds, _ in shown], [label for _, label in shown]


def _plot_over_time(runs: Mapping[str, Run], kind: str, site: str | None, ax: Axes) -> None:
    import numpy as np

    divisor, unit = _time_unit(*runs.values())
    for name, run in runs.items():
        end = float(run.summary["end"] or 0)
        edges = np.linspace(0, max(end, 1e-6), _PARTS + 1)
        if kind == "utilisation":
            sites = _sites(run, site)
            rows = run.stints[run.stints["site"].isin(list(sites))]
            level = _part_means(edges, rows["start"].to_numpy(), rows["end"].to_numpy(), rows["used"].to_numpy())
            level = level / max(sum(sites.values()), 1)
        else:
            begin, until = _waits(run, site)
            level = _part_means(edges, begin, until, np.ones(len(begin)))
        ax.stairs(level, edges / divisor, baseline=None, label=name, linewidth=1.2)
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    ax.set_xlabel(f"{unit} since the start of the run")
    where = f" at {site}" if site is not None else ""
    if kind == "utilisation":
        ax.set_ylabel(f"share of the cores{where} in use")
    else:
        ax.set_ylabel(f"waiting tasks{where}")


def _waits(run: Run, site: str | None) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """When tasks became ready, and when they started first; tasks that never started wait until their job was removed, or to the end."""
    tasks = run.tasks[run.tasks["final_state"] != "REJECTED"]
    if site is not None:
        _sites(run, site)
        tasks = tasks[tasks["site"] == site]
    tasks = tasks[tasks["ready_time"].notna()]
    until = tasks["starting_time"].fillna(tasks["finish_time"]).fillna(run.summary["end"])
    return tasks["ready_time"].to_numpy(dtype=float), until.to_numpy(dtype=float)


def _part_means(edges: Any, start: Any, end: Any, level: Any) -> Any:
    """Means over the parts between `edges` of a sum of levels, each of which lasts from its start to its end."""
    import numpy as np

    times = np.concatenate([start, end])
    steps = np.concatenate([level, -level])
    order = np.argsort(times, kind="stable")
    times, steps = times[order], steps[order]
    # The integral of the sum up to a time t is that of all steps before it: sum of step * (t - time).
    sums, moments = np.cumsum(steps), np.cumsum(steps * times)
    before = np.searchsorted(times, edges, side="right")
    padded_sums, padded_moments = np.concatenate([[0.0], sums]), np.concatenate([[0.0], moments])
    integral = padded_sums[before] * edges - padded_moments[before]
    return np.maximum(np.diff(integral) / np.diff(edges), 0.0)


def slowdowns(run: Run) -> pd.Series[float]:
    """The bounded slowdown of each finished job: from submission (for a reservation: ready time) to end, divided by its critical path,
    or, of a job that is one task, by its run time, neither counting as less than 10 s."""
    jobs = _counted(run.jobs)
    jobs = jobs[jobs["success"] == 1]
    path = (jobs["turnaround_time"] / jobs["slr"]).fillna(jobs["execution_time"])
    # On shared nodes jobs are slow or paused between start and end.
    if not run.sharing.empty:
        path = jobs["job"].map(run.sharing.set_index("job")["runtime"]).fillna(path)
    came = jobs["ready_time"].fillna(jobs["submission_time"])
    took = (jobs["finish_time"] - came).clip(lower=_THRESHOLD_SECONDS)
    return cast("pd.Series[float]", took / path.clip(lower=_THRESHOLD_SECONDS))


def _plot_slowdowns(runs: Mapping[str, Run], ax: Axes) -> None:
    import numpy as np

    largest = 1
    for name, run in runs.items():
        slowdown = slowdowns(run)
        sizes = _job_cores(run).reindex(slowdown.index)
        slowdown, sizes = slowdown[sizes.notna()], sizes[sizes.notna()].astype(float)
        # Classes 1, 2, 3 to 4, 5 to 8, ...
        classes = np.ceil(np.log2(sizes.clip(lower=1))).astype(int)
        means = slowdown.groupby(classes).mean()
        ax.plot(list(means.index), means.to_numpy(), marker="o", label=name)
        largest = max(largest, int(means.index.max()) + 1) if len(means) else largest
    labels = [_size_class(number) for number in range(largest)]
    ax.set_xticks(range(largest), labels)
    _log_scale(ax, "y")
    ax.set_xlabel("cores that a job asks for")
    ax.set_ylabel("mean bounded slowdown (at least 10 s)")


def _name_runs(ax: Axes, runs: int) -> None:
    """Adds the legend of several runs, above the axes."""
    if runs > 1:
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=min(runs, 5), borderaxespad=0.2)


def _log_scale(ax: Axes, which: Literal["x", "y"]) -> None:
    """Makes an axis logarithmic, with ticks at 1, 2 and 5 times powers of ten, written in full."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    axis = ax.xaxis if which == "x" else ax.yaxis
    low, high = axis.get_data_interval()
    # Over many decades, only the powers themselves have room.
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 3_000 * low else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def _size_class(number: int) -> str:
    low, high = 2 ** (number - 1) + 1 if number else 1, 2**number
    return str(high) if low >= high else f"{int(low)} to {high}"


def _job_cores(run: Run) -> pd.Series[float]:
    """Cores that each job asks for: in its widest task, if it has several."""
    jobs = run.jobs
    cores = jobs["requested_number_of_resources"]
    if run.tasks is jobs:
        return cast("pd.Series[float]", cores)
    widest = run.tasks.groupby("job")["requested_number_of_resources"].max()
    return cast("pd.Series[float]", cores.fillna(jobs["job"].map(widest)))


def _plot_families(runs: Mapping[str, Run], ax: Axes) -> Axes:
    """One metric of each family, as multiples of the first run's."""
    if len(runs) < 2:
        raise ValueError(f"a comparison needs two or more results, but there are {len(runs)}")
    names = list(runs)
    answer = compare(*runs.values()).answer
    if answer is None:
        raise ValueError("a comparison needs runs of the same jobs, and these are not")
    # Columns are the name, the metric that decides, its difference, and one metric of each other family.
    table = answer.tables["answer"]
    table = table[[column for column in table.columns[1:] if not column.startswith("against ")]]
    table = table.set_axis(names).astype(float)
    # A ratio needs a number above 0 in each run.
    table = table.loc[:, (table > 0).all()]
    for place, name in enumerate(names[1:]):
        shift = (place - (len(names) - 2) / 2) * 0.16
        ratios = (table.loc[name] / table.iloc[0]).to_numpy()
        ax.plot(ratios, [row + shift for row in range(len(ratios))], "o", label=name)
    ax.axvline(1, color="0.4", linewidth=1)
    ax.set_yticks(range(len(table.columns)), list(table.columns))
    ax.set_ylim(len(table.columns) - 0.5, -0.5)
    _log_scale(ax, "x")
    ax.set_xlabel(f"multiple of {names[0]}")
    _name_runs(ax, len(runs))
    return ax


def _plot_means(sweep: Sweep, metric: str, ax: Axes) -> Axes:
    """Means of a metric for each setting of a sweep, with their confidence intervals."""
    means = sweep.means
    metrics = list(dict.fromkeys(means["metric"]))
    if metric not in metrics:
        raise ValueError(f"the sweep has no metric {metric!r}: expected one of {', '.join(map(repr, metrics))}")
    keys = list(means.columns[: list(means.columns).index("metric")])
    rows = means[means["metric"] == metric]
    labels = [", ".join(str(row[key]) for key in keys) for _, row in rows.iterrows()]
    ax.errorbar(rows["mean"], range(len(rows)), xerr=rows["within"].fillna(0), fmt="o", capsize=3)
    ax.set_yticks(range(len(rows)), labels)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    units = [answer.json["unit"] for answer in sweep.answers if answer.by == metric and answer.json["unit"]]
    ax.xaxis.set_major_formatter("{x:,.10g}")
    ax.set_xlabel(", ".join([f"mean {metric}", *units[:1]]) + " (95 % confidence intervals)")
    ax.set_ylabel(", ".join(keys))
    return ax
