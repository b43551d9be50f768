#!/usr/bin/env python3
"""An external bid policy: shortest remaining time first, in a few lines.

Hansa asks, this program answers, one JSON object per line. It does what `policy = "srtf"` does, so a run with it gives
the same digest. Change `bid` and you have a policy of your own; docs/outside.md describes the protocol.
"""

import json
import sys


def bid(task, now):
    return task["rank"]  # the longest path from this task to the end of its job, in seconds


tasks = {}
for line in sys.stdin:
    said = json.loads(line)
    if said["type"] == "hello":
        answer = {"type": "hello", "version": said["version"]}
    else:
        tasks.update((task["task"], task) for task in said["new"])
        for name in said.get("over", ()):
            del tasks[name]
        bids = [bid(tasks[name], said["t"]) for name in said["queue"]]
        answer = {"type": "bids", "ask": said["ask"], "bids": bids}
    print(json.dumps(answer), flush=True)
