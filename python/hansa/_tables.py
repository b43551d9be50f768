"""Tables of jobs that may change while they are iterated over."""

from __future__ import annotations

import weakref
from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import Any, Generic, TypeVar

Job = TypeVar("Job")
Item = TypeVar("Item")


class _Walk(Generic[Item]):
    """An iterator over a table. Before the table changes, it keeps what is left of the table as it was."""

    def __init__(self, left: Iterator[Item]) -> None:
        self._left = left
        self._is_kept = False

    def __iter__(self) -> _Walk[Item]:
        return self

    def __next__(self) -> Item:
        return next(self._left)

    def keep(self) -> None:
        if not self._is_kept:
            self._left, self._is_kept = iter(list(self._left)), True


class JobTable(dict[int, Job]):
    """Jobs by number. A loop over it may start, reject and kill jobs: it covers the jobs there were when it began.

    A change costs O(jobs left) in each loop that is under way, once.
    """

    def __init__(self) -> None:
        super().__init__()
        self._walks: weakref.WeakSet[_Walk[Any]] = weakref.WeakSet()

    def __iter__(self) -> Iterator[int]:
        return self._walk(super().__iter__())

    def keys(self) -> KeysView[int]:  # type: ignore[override]
        return KeysView(self)

    def values(self) -> ValuesView[Job]:  # type: ignore[override]
        return _Values(self)

    def items(self) -> ItemsView[int, Job]:  # type: ignore[override]
        return _Items(self)

    def __setitem__(self, number: int, job: Job) -> None:
        self._keep_walks()
        super().__setitem__(number, job)

    def __delitem__(self, number: int) -> None:
        self._keep_walks()
        super().__delitem__(number)

    def pop(self, number: int, *default: Any) -> Any:
        self._keep_walks()
        return super().pop(number, *default)

    def _walk(self, left: Iterator[Item]) -> _Walk[Item]:
        walk = _Walk(left)
        self._walks.add(walk)
        return walk

    def _keep_walks(self) -> None:
        if self._walks:
            for walk in self._walks:
                walk.keep()


class _Values(ValuesView[Job]):
    _mapping: JobTable[Job]

    def __iter__(self) -> Iterator[Job]:
        return self._mapping._walk(iter(dict.values(self._mapping)))

    def __reversed__(self) -> Iterator[Job]:
        return self._mapping._walk(reversed(dict.values(self._mapping)))


class _Items(ItemsView[int, Job]):
    _mapping: JobTable[Job]

    def __iter__(self) -> Iterator[tuple[int, Job]]:
        return self._mapping._walk(iter(dict.items(self._mapping)))

    def __reversed__(self) -> Iterator[tuple[int, Job]]:
        return self._mapping._walk(reversed(dict.items(self._mapping)))
