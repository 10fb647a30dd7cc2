"""Does bench/applications.py compare what it says, and name what is missing? All programs are stubs here: each notes in the file
`ran` how it was called and on how many processors, says what it has to, and peers take longer than ours.

    python3 tests/tools/applications_test.py bench/applications.py
"""

import collections
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # nothing beside the sources
SCRIPT = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "bench/applications.py").resolve()
PROCESSORS = len(os.sched_getaffinity(0))
PEER_SECONDS = 0.25

NOTE = '#!/bin/sh\necho "$(env -u OMP_NUM_THREADS nproc) $(basename "$0") $*" >>"{ran}"\n'
COMMAND = """\
out=$(echo "$*" | sed -n 's/.*--out \\([^ ]*\\).*/\\1/p')
[ -z "$out" ] || echo 1 >"$out"
case $1 in
  --version) echo 'anabranch 9.9' ;;
  smvm | audio) echo "Result    $out" ;;
  md5) tail -n 1 "$3" ;;
  pagerank) echo "Rest      after 20 rounds" ;;
esac
"""
JOHN = """\
[ "$1" = --list=build-info ] && { echo 'Version: jumbo 7'; exit; }
sleep {seconds}
tail -n 1 "$(echo "$2" | sed 's/--wordlist=//')"
"""
OTHER_JOHN = "echo 'Unknown option' >&2; exit 1\n"
HASHCAT = """\
[ "$1" = --version ] && { echo v8; exit; }
sleep {seconds}
for last; do :; done
tail -n 1 "$last"
"""
PR_SPMV = """\
for last; do :; done
[ "$last" = 1 ] || sleep {seconds}
echo 'Average Time: 1'
"""
CONVERTER = '[ -e "$2" ] && touch "$4"\n'
# What the modules of bench/support call of these packages, and no more.
PACKAGES = {
    "numpy": """\
def ones(n): return n
def save(path, y): open(path, "w").write(str(y))
def load(path): return int(open(path).read())
def allclose(a, b): return a == b
def pad(y, n): return y
def ascontiguousarray(y): return y
""",
    "scipy": "__version__ = '7.7'\n",
    "scipy.sparse": """\
import time
class Matrix:
    shape = (1, 1)
    def __matmul__(self, x):
        time.sleep({seconds})
        return {product}
def load_npz(path): return Matrix() if open(path).read() else None
""",
    "librosa": """\
import os, time, types
__version__ = '6.6'
def load(path, sr):
    time.sleep({seconds})
    with open("{ran}", "a") as ran: print(len(os.sched_getaffinity(0)), "librosa", path, file=ran)
    return [], 1
class Function:
    def __getattr__(self, name): return lambda *a, **k: []
feature = util = Function()
autocorrelate = lpc = Function().any
""",
}


def module():
    sys.path.insert(0, str(SCRIPT.parent))
    spec = importlib.util.spec_from_file_location("applications", SCRIPT)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


