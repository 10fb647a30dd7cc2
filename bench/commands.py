#!/usr/bin/env python3
"""The four commands out of core, with the three schedulers, as the papers' figures have them: seconds of a run at steady state,
medians of rounds in turn.

    bench/commands.py build/release/bin/anabranch [--rounds 5] [--only smvm,pagerank,md5,audio] [--scale 1]

The bound on memory is what has to be held whole (the vectors) and an eighth of the bytes that stream by. `fixed` is the best of five
sizes that a search finds; the contest is held afterwards. *In memory*: the same with adaptive chunks and no bound.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import tempfile

from support.sound import write_sound
from support.words import write_words


class Work:
    def __init__(self, name, call, held, streamed, sizes):
        self.name, self.call, self.held, self.streamed, self.sizes = name, call, held, streamed, sizes

    def bound(self):
        return self.held + self.streamed // 8


def run(binary, *arguments):
    return subprocess.run([binary, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def seconds(binary, work, threads, scheduler, memory):
    """Of a run at steady state: the median of those after the first two."""
    call = [binary, *work.call, "--threads", str(threads), "--scheduler", scheduler, "--repeat", "5", "--json"]
    if memory:
        call += ["--memory", str(memory)]
    done = subprocess.run(call, stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):  # 1: not all digests found, the tolerance not reached
        raise SystemExit(f"{' '.join(call)} ended with {done.returncode}")
    return json.loads(done.stdout)["seconds"]["run"]


def works(binary, folder, scale):
    at = lambda name: os.path.join(folder, name)
    size = round(100 * scale ** (1 / 3))
    run(binary, "generate", "laplacian3d", "--size", str(size), "--points", "27", "--out", at("m.npz"))
    yield Work("smvm", ["smvm", at("m.npz")], 16 * size**3, 12 * 27 * size**3, [100, 1000, 3000, 10000, 100000])

    nodes = 1 << round(math.log2((1 << 20) * scale))
    run(binary, "generate", "rmat", "--size", str(nodes), "--out", at("g.npz"))
    yield Work("pagerank", ["pagerank", at("g.npz"), "--tolerance", "1e-6"], 40 * nodes, 4 * 16 * nodes + 4 * nodes,
               [100, 1000, 10000, 100000, 1000000])

    write_words(at("words"), int(14_000_000 * scale))
    yield Work("md5", ["md5", "0" * 32, at("words")], 0, os.path.getsize(at("words")),
               [1000, 10000, 100000, 300000, 1000000])

    write_sound(at("s.wav"), 22050, 20 * scale)
    yield Work("audio", ["audio", at("s.wav"), "--out", at("f.npz"), "--features", "rms,zero_crossing_rate,spectral_centroid,mfcc"],
               1 << 20, os.path.getsize(at("s.wav")), [4, 16, 64, 256, 1024])


def measure(binary, work, threads, rounds):
    fixed = [f"fixed:{n}" for n in work.sizes]
    best = min(fixed, key=lambda name: statistics.median(seconds(binary, work, threads, name, work.bound()) for _ in range(2)))
    contest = {"adaptive": work.bound(), "paper": work.bound(), best: work.bound(), "in memory": 0}
    times = {name: [] for name in contest}
    for _ in range(rounds):
        for name, bound in contest.items():
            times[name].append(seconds(binary, work, threads, "adaptive" if name == "in memory" else name, bound))
    median = {name: statistics.median(all_times) for name, all_times in times.items()}
    adaptive = median["adaptive"]
    print(f"| {work.name} | {threads} | {work.bound() / 2**20:.0f} MiB | {adaptive * 1e3:.1f} ms | {median['paper'] / adaptive:.2f} | "
          f"{median[best] / adaptive:.2f} ({best}) | {median['in memory'] / adaptive:.2f} |", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("binary")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--only", default="smvm,pagerank,md5,audio")
    arguments.add_argument("--threads", default="1,2")
    arguments.add_argument("--scale", type=float, default=1, help="of all sizes")
    given = arguments.parse_args()
    print("| command | threads | bound | adaptive | paper / adaptive | best fixed / adaptive | in memory / adaptive |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for work in works(given.binary, folder, given.scale):
            if work.name in given.only.split(","):
                for threads in given.threads.split(","):
                    measure(given.binary, work, int(threads), given.rounds)


if __name__ == "__main__":
    main()
