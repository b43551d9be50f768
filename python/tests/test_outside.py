import re
import sys
import threading

import hansa
import pytest


class Fcfs(hansa.Scheduler):
    """The queue policy fcfs."""

    def decide(self):
        for job in list(self.waiting.values()):
            if job.nodes > len(self.free):
                break
            self.start(job)


class Easy(Fcfs):
    """EASY backfilling: a job that fits may overtake, unless that delays the first waiting job."""

    def decide(self):
        super().decide()
        if not self.waiting:
            return
        first, *others = self.waiting.values()
        there, since = len(self.free), self.now
        for running in sorted(self.running.values(), key=lambda running: running.until):
            if there >= first.nodes:
                break
            there, since = there + len(running.nodes), running.until
        spare = there - first.nodes
        for job in others:
            if job.nodes > len(self.free):
                continue
            if self.now + job.walltime <= since:
                self.start(job)
            elif job.nodes <= spare:
                spare -= job.nodes
                self.start(job)


class LeastWork(hansa.Planner):
    """The dispatcher's choice: the site with least work per node."""

    def greeted(self, said):
        super().greeted(said)
        self.work = dict.fromkeys(self.sites, 0.0)
        self.given = {}

    def due(self, job):
        fitting = [site for site in self.sites if site.nodes >= job.nodes]
        site = min(fitting, key=lambda site: self.work[site] / site.nodes)
        self.given[job.job] = site
        self.work[site] += job.nodes * job.walltime
        self.submit(job, site.name)

    def over(self, job):
        self.work[self.given.pop(job.job)] -= job.nodes * job.walltime


@pytest.mark.parametrize("inline", [True, False])
def test_objects_manage_a_site_and_plan_as_the_shipped_programs_do(topologies, inline):
    topology = topologies / "foreign-site.toml"
    york, alice = Fcfs(), LeastWork()
    mine = hansa.run(topology, scheduler={"york": york}, planner={"alice": alice}, inline=inline)
    assert mine.digest == hansa.run(topology).digest
    assert (york.site, alice.user) == (hansa.Cluster("york", 64), "alice")
    assert not york.waiting and not york.running and len(york.free) == 64 and not alice.live


def test_backfilling_in_python_is_backfilling(topologies):
    topology = topologies / "foreign-site.toml"
    # It looks only at how many nodes are free, and takes the lowest.
    ours = hansa.run(topology, {"site.york.scheduler": "easy-count"})
    assert hansa.run(topology, scheduler={"york": Easy()}).digest == ours.digest


@pytest.mark.parametrize("inline", [True, False])
def test_nodes_that_fail_are_heard_of_and_who_was_on_them_waits_again(topologies, tmp_path, inline):
    class Told(Fcfs):
        lost_here, most_down = 0, 0

        def lost(self, running, again):
            self.lost_here += 1
            assert again is self.waiting[running.job.job] and again.walltime <= running.job.walltime
            assert not self.free.isdisjoint(running.nodes)

        def nodes_changed(self):
            self.most_down = max(self.most_down, len(self.down))
            assert self.free.isdisjoint(self.down) and all(back > self.now for back in self.down.values())

    failures = (
        '[recovery]\nkilled = "tail"\ncheckpoint = { every = "20 min", cost = "10 s" }\n'
        '[[failure]]\nsite = "york"\nmtbf = "4 d"\nmttr = "1 h"\n'
    )
    topology = tmp_path / "failing.toml"
    topology.write_text((topologies / "foreign-site.toml").read_text() + failures)
    settings = {"user.alice.planner": "script", "batch.dispatch": "least-work"}
    york = Told()
    mine = hansa.run(topology, settings, scheduler={"york": york}, inline=inline)
    assert mine.digest == hansa.run(topology, {**settings, "site.york.scheduler": "fcfs"}).digest
    assert york.lost_here > 5 and york.most_down > 1


