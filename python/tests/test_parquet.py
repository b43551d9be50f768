"""Three readers of Parquet agree on what we write, and with the files that are always there."""

import json

import hansa
import pytest

duckdb = pytest.importorskip("duckdb")
pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def runs():
    import conftest

    names = ["quickstart", "one-grid", "provisioning", "dfrs"]
    return [hansa.run(conftest.ROOT / "topologies" / f"{name}.toml", parquet=True) for name in names]


def plain(frame):
    frame = frame.astype(object)
    return frame.where(frame.notna(), None)


def test_pandas_polars_and_duckdb_read_the_same(runs):
    read = 0
    for path in (path for run in runs for path in run.out.glob("*.parquet")):
        one = plain(pd.read_parquet(path))
        two = plain(pl.read_parquet(path).to_pandas())
        three = plain(duckdb.sql(f"SELECT * FROM '{path}'").df())
        assert one.equals(two) and one.equals(three), path
        read += 1
    written = [path for run in runs for kind in ("csv", "jsonl") for path in run.out.glob(f"*.{kind}")]
    assert read == len(written) >= 8


def test_the_log_is_that_of_the_lines(runs):
    for run in runs:
        frame = pd.read_parquet(run.out / "events.parquet")
        assert list(frame.columns[:4]) == ["t", "step", "actor", "event"]
        with (run.out / "events.jsonl").open() as lines:
            events = [json.loads(line) for line in lines]
        assert len(frame) == len(events)
        for event, row in zip(events, frame.to_dict("records")):
            for key, found in row.items():
                written = event.pop(key, None)
                if written is None:
                    assert found is None or found != found, (key, found)
                elif isinstance(written, str):
                    assert found == written
                elif isinstance(written, bool) or isinstance(written, (list, dict)):
                    assert json.loads(found) == written
                else:
                    assert float(found) == written
            assert not event, "all fields have columns"


def test_tables_are_those_of_the_files(runs):
    for run in runs:
        for path in run.out.glob("*.csv"):
            table, written = pd.read_parquet(path.with_suffix(".parquet")), pd.read_csv(path, dtype=str)
            assert list(table.columns) == list(written.columns)
            for name in table.columns:
                same = [(a is None or a != a) if b != b else (float(a) == float(b) if not isinstance(a, str) else a == b)
                        for a, b in zip(table[name], written[name])]
                assert all(same), (path, name)


def test_a_query_over_many_runs(runs, topologies, tmp_path):
    for seed in (1, 2, 3):
        hansa.run(topologies / "quickstart.toml", seed=seed, parquet=True, out=tmp_path / str(seed))
    query = f"SELECT count(*), count(DISTINCT filename) FROM read_parquet('{tmp_path}/*/jobs.parquet', filename = true)"
    assert duckdb.sql(query).fetchall() == [(300, 3)], "columns have the same kinds in every run"
