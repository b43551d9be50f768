"""Runs the code cells of a notebook without Jupyter, and stores what they show.

`python python/tests/notebook.py NOTEBOOK` writes the outputs into the file.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
from typing import Any


def read(path: pathlib.Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def write(path: pathlib.Path, notebook: dict[str, Any]) -> None:
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its cells, run in the working directory. An error in a cell is raised."""
    import matplotlib
    import matplotlib.pyplot as plt

    matplotlib.use("agg")
    # A figure that something else left open is none of the notebook.
    plt.close("all")
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, number = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            cell = {**cell, "execution_count": number, "outputs": _run_cell("".join(cell["source"]), number, names)}
        cells.append(cell)
    return {**notebook, "cells": cells}


def _run_cell(source: str, number: int, names: dict[str, Any]) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    outputs: list[dict[str, Any]] = []
    value = None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, f"cell {number}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(keepends=True)})
    # As in Jupyter, a semicolon at the end hides the value.
    if value is not None and not source.rstrip().endswith(";"):
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        outputs.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data})
    return outputs + _pictures()


def _pictures() -> list[dict[str, Any]]:
    """The open figures, which are closed."""
    import matplotlib.pyplot as plt

    outputs = []
    for figure in map(plt.figure, plt.get_fignums()):
        image = io.BytesIO()
        figure.savefig(image, format="png", dpi=72, metadata={"Software": None})
        data = {"image/png": base64.b64encode(image.getvalue()).decode(), "text/plain": ["<Figure>"]}
        outputs.append({"output_type": "display_data", "metadata": {}, "data": data})
    plt.close("all")
    return outputs


def texts(notebook: dict[str, Any]) -> list[str]:
    """The texts that each code cell shows, with single spaces."""
    shown = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            text = "".join(output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"])
            shown.append(" ".join(text.split()))
    return shown


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write(target, run(read(target)))
