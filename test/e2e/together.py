#!/usr/bin/env python3
"""together.py RECORD LIMIT FLEETS - of many fleets that roll for one cause, judged by the watch events in RECORD.* alone: how
many roll at once, and each how often.

A fleet rolls from the write that takes its partition away from rest until that which brings it back. Never more than LIMIT of them do,
LIMIT is reached, all FLEETS do, none twice, and each of their pods is replaced once.
"""
import sys

from invariants import REST, History, read


def main():
    record, limit, fleets = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rolling, most, begun, pods, problems = set(), 0, {}, {}, []
    for rv, kind, obj in read(record):
        m = obj["metadata"]
        if obj["kind"] == "Pod" and kind != "DELETED":
            pods.setdefault(m["name"], set()).add(m["uid"])
        if obj["kind"] != "StatefulSet":
            continue
        if History.partition(obj) == REST:
            rolling.discard(m["name"])
        elif m["name"] not in rolling:
            rolling.add(m["name"])
            begun[m["name"]] = begun.get(m["name"], 0) + 1
        if len(rolling) > limit and len(rolling) > most:
            problems.append(f"at resourceVersion {rv}: {len(rolling)} roll together: {', '.join(sorted(rolling))}")
        most = max(most, len(rolling))
    if rolling:
        problems.append(f"never came to rest: {', '.join(sorted(rolling))}")
    if most < limit:
        problems.append(f"never more than {most} rolled together: nothing is proven")
    if len(begun) != fleets:
        problems.append(f"{len(begun)} fleets have rolled, not {fleets}")
    problems += [f"{name} has rolled {n} times" for name, n in begun.items() if n != 1]
    problems += [f"{name} has been {len(uids)} pods" for name, uids in pods.items() if len(uids) != 2]
    for p in problems:
        print(p)
    print(f"{len(begun)} fleets, {len(pods)} pods, at most {most} in roll together, {len(problems)} problems")
    sys.exit(bool(problems))


main()
