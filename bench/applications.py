#!/usr/bin/env python3
"""The four commands beside what one would use instead, in one run: a table in Markdown.

    bench/applications.py build/release/bin/anabranch [--quick] [--only smvm,pagerank,md5,audio] [--rounds 5] [--minutes 5]
                          [--john .../run/john] [--hashcat hashcat] [--gap .../pr_spmv .../pr_double]

A peer that is not found is named and left out: SciPy and librosa are those of the Python that runs this file, john (the jumbo
version, Debian's has no raw MD5), hashcat, and GAP's pr_spmv (and pr_double, the same with ranks in double, and their converter
beside them) are where the options say or on the PATH. bench/librosa_audio.py, md5_crackers.py and gap_pagerank.py say how to get
them, and measure more of each.

All contenders of a line take turns, in another order each round, on as many processors as there are threads. What is measured:
  smvm      from a matrix's .npz to y's .npy: our process from its start on, to the file on the disk; SciPy in a process that has it
            imported, one thread of it
  pagerank  a round of the power iteration, links in memory, without reading and starting
  md5       a process from its start to its end: a list whose last word is looked for, among 10,000 digests
  audio     from a .wav to the features: our process, which writes them as .npz, from its start to its end; librosa in a process that
            has it imported and warm, which writes nothing
Times are medians by the clock, and a ratio is what the peer takes for each second of ours; its range is that of single rounds. The
last column is the ratio of processor times, which leaves out what other processes took.
"""
import argparse
import contextlib
import dataclasses
import os
import shutil
import subprocess
import tempfile

from support.crackers import crackers
from support.machine import describe_machine, first_line, load_average, version_of_module
from support.processes import Contender, WarmProcess, in_turn, median, time_process
from support.rankers import converter_of, rankers, write_graphs
from support.sound import ALL_FEATURES, SIX_FEATURES, write_sound
from support.words import write_digests, write_words

DIGESTS = 10_000


@dataclasses.dataclass
class Sizes:
    grid: int
    scale: int
    words: int
    minutes: float
    rounds: int


USUAL = Sizes(grid=100, scale=20, words=14_000_000, minutes=5, rounds=5)
QUICK = Sizes(grid=40, scale=16, words=300_000, minutes=0.5, rounds=2)

# Of each application, and how they come to take part.
PEERS = {
    "smvm": {"SciPy": "importable by this Python"},
    "pagerank": {"GAP": "--gap, with its converter"},
    "md5": {"john": "--john, the jumbo version", "hashcat": "--hashcat"},
    "audio": {"librosa": "importable by this Python"},
}


def find_peers(given):
    """Versions by the names of PEERS, empty of what is not here; `given.gap`, `john` and `hashcat` are paths afterwards, or empty."""
    john = first_line([given.john, "--list=build-info"])
    version = {
        "SciPy": version_of_module("scipy"),
        "john": john.removeprefix("Version: ") if john.startswith("Version: ") else "",
        "hashcat": first_line([given.hashcat, "--version"]),
        "librosa": version_of_module("librosa"),
    }
    given.john = version["john"] and os.path.abspath(shutil.which(given.john))
    given.hashcat = version["hashcat"] and os.path.abspath(shutil.which(given.hashcat))
    given.gap = [os.path.abspath(path) for path in map(shutil.which, given.gap) if path]
    if not given.gap or not shutil.which(converter_of(given.gap)):
        given.gap = []
    version["GAP"] = ", ".join(map(os.path.basename, given.gap))
    return version


class Contest:
    """Contenders, ours first, who do the same work with so many threads."""

    def __init__(self, application, size, threads, contenders):
        self.application, self.size, self.threads, self.contenders = application, size, threads, list(contenders)


def smvm(given, version, folder):
    matrix, product, own = (os.path.join(folder, name) for name in ("m.npz", "y.npy", "scipy.npy"))
    subprocess.run([given.command, "generate", "laplacian3d", "--size", str(given.sizes.grid), "--points", "27",
                    "--out", matrix], check=True, stdout=subprocess.DEVNULL)

    def ours(threads):
        return time_process([given.command, "smvm", matrix, "--out", product, "--threads", str(threads)], threads, folder,
                            b"Result")

    for threads in given.threads:
        with contextlib.ExitStack() as processes:
            contenders = [Contender("anabranch", lambda threads=threads: ours(threads))]
            if version["SciPy"]:
                scipy = processes.enter_context(WarmProcess("scipy_smvm", [matrix, own, product], threads))
                contenders.append(Contender("SciPy", scipy.measure))
            yield Contest("smvm", f"{given.sizes.grid}^3 rows of 27", threads, contenders)


def pagerank(given, _, folder):
    npz, sg = write_graphs(given.command, given.sizes.scale, given.gap, folder)
    for threads in given.threads:
        yield Contest("pagerank", f"R-MAT, 2^{given.sizes.scale} nodes", threads,
                      rankers(given.command, given.gap, threads, npz, sg))


