#!/usr/bin/env python3
"""slope.py SAMPLES: whether processes grow. A line of SAMPLES is `SECONDS PROGRAM-PID KILOBYTES DESCRIPTORS`.

Of each process the second fifth of its samples, when it has seen everything once, is compared with the last: no twentieth more
memory in the middle (at least 256 kB are allowed, less than malloc's own steps), and not a descriptor more: a leak lifts the
middle, while a sweep on a busy machine has some more open for a second. Descriptors are counted for all processes of a program:
the API server's connections move between the webhook's pods. Prints both, and the slope of a straight line through all but the
first fifth. Exit status 1: one has grown.
"""
import statistics
import sys


def slope(points):
    """Least squares, per minute."""
    x, y = statistics.fmean(p[0] for p in points), statistics.fmean(p[1] for p in points)
    across = sum((p[0] - x) ** 2 for p in points)
    return 60 * sum((p[0] - x) * (p[1] - y) for p in points) / across if across else 0.0


def main():
    processes, programs = {}, {}
    for line in open(sys.argv[1]):
        seconds, name, kilobytes, descriptors = line.split()
        processes.setdefault(name, []).append((int(seconds), int(kilobytes), int(descriptors)))
    grown = 0
    for name, all_ in sorted(processes.items()):
        fifth = len(all_) // 5
        if not fifth:
            sys.exit("%s: %d samples are too few" % (name, len(all_)))
        early, late = all_[fifth:2 * fifth], all_[-fifth:]
        memory = [statistics.median(s[1] for s in part) for part in (early, late)]
        descriptors = [statistics.median(s[2] for s in part) for part in (early, late)]
        grows = memory[1] > memory[0] + max(memory[0] / 20, 256)
        grown += grows
        programs.setdefault(name.split('-')[0], []).append(descriptors)
        print("%s: %d kB, then %d kB (%+.1f kB a minute); %d descriptors, then %d; %d samples%s" % (
            name, memory[0], memory[1], slope([s[:2] for s in all_[fifth:]]), descriptors[0], descriptors[1], len(all_),
            ": GROWS" if grows else ""))
    for program, descriptors in programs.items():
        early, late = map(sum, zip(*descriptors))
        if late > early:
            print("%s: %d descriptors, then %d: GROWS" % (program, early, late))
            grown += 1
    return grown > 0 or not {'controller', 'webhook'} <= programs.keys()


if __name__ == "__main__":
    sys.exit(main())