def test_orders_of_all_kinds_are_carried_out(topologies):
    class Moody(Fcfs):
        heard = []

        def decide(self):
            for job in list(self.waiting.values()):
                if job.nodes > 32:
                    self.reject(job)
            for running in list(self.running.values()):
                if self.now - running.started >= 600:
                    self.kill(running)
            super().decide()
            if self.running:
                self.call(min(running.started for running in self.running.values()) + 600)

        def submitted(self, job):
            self.heard.append("submitted")

        def ended(self, running, how):
            self.heard.append(how)

        def called(self):
            self.heard.append("called")

    run = hansa.run(topologies / "foreign-site.toml", scheduler={"york": Moody()})
    counts = {kind: Moody.heard.count(kind) for kind in set(Moody.heard)}
    assert counts["killed"] > 0 and counts["called"] > 0 and counts["done"] > 0
    ends = sum(counts.get(how, 0) for how in ("done", "walltime", "killed"))
    rejected = run.summary["jobs"]["removed"]
    assert rejected > 0 and counts["submitted"] == ends + rejected
    tasks = run.events[run.events["event"] == "started"]
    assert not tasks.empty


def test_a_planner_takes_back_what_waits(topologies):
    class Restless(hansa.Planner):
        said = []

        def due(self, job):
            self.submit(job, "york")
            self.call(self.now + 60)

        def called(self):
            for job in self.live.values():
                self.recall(job)

        def recalled(self, job, in_time):
            self.said.append(in_time)
            if in_time:
                self.submit(job)

    run = hansa.run(topologies / "foreign-site.toml", planner={"alice": Restless()})
    assert {True, False} == set(Restless.said)
    assert run.summary["jobs"]["finished"] == 300


def test_what_cannot_be_done_is_raised_where_it_was_ordered(topologies):
    class Greedy(hansa.Scheduler):
        def decide(self):
            for job in list(self.waiting.values()):
                self.start(job, range(job.nodes))

    with pytest.raises(ValueError, match="free nodes of york"):
        hansa.run(topologies / "foreign-site.toml", scheduler={"york": Greedy()})
    with pytest.raises(NotImplementedError, match=r"decide\(\)"):
        hansa.run(topologies / "foreign-site.toml", scheduler={"york": hansa.Scheduler()})
    with pytest.raises(NotImplementedError, match=r"due\(\)"):
        hansa.run(topologies / "foreign-site.toml", planner={"alice": hansa.Planner()})
    with pytest.raises(hansa.HansaError, match="did you mean `york`"):
        hansa.run(topologies / "foreign-site.toml", scheduler={"yrok": Fcfs()})


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes")
def test_what_an_object_raises_says_for_whom_and_when(topologies):
    class Broken(hansa.Scheduler):
        def decide(self):
            raise LookupError("no idea")

    class Late(hansa.Planner):
        def due(self, job):
            raise LookupError("no idea either")

    class Rude(hansa.Bidder):
        def bid(self, task, now):
            raise LookupError("nothing")

    topology = topologies / "foreign-site.toml"
    for told, says in (
        ({"scheduler": {"york": Broken()}}, r"raised by the scheduler of site york at virtual time \d+\.\d+ s"),
        ({"planner": {"alice": Late()}}, r"raised by the planner of user alice at virtual time \d+\.\d+ s"),
    ):
        with pytest.raises(LookupError) as raised:
            hansa.run(topology, **told)
        (note,) = raised.value.__notes__
        assert re.fullmatch(says, note), note
    with pytest.raises(LookupError) as raised:
        hansa.run(topologies / "market-40.toml", bidder=Rude())
    assert re.fullmatch(r"raised by the bidder at virtual time \d+\.\d+ s", raised.value.__notes__[0])


