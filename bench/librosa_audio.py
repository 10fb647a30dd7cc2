#!/usr/bin/env python3
"""`anabranch audio` beside librosa, over the same file: seconds, medians of rounds in turn.

    python3 -m venv venv && venv/bin/pip install librosa==0.11.0
    venv/bin/python bench/librosa_audio.py build/release/bin/anabranch [--file sound.wav] [--minutes 10] [--rounds 7]

The command is a process each time: it starts, reads the file, computes, and writes an .npz. librosa is imported, its own kernels
are compiled, and it has run once over the file; it reads the file and computes, and writes nothing. Processor time leaves out what
other processes took.
"""
import argparse
import os
import tempfile

from support.machine import version_of_module
from support.processes import Contender, WarmProcess, in_turn, median, time_process
from support.sound import ALL_FEATURES, SIX_FEATURES, write_sound


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("command")
    arguments.add_argument("--file")
    arguments.add_argument("--minutes", type=float, default=10)
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--quick", action="store_true", help="the usual set of features only")
    given = arguments.parse_args()
    given.command = os.path.abspath(given.command)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.abspath(given.file) if given.file else os.path.join(folder, "sound.wav")
        if not given.file:
            write_sound(path, 44100, given.minutes)

        def by_command(wanted, threads):
            return time_process([given.command, "audio", path, "--out", os.path.join(folder, "f.npz"),
                                 "--features", wanted, "--threads", str(threads)], threads, folder, b"Result")

        sets = [SIX_FEATURES] if given.quick else [SIX_FEATURES, ALL_FEATURES] + [[name] for name in ALL_FEATURES]
        print(f"librosa {version_of_module('librosa')}, {os.path.getsize(path) / 1e6:.0f} MB of audio, {given.rounds} rounds")
        for wanted in map(",".join, sets):
            with WarmProcess("librosa_features", [path, wanted], threads=os.cpu_count()) as librosa:
                times = in_turn([Contender("librosa", librosa.measure),
                                 Contender("1 thread", lambda w=wanted: by_command(w, 1)),
                                 Contender("2 threads", lambda w=wanted: by_command(w, 2))], given.rounds)
            print(wanted)
            report(times)


def report(times):
    peer = median(next(iter(times.values())))
    for one, each in times.items():
        it, whole = median(each), [t.whole for t in each]
        print(f"  {one.name:<10} {it.whole:8.3f} s  ({min(whole):.3f} to {max(whole):.3f})  "
              f"librosa / this {peer.whole / it.whole:6.2f}; "
              f"processor {it.busy:8.3f} s, {peer.busy / it.busy:6.2f}", flush=True)


if __name__ == "__main__":
    main()
