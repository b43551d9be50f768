import subprocess
import sys

import hansa
import pytest


class Shortest(hansa.Bidder):
    """The policy srtf."""

    def bid(self, task, now):
        return -task.rank


class Queue(hansa.Bidder):
    """The policy srtf for the whole queue; the smallest bid wins."""

    ask, winner = "always", "smallest"

    def bids(self, queue, now):
        assert all(task.submitted <= now for task in queue)
        return [task.rank for task in queue]


@pytest.mark.parametrize("bidder", [Shortest, Queue])
@pytest.mark.parametrize("inline", [True, False])
def test_an_object_bids_as_the_policy_does(topologies, bidder, inline):
    topology = topologies / "quickstart.toml"
    mine = bidder()
    assert hansa.run(topology, bidder=mine, inline=inline).digest == hansa.run(topology, {"market.policy": "srtf"}).digest
    assert mine.grid.topology == "quickstart" and [site.name for site in mine.grid.sites] == ["york", "durham", "leeds"]


def test_a_task_tells_its_worth(topologies):
    seen = []

    class Worth(hansa.Bidder):
        def bid(self, task, now):
            seen.append(task)
            return task.worth.max if task.worth else 0.0

    hansa.run(topologies / "quickstart.toml", bidder=Worth())
    assert seen[0].worth.max > 0 and len(seen[0].worth.curve.points[0]) == 2
    assert {task.kind for task in seen} == {"Kind1", "Kind2"}


def test_what_a_bidder_raises_is_raised(topologies):
    class Broken(hansa.Bidder):
        def bid(self, task, now):
            raise RuntimeError(f"no idea about {task.task}")

    with pytest.raises(RuntimeError, match="no idea about 0.0"):
        hansa.run(topologies / "quickstart.toml", bidder=Broken())
    with pytest.raises(NotImplementedError):
        hansa.run(topologies / "quickstart.toml", bidder=hansa.Bidder())


def test_a_bid_that_is_no_number_names_its_task(topologies):
    class Silent(hansa.Bidder):
        def bid(self, task, now):
            return None

    with pytest.raises(TypeError, match=r"the bid of task 0\.0 is None: expected a number"):
        hansa.run(topologies / "quickstart.toml", bidder=Silent())


def test_a_run_that_never_asks_ends_all_the_same(topologies):
    with pytest.raises(hansa.HansaError, match="market"):
        hansa.run(topologies / "batch.toml", bidder=Shortest())


def test_a_bidder_waits_for_no_pandas():
    code = "import hansa, sys; sys.exit('pandas' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_class_may_be_a_program(topologies, tmp_path):
    program = tmp_path / "shortest.py"
    program.write_text(
        "import hansa\n\nclass Shortest(hansa.Bidder):\n    def bid(self, task, now):\n        print('to standard error')\n"
        "        return -task.rank\n\nShortest().serve()\n"
    )
    told = {"market.policy": "external", "market.bidder.command": [sys.executable, str(program)]}
    run = hansa.run(topologies / "quickstart.toml", told)
    assert run.digest == hansa.run(topologies / "quickstart.toml", {"market.policy": "srtf"}).digest
    # It needs no more than the conversation.
    hello = '{"type":"hello","version":1,"topology":"x","seed":1,"ask":"once","winner":"largest","tick":60.0,"sites":[]}\n'
    said = subprocess.run([sys.executable, program], input=hello, check=True, capture_output=True, text=True)
    assert said.stdout == '{"type": "hello", "version": 1}\n'