def test_what_decides_is_an_object_of_the_right_kind(topologies):
    topology = topologies / "foreign-site.toml"
    both = Fcfs()
    for error, says, told in (
        (TypeError, "scheduler: expected a dict of objects by the name of their site, such as {'york': Fcfs()}, found", {"scheduler": Fcfs()}),
        (TypeError, "such as {'york': Fcfs()}, found the class Fcfs", {"scheduler": Fcfs}),
        (TypeError, "planner: expected a dict of objects by the name of their user, such as {'alice': Mine()}, found", {"planner": ["alice"]}),
        (TypeError, "scheduler['york']: expected an object, such as Fcfs(), found the class Fcfs", {"scheduler": {"york": Fcfs}}),
        (TypeError, "scheduler['york']: expected an object of a subclass of hansa.Scheduler, found", {"scheduler": {"york": LeastWork()}}),
        (TypeError, "found an object of type str", {"planner": {"alice": "least-work"}}),
        (TypeError, "bidder: expected an object of a subclass of hansa.Bidder, found an object of type Fcfs", {"bidder": Fcfs()}),
        (ValueError, "scheduler['durham'] is the same object as scheduler['york']", {"scheduler": {"york": both, "durham": both}}),
        (
            ValueError,
            "set has site.york.scheduler, and a scheduler is given, which decides that: expected only one of them",
            {"scheduler": {"york": both}, "set": {"site.york.scheduler": "easy"}},
        ),
        (ValueError, "set has user.alice.command, and a planner is given", {"planner": {"alice": LeastWork()}, "set": {"user.alice.command": ["x"]}}),
    ):
        with pytest.raises(error, match=re.escape(says)):
            hansa.run(topology, **told)
    said = {"site.york.scheduler": "external", "site.york.timeout": "20 s"}
    assert hansa.run(topology, said, scheduler={"york": both}).digest == hansa.run(topology).digest


def test_a_scheduler_may_be_a_program(topologies, tmp_path):
    program = tmp_path / "fcfs.py"
    program.write_text(
        "import hansa\n\nclass Fcfs(hansa.Scheduler):\n    def decide(self):\n        print('to standard error')\n"
        "        for job in list(self.waiting.values()):\n            if job.nodes > len(self.free):\n                break\n"
        "            self.start(job)\n\nFcfs().serve()\n"
    )
    topology = topologies / "foreign-site.toml"
    run = hansa.run(topology, {"site.york.command": [sys.executable, str(program)]})
    assert run.digest == hansa.run(topology).digest


def test_nobody_listens_after_ctrl_c():
    from hansa._hand import at_hand

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt), at_hand(Fcfs()):
        assert threading.active_count() == before + 1
        raise KeyboardInterrupt
    assert threading.active_count() == before


def test_a_loop_over_waiting_jobs_may_start_them():
    table = hansa._tables.JobTable()
    for number in range(6):
        table[number] = f"job {number}"
    seen = []
    for number, job in table.items():
        seen.append((number, job))
        table.pop(number)
        table[number + 100] = "came later"
    assert seen == [(number, f"job {number}") for number in range(6)]
    assert list(table) == [100, 101, 102, 103, 104, 105] and list(reversed(table.values()))[0] == "came later"
    assert [table.pop(number) for number in table] == ["came later"] * 6 and not table
    assert table.pop(1, None) is None and len(table.values()) == 0
    first = next(iter(table.values()), None)
    assert first is None


class FirstFit(hansa.Scheduler):
    """Starts all jobs that fit, in a loop over the table itself."""

    def decide(self):
        for job in self.waiting.values():
            if job.nodes <= len(self.free):
                self.start(job)


class CopiedFirstFit(hansa.Scheduler):
    def decide(self):
        for job in list(self.waiting.values()):
            if job.nodes <= len(self.free):
                self.start(job)


def test_a_loop_over_the_table_is_one_over_a_copy(topologies):
    settings = {"site.york.reserved": [], "workload.0.jobs": 200}
    digests = {
        hansa.run(topologies / "batch.toml", settings, scheduler={"york": scheduler()}).digest for scheduler in (FirstFit, CopiedFirstFit)
    }
    assert len(digests) == 1
