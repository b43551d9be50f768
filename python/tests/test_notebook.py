"""Runs the notebook of the docs as it stands there."""

import json
import os
import pathlib
import re

import notebook
import pytest


def test_the_notebook_shows_what_it_did_when_it_was_made(root, tmp_path, monkeypatch):
    """`HANSA_GOLDEN=write` stores what it shows now."""
    pytest.importorskip("matplotlib")
    path = root / "docs" / "first-question.ipynb"
    stored = notebook.read(path)
    monkeypatch.chdir(tmp_path)
    made = notebook.run(stored)
    if os.environ.get("HANSA_GOLDEN") == "write":
        notebook.write(path, made)
        return
    assert notebook.texts(made) == notebook.texts(stored)
    pictures = [sum("image/png" in output.get("data", {}) for cell in one["cells"] for output in cell.get("outputs", [])) for one in (made, stored)]
    assert pictures == [5, 5]


def test_the_notebook_names_no_place_of_a_machine(root):
    stored = notebook.read(root / "docs" / "first-question.ipynb")
    for cell in stored["cells"]:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("image/png", None)
    text = json.dumps(stored)
    for place in ("/tmp", "/home", "/root", "file:", str(root), str(pathlib.Path.home())):
        assert place not in text


def test_the_sentences_of_the_notebook_have_its_numbers(root):
    """Numbers with a unit in the sentences below the tables are those of the tables."""
    stored = notebook.read(root / "docs" / "first-question.ipynb")
    shown = " ".join(notebook.texts(stored))
    shown += " ".join("".join(output["data"].get("text/html", [])) for cell in stored["cells"] for output in cell.get("outputs", []) if "data" in output)
    said = " ".join("".join(cell["source"]) for cell in stored["cells"] if cell["cell_type"] == "markdown")
    for number in re.findall(r"[\d,]+ ± [\d,]+|(?<= )\d\.\d\d(?= h)|\d+(?= jobs are too few)", said):
        assert number in shown
    assert "180.75" in shown and "73.88" in shown and "from 3.1 to 7.5 days" in " ".join(said.split())


def test_a_semicolon_hides_a_value_and_an_error_is_raised():
    cells = [{"cell_type": "code", "source": [source]} for source in ("x = 2\nx + 1", "x;", "print(x)")]
    made = notebook.run({"cells": cells})["cells"]
    assert [len(cell["outputs"]) for cell in made] == [1, 0, 1]
    assert notebook.texts({"cells": made}) == ["3", "2"]
    with pytest.raises(ZeroDivisionError):
        notebook.run({"cells": [{"cell_type": "code", "source": ["1 / 0"]}]})
