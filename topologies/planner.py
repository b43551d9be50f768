#!/usr/bin/env python3
"""A user's planner from outside: submits each job to the site with the least work per node, in a few lines.

Hansa reports what the user learns, and this program answers with orders, one JSON object per line. It chooses as
`dispatch = "least-work"` does; where this user is the only one, a run gives the same digest. Change `choose` and you
have a planner of your own; docs/outside.md describes the conversation.
"""

import json
import sys
from fractions import Fraction

sites = []  # [name, nodes, node seconds that jobs there have requested]
given = {}  # what each job added to its site


def choose(job):
    """The site with the least work per node among those that are large enough; None if there is none."""
    fitting = [site for site in sites if site[1] >= job["nodes"]]
    best = min(fitting, key=lambda site: site[2] / site[1], default=None)
    if best:
        work = job["nodes"] * Fraction(job["walltime"])
        best[2] += work
        given[job["job"]] = (best, work)
    return {"order": "submit", "job": job["job"], "site": best and best[0]}  # others: `recall` a job, `call` at `t`


for line in sys.stdin:
    said = json.loads(line)
    if said["type"] == "hello":
        sites = [[site["name"], site["nodes"], Fraction(0)] for site in said["sites"]]
        answer = {"type": "hello", "version": 1}
    else:
        for event in said["events"]:
            if event["event"] == "over" and event["job"] in given:
                site, work = given.pop(event["job"])
                site[2] -= work
        due = [event for event in said["events"] if event["event"] == "due"]
        answer = {"type": "plan", "ask": said["ask"], "orders": [choose(event) for event in due]}
    print(json.dumps(answer), flush=True)
