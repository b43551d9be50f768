"""Sets of nodes as Hansa writes them."""

from __future__ import annotations

from collections.abc import Iterable


def numbers(ranges: str) -> Iterable[int]:
    """The nodes of "0-3 7", one by one."""
    for run in ranges.split():
        first, _, last = run.partition("-")
        yield from range(int(first), int(last or first) + 1)


def ranges(nodes: list[int]) -> str:
    """Nodes in ascending order, as in "0-3 7"."""
    runs: list[list[int]] = []
    for node in nodes:
        if runs and runs[-1][1] == node - 1:
            runs[-1][1] = node
        else:
            runs.append([node, node])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
