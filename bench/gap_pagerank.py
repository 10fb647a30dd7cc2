#!/usr/bin/env python3
"""`anabranch pagerank` beside the GAP benchmark's `pr_spmv`, over the same graphs: milliseconds a round, by the clock and of processor time (divided by the threads).

    g++ -std=c++11 -O3 -march=native -fopenmp src/pr_spmv.cc -o pr_spmv            # in a checkout of GAP
    sed 's/typedef float ScoreT/typedef double ScoreT/' src/pr_spmv.cc > src/pr_double.cc     # and the same of it: pr_double
    bench/gap_pagerank.py build/release/bin/anabranch pr_spmv pr_double [--scales 18 20 22] [--rounds 5]

Graphs are R-MAT, 16 links a node before those that are there twice are taken out, in a file for each program: the command reads .npz, GAP its own
.sg, which its `converter` (beside pr_spmv) makes of .mtx, without links of a node to itself. Twenty rounds of the power iteration; each program is
run with so many repetitions and with one, and the difference counts: neither reading nor making kernels. GAP's ranks
are floats; what dangling nodes have goes nowhere, where the command (in double) spreads it over all nodes.
"""
import argparse
import os
import subprocess
import tempfile

from support.processes import in_turn, median, time_process

ITERATIONS, REPEATS = 20, 6


class Contender:
    def __init__(self, name, threads, call, says, environment=None):
        self.name, self.threads, self.call, self.says, self.environment = name, threads, call, says, environment


def contenders(given, npz, sg):
    for threads in (1, 2):
        yield Contender("anabranch", threads, lambda repeats, threads=threads: [
            given.command, "pagerank", npz, "--iterations", str(ITERATIONS), "--tolerance", "0", "--threads", str(threads),
            "--repeat", str(repeats)], b"Rest")
        for gap in given.gap:
            yield Contender(os.path.basename(gap), threads, lambda repeats, gap=gap: [
                gap, "-f", sg, "-i", str(ITERATIONS), "-t", "0", "-n", str(repeats)], b"Average Time",
                {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"})


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("command")
    arguments.add_argument("gap", nargs="+")
    arguments.add_argument("--scales", type=int, nargs="+", default=[18, 20, 22])
    arguments.add_argument("--rounds", type=int, default=5)
    given = arguments.parse_args()
    given.command, given.gap = os.path.abspath(given.command), [os.path.abspath(gap) for gap in given.gap]
    converter = os.path.join(os.path.dirname(given.gap[0]), "converter")
    for scale in given.scales:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            npz, mtx, sg = (os.path.join(folder, "graph." + ending) for ending in ("npz", "mtx", "sg"))
            for file in (npz, mtx):
                subprocess.run([given.command, "generate", "rmat", "--size", str(1 << scale), "--out", file], check=True,
                               stdout=subprocess.DEVNULL)
            subprocess.run([converter, "-f", mtx, "-b", sg], check=True, stdout=subprocess.DEVNULL)
            os.remove(mtx)

            def measure(one):
                many, single = (time_process(one.call(repeats), one.threads, folder, one.says, one.environment)
                                for repeats in (REPEATS, 1))
                return (many - single) / ((REPEATS - 1) * ITERATIONS)

            times = in_turn(list(contenders(given, npz, sg)), given.rounds, measure)
        ours = {one.threads: median(t) for one, t in times.items() if one.name == "anabranch"}
        print(f"2^{scale} nodes")
        for one, each in times.items():
            it, us = median(each), ours[one.threads]
            print(f"  {one.name:<12} {one.threads} thread{'s' * (one.threads > 1)}: {it.whole * 1e3:8.3f} ms a round, this / ours "
                  f"{it.whole / us.whole:5.2f}; processor {it.busy / one.threads * 1e3:8.3f} ms, {it.busy / us.busy:5.2f}", flush=True)


if __name__ == "__main__":
    main()
