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
import tempfile

from support.processes import in_turn, median
from support.rankers import rankers, write_graphs


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("command")
    arguments.add_argument("gap", nargs="+")
    arguments.add_argument("--scales", type=int, nargs="+", default=[18, 20, 22])
    arguments.add_argument("--rounds", type=int, default=5)
    given = arguments.parse_args()
    given.command, given.gap = os.path.abspath(given.command), [os.path.abspath(gap) for gap in given.gap]
    for scale in given.scales:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            npz, sg = write_graphs(given.command, scale, given.gap, folder)
            contenders = [(threads, one) for threads in (1, 2) for one in rankers(given.command, given.gap, threads, npz, sg)]
            times = in_turn([one for _, one in contenders], given.rounds)
        print(f"2^{scale} nodes")
        for threads, one in contenders:
            ours = next(first for of, first in contenders if of == threads)
            it, us = median(times[one]), median(times[ours])
            print(f"  {one.name:<12} {threads} thread{'s' * (threads > 1)}: {it.whole * 1e3:8.3f} ms a round, this / ours "
                  f"{it.whole / us.whole:5.2f}; processor {it.busy / threads * 1e3:8.3f} ms, {it.busy / us.busy:5.2f}", flush=True)


if __name__ == "__main__":
    main()
