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
import hashlib
import os
import random
import shutil
import tempfile

from support.processes import in_turn, median, time_process

LETTERS = b"aaaabcdeeeefghiiijklmnnnoooprrrsssttuvwyzABCDEMS0011223345678999_.!"


def make_list(path, count):
    """Words of some nine letters, the same ones each time; the last one."""
    numbers = random.Random(1)
    with open(path, "wb") as out:
        while count > 0:
            some = min(count, 100_000)
            sizes = [3 + (b & 3) + (b >> 2 & 3) + (b >> 4 & 3) + (b >> 6) for b in numbers.randbytes(some)]
            letters = numbers.randbytes(sum(sizes)).translate(bytes(LETTERS[i % len(LETTERS)] for i in range(256)))
            words, at = [], 0
            for size in sizes:
                words.append(letters[at:at + size])
                at += size
            out.write(b"\n".join(words) + b"\n")
            count -= some
    return words[-1]


def make_digests(path, count, last):
    """Those of words that are on no list, and of the last one."""
    digests = [hashlib.md5(b"no word %d" % i).hexdigest() for i in range(count - 1)]
    digests.append(hashlib.md5(last).hexdigest())
    with open(path, "w") as out:
        out.write("\n".join(digests) + "\n")


class Contender:
    def __init__(self, name, call):
        self.name, self.call = name, call


def contenders(given, threads):
    yield Contender("anabranch", lambda digests, words: [
        given.command, "md5", digests, words, "--threads", str(threads)])
    if given.john:
        fork = [f"--fork={threads}"] if threads > 1 else []

        def john(digests, words):
            for left in ("john.pot", "john.rec"):
                if os.path.exists(os.path.join(given.folder, left)):
                    os.remove(os.path.join(given.folder, left))
            return [given.john, "--format=raw-md5", f"--wordlist={words}", f"--pot={given.folder}/john.pot",
                    f"--session={given.folder}/john", *fork, digests]
        yield Contender("john", john)
    if given.hashcat:
        yield Contender("hashcat", lambda digests, words: [
            given.hashcat, "-m", "0", "-a", "0", "-D", "1", "--force", "--quiet", "--potfile-disable",
            "--self-test-disable", digests, words])


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
        given.folder = folder
        whole, start = os.path.join(folder, "words.txt"), os.path.join(folder, "word.txt")
        last = make_list(whole, given.words)
        with open(start, "wb") as out:
            out.write(last + b"\n")
        for digests in (1, 10_000):
            file = os.path.join(folder, f"digests{digests}.txt")
            make_digests(file, digests, last)
            for threads in (1, 2):
                all_of = list(contenders(given, threads))

                def measure(one, file=file, threads=threads):
                    return [time_process(one.call(file, words), threads, folder, last) for words in (start, whole)]

                times = in_turn(all_of, given.rounds, measure)
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
