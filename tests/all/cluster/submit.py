"""Submits a job file to a HyperQueue server with one worker, both of this process, and waits for its end.

What `hq job submit-file` does with the keys that are used here; the package on PyPI has the engine, but not that command.
"""

import sys
import tempfile
import tomllib

from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig
from hyperqueue.ffi.protocol import ResourceRequest


def main(path):
    with open(path, "rb") as file:
        written = tomllib.load(file)
    job = Job(name=written.pop("name"), max_fails=None, default_workdir=tempfile.mkdtemp())
    tasks = {}
    for task in written.pop("task"):
        (request,) = task.pop("request")
        resources = ResourceRequest(cpus=request.pop("resources").pop("cpus"))
        deps = [tasks[number] for number in task.pop("deps", [])]
        tasks[task.pop("id")] = job.program(task.pop("command"), deps=deps, resources=resources)
        assert not task and not request, f"keys that nobody knows: {task} {request}"
    assert not written, f"keys that nobody knows: {written}"
    with LocalCluster(worker_config=WorkerConfig(cores=2)) as cluster:
        client = cluster.client()
        client.wait_for_jobs([client.submit(job)])


main(sys.argv[1])
