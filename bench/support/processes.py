"""Processes that are timed, for the benchmarks that compare whole programs."""
import os
import random
import resource
import statistics
import subprocess
import time


class Times:
    """Of one process, in seconds: from start to end, and of its processors."""

    def __init__(self, whole, busy):
        self.whole, self.busy = whole, busy

    def __sub__(self, other):
        return Times(self.whole - other.whole, self.busy - other.busy)

    def __truediv__(self, parts):
        return Times(self.whole / parts, self.busy / parts)


def time_process(call, threads, folder, says, environment=None):
    """Runs a command on so many processors; its output has to have these bytes in it."""
    processors = sorted(os.sched_getaffinity(0))[:threads]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(call, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          env={**os.environ, **(environment or {})},
                          preexec_fn=lambda: os.sched_setaffinity(0, processors))
    whole = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if says not in done.stdout:
        raise SystemExit(f"{' '.join(call)}: does not say {says.decode()}\n{done.stdout.decode()}{done.stderr.decode()}")
    return Times(whole, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def in_turn(contenders, rounds, measure):
    """Calls measure(contender) for all of them, in another order each round, and once before; lists of what it gives."""
    given = {one: [] for one in contenders}
    for number in range(rounds + 1):
        for one in random.sample(contenders, len(contenders)):
            measured = measure(one)
            if number > 0:
                given[one].append(measured)
    return given


def median(times):
    return Times(statistics.median(t.whole for t in times), statistics.median(t.busy for t in times))
