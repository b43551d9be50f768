#!/usr/bin/env python3
"""A site's manager from outside: first come, first served, in a few lines.

Hansa reports what has happened at the site, and this program answers with orders, one JSON object per line. It does what
`scheduler = "fcfs"` does, so a run with it gives the same digest. Change `decide` and you have a manager of your own;
docs/outside.md describes the conversation.
"""

import json
import sys

queue = []  # the jobs that wait, in order
nodes = {}  # how many nodes each job requests, until it has ended
free = 0


def decide(now):
    """Starts jobs in order, each on the lowest nodes that are free, until one does not fit."""
    global free
    orders = []
    while queue and nodes[queue[0]] <= free:
        job = queue.pop(0)
        free -= nodes[job]
        orders.append({"order": "start", "job": job})  # `"nodes": "0-3 7"` would say which
    return orders  # others are `reject` and `kill` a job, and `call` at a time `t`


for line in sys.stdin:
    said = json.loads(line)
    if said["type"] == "hello":
        free = said["site"]["nodes"]
        answer = {"type": "hello", "version": 1}
    else:
        for event in said["events"]:
            if event["event"] == "submitted":
                queue.append(event["job"])
                nodes[event["job"]] = event["nodes"]
            elif event["event"] == "ended":
                free += nodes.pop(event["job"])
            elif event["event"] == "recalled":
                queue.remove(event["job"])
        answer = {"type": "manage", "ask": said["ask"], "orders": decide(said["t"])}
    print(json.dumps(answer), flush=True)