def md5(given, _, folder):
    words, digests = os.path.join(folder, "words.txt"), os.path.join(folder, "digests.txt")
    last = write_words(words, given.sizes.words)
    write_digests(digests, DIGESTS, last)

    def search(call, threads):
        return time_process(call(digests, words), threads, folder, last)

    for threads in given.threads:
        yield Contest("md5", f"{given.sizes.words:,} words", threads, [
            Contender(name, lambda call=call, threads=threads: search(call, threads))
            for name, call in crackers(given.command, given.john, given.hashcat, threads, folder)])


def audio(given, version, folder):
    sound = os.path.join(folder, "sound.wav")
    write_sound(sound, 44100, given.sizes.minutes)

    def ours(wanted, threads):
        return time_process([given.command, "audio", sound, "--out", os.path.join(folder, "f.npz"),
                             "--features", ",".join(wanted), "--threads", str(threads)], threads, folder, b"Result")

    for wanted in (SIX_FEATURES, ALL_FEATURES):
        for threads in given.threads:
            with contextlib.ExitStack() as processes:
                contenders = [Contender("anabranch", lambda wanted=wanted, threads=threads: ours(wanted, threads))]
                if version["librosa"]:
                    librosa = processes.enter_context(
                        WarmProcess("librosa_features", [sound, ",".join(wanted)], threads))
                    contenders.append(Contender("librosa", librosa.measure))
                yield Contest("audio", f"{given.sizes.minutes:g} min, {len(wanted)} features", threads, contenders)


APPLICATIONS = {"smvm": smvm, "pagerank": pagerank, "md5": md5, "audio": audio}

HEADING = """\
| application | size | threads | ours | peer | peer / ours | range | processor time, peer / ours |
|---|---|---|---|---|---|---|---|"""


def seconds_text(seconds):
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def ratios_text(pairs):
    """The least and the greatest of peer / ours; of what is too short for its clock there is none."""
    if any(theirs <= 0 or ours <= 0 for theirs, ours in pairs):
        return "too short"
    ratios = [f"{theirs / ours:.2f}" for theirs, ours in pairs]
    least, greatest = min(ratios, key=float), max(ratios, key=float)
    return least if least == greatest else f"{least} to {greatest}"


def lines(contest, times):
    """Of the table, one for each peer. times: what `in_turn` gave, of which the rounds are compared one by one."""
    first, *peers = contest.contenders
    ours, begin = median(times[first]), f"| {contest.application} | {contest.size} | {contest.threads} |"
    for peer in peers:
        theirs = median(times[peer])
        rounds = [(a.whole, b.whole) for a, b in zip(times[peer], times[first])]
        yield (f"{begin} {seconds_text(ours.whole)} | {peer.name}: {seconds_text(theirs.whole)} | "
               f"{ratios_text([(theirs.whole, ours.whole)])} | {ratios_text(rounds)} | {ratios_text([(theirs.busy, ours.busy)])} |")
    if not peers:
        yield f"{begin} {seconds_text(ours.whole)} | none | | | |"


def chosen(arguments):
    given = arguments.parse_args()
    given.only = given.only.split(",")
    if unknown := set(given.only) - set(APPLICATIONS):
        arguments.error(f"--only: there is no {', '.join(sorted(unknown))}")
    given.command = os.path.abspath(given.command)
    given.sizes = dataclasses.replace(QUICK if given.quick else USUAL, **{
        name: value for name, value in (("minutes", given.minutes), ("rounds", given.rounds)) if value})
    given.threads = [n for n in (1, 2) if n <= len(os.sched_getaffinity(0))]
    return given


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("command")
    arguments.add_argument("--quick", action="store_true", help="small inputs and two rounds: whether all of it runs")
    arguments.add_argument("--only", default=",".join(APPLICATIONS))
    arguments.add_argument("--rounds", type=int, help="default: 5")
    arguments.add_argument("--minutes", type=float, help="of audio; default: 5")
    arguments.add_argument("--john", default="john")
    arguments.add_argument("--hashcat", default="hashcat")
    arguments.add_argument("--gap", nargs="+", default=["pr_spmv", "pr_double"])
    given = chosen(arguments)
    version = find_peers(given)
    print(f"{describe_machine()}; load average {load_average()}")
    print(f"{first_line([given.command, '--version'])}; medians of {given.sizes.rounds} rounds")
    for name, how in {name: how for application in given.only for name, how in PEERS[application].items()}.items():
        print(f"{name}: {version[name] or f'not found ({how})'}")
    print(f"\n{HEADING}", flush=True)
    for application in given.only:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            for contest in APPLICATIONS[application](given, version, folder):
                for line in lines(contest, in_turn(contest.contenders, given.sizes.rounds)):
                    print(line, flush=True)
    print(f"\nload average at the end {load_average()}")


if __name__ == "__main__":
    main()
