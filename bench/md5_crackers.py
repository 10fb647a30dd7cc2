#!/usr/bin/env python3
"""`anabranch md5` beside john and hashcat, over the same list of words: seconds from start to end, medians of rounds in turn.

    bench/md5_crackers.py build/release/bin/anabranch [--john .../run/john] [--hashcat hashcat] [--words 14000000] [--rounds 5]

Each is a process that reads a list of words of 3 to 15 letters from the page cache and has to find its last one among so many
digests: so all hash the whole list. John is the jumbo version (Debian's has no raw MD5), with --fork for two threads; hashcat runs on
PoCL's device for CPUs, which takes the processors that the process may use. What each takes for a list of one word, to start, to make
kernels and to read digests, is measured in the same rounds and taken off in the last column. Processor time (divided by the number of threads) leaves
out what other processes took.
"""
import argparse
import os
import shutil
import tempfile

from support.crackers import crackers
from support.processes import Contender, in_turn, median, time_process
from support.words import write_digests, write_words


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("command")
    arguments.add_argument("--john", default="")
    arguments.add_argument("--hashcat", default=shutil.which("hashcat") or "")
    arguments.add_argument("--words", type=int, default=14_000_000)
    arguments.add_argument("--rounds", type=int, default=5)
    given = arguments.parse_args()
    given.command = os.path.abspath(given.command)
    if given.john:
        given.john = os.path.abspath(given.john)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        whole, start = os.path.join(folder, "words.txt"), os.path.join(folder, "word.txt")
        last = write_words(whole, given.words)
        with open(start, "wb") as out:
            out.write(last + b"\n")
        for digests in (1, 10_000):
            file = os.path.join(folder, f"digests{digests}.txt")
            write_digests(file, digests, last)
            for threads in (1, 2):
                def both(call, file=file, threads=threads):
                    return [time_process(call(file, words), threads, folder, last) for words in (start, whole)]

                times = in_turn([Contender(name, lambda call=call: both(call)) for name, call in
                                 crackers(given.command, given.john, given.hashcat, threads, folder)], given.rounds)
                print(f"{given.words:,} words, {digests:,} digest{'s' * (digests > 1)}, {threads} thread{'s' * (threads > 1)}")
                report(times, given.words, threads)


def report(times, words, threads):
    entire = {one: median([whole for _, whole in each]) for one, each in times.items()}
    alone = {one: median([whole - start for start, whole in each]).busy / threads for one, each in times.items()}
    ours = next(iter(times))
    for one in times:
        busy = entire[one].busy / threads
        print(f"  {one.name:<10} {entire[one].whole:8.3f} s, processor {busy:8.3f} s, this / ours "
              f"{busy * threads / entire[ours].busy:6.2f}; without its start {alone[one]:8.3f} s "
              f"({words / alone[one] / 1e6:.0f} M words/s), this / ours {alone[one] / alone[ours]:6.2f}", flush=True)


if __name__ == "__main__":
    main()