class Table(unittest.TestCase):
    def setUp(self):
        self.applications = module()

    def lines(self, **seconds):
        """Of contenders with so many seconds in each round; processors take half of that."""
        times = self.applications.in_turn.__globals__["Times"]
        contenders = [self.applications.Contender(name, None) for name in seconds]
        contest = self.applications.Contest("smvm", "small", 2, contenders)
        return list(self.applications.lines(contest, {
            one: [times(s, s / 2) for s in seconds[one.name]] for one in contenders}))

    def test_medians_and_ratios_of_rounds(self):
        self.assertEqual(self.lines(ours=[0.1, 0.2, 0.4], SciPy=[0.3, 0.8, 0.4], other=[2, 3, 4]), [
            "| smvm | small | 2 | 200 ms | SciPy: 400 ms | 2.00 | 1.00 to 4.00 | 2.00 |",
            "| smvm | small | 2 | 200 ms | other: 3 s | 15.00 | 10.00 to 20.00 | 15.00 |"])

    def test_what_is_too_short_has_no_ratio(self):
        self.assertEqual(self.lines(ours=[0.1, -0.1, 0.1], GAP=[0.2, 0.2, 0.2]),
                         ["| smvm | small | 2 | 100 ms | GAP: 200 ms | 2.00 | too short | 2.00 |"])

    def test_without_peers(self):
        self.assertEqual(self.lines(ours=[0.1]), ["| smvm | small | 2 | 100 ms | none | | | |"])

    def test_contenders_take_turns(self):
        ran = []
        contenders = [self.applications.Contender(name, lambda name=name: ran.append(name) or len(ran)) for name in "abc"]
        given = self.applications.in_turn(contenders, 20)
        rounds = [ran[i:i + 3] for i in range(0, len(ran), 3)]
        self.assertEqual(len(rounds), 21)
        for one in rounds:
            self.assertEqual(sorted(one), ["a", "b", "c"])
        self.assertGreater(len(set(map(tuple, rounds))), 1)
        for one in contenders:  # the round before the first one is left out
            self.assertEqual(given[one], [i + 1 for i, name in enumerate(ran) if name == one.name and i >= 3])


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.ran = self.folder / "ran"
        self.program("anabranch", COMMAND)
        for name in ("scipy", "librosa"):  # whatever this machine has
            self.package(name, "raise ImportError")

    def fill(self, text):
        return text.replace("{ran}", str(self.ran)).replace("{seconds}", str(PEER_SECONDS))

    def program(self, name, text):
        path = self.folder / name
        path.write_text(self.fill(NOTE + text))
        path.chmod(0o755)
        return str(path)

    def package(self, name, text):
        path = self.folder / "packages" / name.replace(".", "/")
        path.mkdir(parents=True, exist_ok=True)
        (path / "__init__.py").write_text(self.fill(text))

    def packages(self, product):
        """SciPy, whose product is that number, and librosa."""
        for name, text in PACKAGES.items():
            self.package(name, text.replace("{product}", str(product)))

    def run_script(self, *arguments):
        done = subprocess.run(
            [sys.executable, str(SCRIPT), str(self.folder / "anabranch"), "--quick", "--john", "no-john",
             "--hashcat", "no-hashcat", "--gap", "no-gap", *arguments],
            env={**os.environ, "PYTHONPATH": str(self.folder / "packages"), "PATH": "/usr/bin:/bin",
                 "PYTHONDONTWRITEBYTECODE": "1"}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.said, self.error = done.stdout, done.stderr
        self.calls = self.ran.read_text().splitlines()
        return done.returncode

    def table(self):
        """By application, size, threads and peer: peer / ours."""
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in self.said.splitlines() if line.startswith("|")]
        self.assertEqual(rows[0][:6], ["application", "size", "threads", "ours", "peer", "peer / ours"])
        return {(*row[:3], row[4].partition(":")[0]): row[5] for row in rows[2:]}

    def called(self, begin):
        return collections.Counter(line.split(" ", 1)[0] for line in self.calls if re.match(rf"\d+ {begin}", line))

    def times_on(self, count):
        """So many calls on one processor, and as many on two where there are two."""
        return {str(threads): count for threads in (1, 2) if threads <= PROCESSORS}

    def test_all_peers_are_compared(self):
        self.packages(product=1)
        gap = [self.program("pr_spmv", PR_SPMV), self.program("pr_double", PR_SPMV)]
        self.program("converter", CONVERTER)
        self.assertEqual(self.run_script("--john", self.program("john", JOHN), "--hashcat", self.program("hashcat", HASHCAT),
                                         "--gap", *gap, "--minutes", "0.05", "--rounds", "1"), 0, self.error)
        for line in ("anabranch 9.9", "SciPy: 7.7", "GAP: pr_spmv, pr_double", "john: jumbo 7", "hashcat: v8", "librosa: 6.6"):
            self.assertIn(line, self.said)
        self.assertNotIn("not found", self.said)
        ratios = self.table()
        expected = [(application, size, str(threads), peer) for threads in (1, 2) if threads <= PROCESSORS
                    for application, size, peer in (
                        ("smvm", "40^3 rows of 27", "SciPy"), ("pagerank", "R-MAT, 2^16 nodes", "pr_spmv"),
                        ("pagerank", "R-MAT, 2^16 nodes", "pr_double"), ("md5", "300,000 words", "john"),
                        ("md5", "300,000 words", "hashcat"), ("audio", "0.05 min, 6 features", "librosa"),
                        ("audio", "0.05 min, 9 features", "librosa"))]
        self.assertEqual(sorted(ratios), sorted(expected))
        for line, ratio in ratios.items():
            # What is left of a round of ours is how much two starts of it differ: that may be nothing.
            if line[0] != "pagerank":
                self.assertGreater(float(ratio), 1, line)
        # Each twice, once of which is left out, with its threads, on as many processors.
        for begin, count in (("anabranch smvm .*--threads", 2), ("anabranch audio .*--threads", 4),
                             ("anabranch md5 .*--threads", 2), ("anabranch pagerank .*--repeat 6", 2),
                             ("anabranch pagerank .*--repeat 1$", 2), ("pr_spmv .*-n 6", 2), ("pr_double .*-n 1$", 2),
                             ("john --format", 2), ("hashcat -m", 2), ("librosa .*sound.wav", 4)):
            self.assertEqual(self.called(begin), self.times_on(count), begin)
        for threads in self.times_on(0):
            self.assertEqual(set(self.called(rf"anabranch .*--threads {threads}\b")), {threads})

    def test_what_is_missing_is_named(self):
        gap = self.program("pr_spmv", PR_SPMV)  # without its converter
        self.assertEqual(self.run_script("--john", self.program("john", OTHER_JOHN), "--gap", gap, "--minutes", "0.05",
                                         "--rounds", "1"), 0, self.error)
        for name in ("SciPy", "GAP", "john", "hashcat", "librosa"):
            self.assertRegex(self.said, rf"(?m)^{name}: not found \(.+\)$")
        self.assertEqual({line[3] for line in self.table()}, {"none"})
        self.assertEqual({line[0] for line in self.table()}, {"smvm", "pagerank", "md5", "audio"})
        self.assertFalse(self.called("pr_spmv") or self.called("john --format"))

    def test_some_applications_in_their_order(self):
        self.assertEqual(self.run_script("--only", "md5,smvm", "--rounds", "1"), 0, self.error)
        self.assertEqual([line[0] for line in self.table() if line[2] == "1"], ["md5", "smvm"])
        self.assertNotIn("librosa", self.said)
        self.assertNotEqual(self.run_script("--only", "md5,chess"), 0)
        self.assertIn("there is no chess", self.error)

    def test_a_peer_that_finds_nothing_ends_the_run(self):
        deaf = self.program("john", '[ "$1" = --list=build-info ] && echo "Version: 1"\n')
        self.assertNotEqual(self.run_script("--only", "md5", "--john", deaf), 0)
        self.assertIn("does not say", self.error)

    def test_another_product_ends_the_run(self):
        self.packages(product=2)
        self.assertNotEqual(self.run_script("--only", "smvm"), 0)
        self.assertIn("is not SciPy's product", self.error)


if __name__ == "__main__":
    unittest.main()
