import math
import re
import sys

import hansa
import pytest


class MostFree(hansa.Allocator):
    """The policy pe_w."""

    def prefer(self, candidate, request):
        return -candidate.width * candidate.site.speed, candidate.end


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize("choose", ["first", "global"])
def test_an_object_chooses_as_the_policy_does(topologies, inline, choose):
    topology, told = topologies / "foreign-allocator.toml", {"reservation.choose": choose, "site.durham.speed": 1.5}
    mine = MostFree()
    run = hansa.run(topology, told, allocator=mine, inline=inline)
    assert run.digest == hansa.run(topology, {**told, "reservation.policy": "pe_w"}).digest
    assert mine.sites == (hansa.Cluster("york", 512), hansa.Cluster("durham", 256, 1.5))
    assert (mine.topology, mine.seed, mine.choose, mine.rect_end) == ("foreign-allocator", 1, choose, "inf2tdl")


def test_a_request_has_shapes_and_candidates(topologies):
    seen = []

    class Curious(MostFree):
        def allocate(self, request):
            seen.append(request)
            assert request.submitted <= self.now
            for candidate in request.candidates:
                assert request.ready <= candidate.start < candidate.end <= request.deadline
                assert candidate.free_from <= candidate.start and candidate.end <= candidate.free_until == math.inf
                assert len(candidate.nodes) == candidate.width >= candidate.shape.nodes
            return super().allocate(request)

    topology, told = topologies / "foreign-allocator.toml", {"reservation.rect_end": "open", "workload.0.requests": 1}
    run = hansa.run(topology, told, allocator=Curious())
    assert run.digest == hansa.run(topology, {**told, "reservation.policy": "pe_w"}).digest
    (request,) = seen
    assert len(request.shapes) > 1 and {candidate.shape for candidate in request.candidates} == set(request.shapes)


def test_an_allocator_names_nodes_or_declines(topologies):
    class Picky(hansa.Allocator):
        def allocate(self, request):
            if request.job % 2:
                return None
            best = request.candidates[0]
            return best, best.nodes[-best.shape.nodes :]

    told = {"workload.0.requests": 4, "workload.0.malleable": 0}
    run = hansa.run(topologies / "foreign-allocator.toml", told, allocator=Picky())
    requests = run.reservations.sort_values("request")
    assert list(requests["answer"]) == ["accepted", "declined"] * 2
    started = run.events[run.events["event"] == "started"]
    assert len(started) == 2 and started["cores"].str.endswith("511").all()


def test_what_an_allocator_raises_is_raised(topologies):
    class Greedy(hansa.Allocator):
        def allocate(self, request):
            return request.candidates[0], range(1)

    topology = topologies / "foreign-allocator.toml"
    with pytest.raises(ValueError, match=r"job 0 needs \d+ nodes of 0-511 at york, and \[0\] were chosen"):
        hansa.run(topology, allocator=Greedy())
    with pytest.raises(NotImplementedError, match=re.escape("define prefer() or allocate()")) as raised:
        hansa.run(topology, allocator=hansa.Allocator())
    if sys.version_info >= (3, 11):
        assert re.fullmatch(r"raised by the allocator at virtual time \d+\.\d+ s", raised.value.__notes__[0])
    with pytest.raises(TypeError, match="allocator: expected an object, such as MostFree.., found the class MostFree"):
        hansa.run(topology, allocator=MostFree)
    with pytest.raises(ValueError, match="set has reservation.policy, and an allocator is given"):
        hansa.run(topology, {"reservation.policy": "ff"}, allocator=MostFree())


def test_an_allocator_chooses_in_every_run_of_a_sweep(topologies):
    topology, fewer = topologies / "foreign-allocator.toml", {"workload.0.requests": 60}
    sweep = hansa.sweep(
        topology, vary={"seed": [1, 2], "reservation.policy": ["ff", "pe_w", "external"]}, set=fewer, allocator=MostFree()
    )
    digests = sweep.runs.pivot(index="seed", columns="reservation.policy", values="digest")
    assert (digests["external"] == digests["pe_w"]).all() and (digests["ff"] != digests["pe_w"]).all()


def test_an_allocator_may_be_a_program(topologies, tmp_path):
    program = tmp_path / "most_free.py"
    program.write_text(
        "import hansa\n\nclass MostFree(hansa.Allocator):\n    def prefer(self, candidate, request):\n"
        "        print('to standard error')\n        return -candidate.width * candidate.site.speed, candidate.end\n\n"
        "MostFree().serve()\n"
    )
    topology, told = topologies / "foreign-allocator.toml", {"reservation.allocator.command": [sys.executable, str(program)]}
    assert hansa.run(topology, told).digest == hansa.run(topology).digest
