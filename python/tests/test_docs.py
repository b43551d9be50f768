"""Runs the examples of the docs as they stand there."""

import re
import subprocess
import sys

import pytest


def test_the_first_figure_takes_fifteen_lines(root, tmp_path):
    pytest.importorskip("matplotlib")
    script = root / "docs" / "first-figure.py"
    assert len(script.read_text().splitlines()) <= 15
    (tmp_path / "topologies").symlink_to(root / "topologies")
    env = {**__import__("os").environ, "MPLBACKEND": "agg"}
    subprocess.run([sys.executable, script], check=True, cwd=tmp_path, env=env)
    assert "<svg" in (tmp_path / "first-figure.svg").read_text()[:1000]


def test_the_examples_of_the_page_work(root, monkeypatch, tmp_path):
    # Examples name topologies as from the repository, and may write files.
    (tmp_path / "topologies").symlink_to(root / "topologies")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    page = (root / "docs" / "python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 8
    names: dict[str, object] = {}
    for block in blocks:
        if "hansa.plot(" in block:
            pytest.importorskip("matplotlib")
        exec(block if "import hansa" in block else "import hansa\n" + block, names)
    assert "<svg" in (tmp_path / "waits.svg").read_text()[:1000] and (tmp_path / "gantt.png").stat().st_size > 1000
