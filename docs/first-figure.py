"""From a run to a figure: how long jobs wait under three policies. `python docs/first-figure.py`, with matplotlib."""

import hansa
import matplotlib.pyplot as plt

for policy in ["fifo", "srtf", "pvr"]:
    run = hansa.run("topologies/quickstart.toml", {"market.policy": policy, "workload.0.jobs": 300})
    waits = run.tasks["waiting_time"].dropna().sort_values() / 60
    plt.plot(waits, waits.rank(pct=True), drawstyle="steps-post", label=policy)

plt.xscale("symlog")
plt.xlabel("minutes that a task waits")
plt.ylabel("part of all tasks")
plt.legend()
plt.savefig("first-figure.svg")
