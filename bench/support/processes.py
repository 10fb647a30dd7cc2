"""Processes that are timed, for the benchmarks that compare whole programs."""
import os
import random
import resource
import statistics
import subprocess
import sys
import time


class Times:
    """Of one process, in seconds: from start to end, and of its processors."""

    def __init__(self, whole, busy):
        self.whole, self.busy = whole, busy

    def __sub__(self, other):
        return Times(self.whole - other.whole, self.busy - other.busy)

    def __truediv__(self, parts):
        return Times(self.whole / parts, self.busy / parts)


class Contender:
    """Who takes part: `measure` does the work once and gives its Times."""

    def __init__(self, name, measure):
        self.name, self.measure = name, measure


def on_processors(threads):
    """For the start of a process: it gets so many of the processors of this one."""
    processors = sorted(os.sched_getaffinity(0))[:threads]
    return lambda: os.sched_setaffinity(0, processors)


def time_process(call, threads, folder, says, environment=None):
    """Runs a command on so many processors; its output has to have these bytes in it."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(call, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          env={**os.environ, **(environment or {})}, preexec_fn=on_processors(threads))
    whole = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if says not in done.stdout:
        raise SystemExit(f"{' '.join(call)}: does not say {says.decode()}\n{done.stdout.decode()}{done.stderr.decode()}")
    return Times(whole, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


class WarmProcess:
    """A Python module of this folder that does its work whenever it is asked to (`serve`), in a process that stays: what it takes
    to start and to import is not measured."""

    def __init__(self, module, arguments, threads):
        self.module = module
        self.process = subprocess.Popen([sys.executable, "-m", f"support.{module}", *arguments],
                                        cwd=os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "OMP_NUM_THREADS": str(threads)},
                                        preexec_fn=on_processors(threads))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate()

    def measure(self):
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            return Times(*map(float, self.process.stdout.readline().split()))
        except (BrokenPipeError, TypeError) as ended:
            raise SystemExit(f"{self.module} has ended with {self.process.wait()}") from ended


def serve(work, check=lambda result: None):
    """The other end of a WarmProcess: works once a line of standard input, and prints what it took."""
    for _ in sys.stdin:
        begin, busy_before = time.perf_counter(), time.process_time()
        result = work()
        took = time.perf_counter() - begin, time.process_time() - busy_before
        check(result)
        print(*took, flush=True)


def in_turn(contenders, rounds):
    """Measures all of them, in another order each round, and once before; lists of what each gives."""
    given = {one: [] for one in contenders}
    for number in range(rounds + 1):
        for one in random.sample(contenders, len(contenders)):
            measured = one.measure()
            if number > 0:
                given[one].append(measured)
    return given


def median(times):
    return Times(statistics.median(t.whole for t in times), statistics.median(t.busy for t in times))
