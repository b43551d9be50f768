import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture
def topologies() -> pathlib.Path:
    return ROOT / "topologies"


@pytest.fixture
def root() -> pathlib.Path:
    return ROOT
