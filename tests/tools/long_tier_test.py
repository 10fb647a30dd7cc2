"""Does scripts/long_tier.py run what has not passed, and only that? cmake, ctest and the faults are stubs here: `results`
says how each test ends, `ran` gets the names of those that ran.

    python3 tests/tools/long_tier_test.py scripts/long_tier.py
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "scripts/long_tier.py").resolve()

CTEST = """#!/usr/bin/env python3
import json, sys
results = json.load(open("results"))
preset = sys.argv[2].removeprefix("build/")
names = list(results[preset])
if "--show-only=json-v1" in sys.argv:
    label = lambda name: "long" if name.endswith("every") or "clang" in name else name.split("/")[0]
    print(json.dumps({"tests": [
        {"name": n, "properties": [{"name": "LABELS", "value": [label(n)]}]} for n in names]}))
    sys.exit()
numbers = [int(n) for n in sys.argv[sys.argv.index("-I") + 1].split(",")[3:]]
print("Test project /somewhere")
if preset == "release" and 1 not in numbers:
    print("1/9 Test #1: example: files ........   Passed    0.10 sec")  # a fixture, which ctest adds
for i, number in enumerate(numbers, 1):
    name = names[number - 1]
    if results[preset][name] == "ends":
        sys.exit(1)
    open("ran", "a").write(f"{preset} {name}\\n")
    print(f"      Start {number}: {name}")
    end = {"passes": "   Passed", "fails": "***Failed", "skipped": "***Skipped", "late": "***Timeout",
           "none": "***Not Run (Disabled)"}[results[preset][name]]
    print(f"{i}/{len(numbers)} Test #{number}: {name} .......{end}    1.50 sec", flush=True)
"""
MUTANTS = "#!/bin/sh\necho mutants >>ran\n[ ! -e mutant-lives ]\n"
TIDY = "#!/bin/sh\necho tidy $1 >>ran\n"
RELEASE = {"example: files": "passes", "io/reads": "passes", "math/every": "passes", "compile_fail with clang: x (bad 1)": "passes",
           "math/some": "passes"}
SANITIZED = {"io/reads": "passes", "math/some": "passes"}


class LongTier(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name, text in (("bin/ctest", CTEST), ("bin/cmake", "#!/bin/sh\n[ ! -e does-not-build ]\n"),
                           ("scripts/kill-mutants.sh", MUTANTS), ("scripts/check-tidy.sh", TIDY),
                           ("src/a.cpp", "1"), ("README.md", "1"),
                           (".gitignore", "/build/\n/ran\n/results\n/mutant-lives\n/does-not-build\n")):
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        shutil.copy(SCRIPT, self.folder / "scripts")
        for command in (["init", "-q"], ["add", "."], ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"]):
            subprocess.run(["git", *command], cwd=self.folder, check=True)
        self.results = {"release": dict(RELEASE), "asan": dict(SANITIZED), "tsan": dict(SANITIZED)}

    def run_tier(self, *arguments):
        """Its status, its last line, and what ran."""
        (self.folder / "results").write_text(json.dumps(self.results))
        (self.folder / "ran").write_text("")
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        done = subprocess.run([self.folder / "scripts" / "long_tier.py", *arguments], cwd="/", text=True,
                              env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.output = done.stdout
        return done.returncode, done.stdout.splitlines()[-1], (self.folder / "ran").read_text().splitlines()

    def test_all_once(self):
        everything = ["release example: files", "release io/reads", "release math/some", "release compile_fail with clang: x (bad 1)",
                      "release math/every", "asan io/reads", "asan math/some", "tsan io/reads", "tsan math/some",
                      "mutants", "tidy --all"]
        self.assertEqual(self.run_tier(), (0, "11 passed, 0 failed", everything))
        self.assertEqual(self.run_tier(), (0, "11 passed, 0 failed", []))
        self.assertEqual(self.run_tier("--again"), (0, "11 passed, 0 failed", everything))
        (self.folder / "README.md").write_text("2")
        self.assertEqual(self.run_tier(), (0, "11 passed, 0 failed", ["release example: files"]))
        (self.folder / "src" / "a.cpp").write_text("2")
        self.assertEqual(self.run_tier("--ever"), (0, "11 passed, 0 failed", []))
        self.assertEqual(self.run_tier(), (0, "11 passed, 0 failed", everything))

    def test_parts(self):
        self.assertEqual(self.run_tier("tsan/io", "long/math"),
                         (0, "2 passed, 0 failed", ["release math/every", "tsan io/reads"]))
        self.assertEqual(self.run_tier("tsan"), (0, "2 passed, 0 failed", ["tsan math/some"]))
        self.assertEqual(self.run_tier("mutants"), (0, "1 passed, 0 failed", ["mutants"]))
        self.assertEqual(self.run_tier("tsan/nothing")[:2], (1, "0 passed, 1 failed"))
        self.assertEqual(self.run_tier("sometimes")[0], 2)

    def test_failures(self):
        for end in ("fails", "late", "none"):
            with self.subTest(end):
                self.results["release"]["math/some"] = end
                self.assertEqual(self.run_tier("--again", "short")[:2], (1, "2 passed, 1 failed"))
                self.assertIn("math/some", self.output)
                self.assertEqual(self.run_tier("short"), (1, "2 passed, 1 failed", ["release math/some"]))
        self.results["release"]["math/some"] = "passes"
        self.assertEqual(self.run_tier("short"), (0, "3 passed, 0 failed", ["release math/some"]))

    def test_skipped_is_not_passed(self):
        self.results["release"]["io/reads"] = "skipped"
        self.assertEqual(self.run_tier("short")[:2], (0, "2 passed, 0 failed"))
        self.assertEqual(self.run_tier("short"), (0, "2 passed, 0 failed", ["release io/reads"]))

    def test_ended_early(self):
        self.results["asan"]["math/some"] = "ends"
        self.assertEqual(self.run_tier("asan/math", "asan/io")[:2], (1, "1 passed, 1 failed"))
        self.results["asan"]["math/some"] = "passes"
        self.assertEqual(self.run_tier("asan"), (0, "2 passed, 0 failed", ["asan math/some"]))

    def test_other_failures(self):
        (self.folder / "does-not-build").touch()
        self.assertEqual(self.run_tier("asan")[:2], (1, "0 passed, 1 failed"))
        (self.folder / "mutant-lives").touch()
        self.assertEqual(self.run_tier("mutants")[:2], (1, "0 passed, 1 failed"))

    def test_failed_all_over_again(self):
        """What no longer passes is not taken for passed the next time."""
        self.run_tier("long/math")
        self.results["release"]["math/every"] = "fails"
        self.assertEqual(self.run_tier("--again", "long/math")[:2], (1, "0 passed, 1 failed"))
        self.assertEqual(self.run_tier("long/math")[:2], (1, "0 passed, 1 failed"))

    def test_list(self):
        self.run_tier("tsan/io")
        for preset in ("release", "tsan"):
            (self.folder / "build" / preset).mkdir(parents=True, exist_ok=True)
            (self.folder / "build" / preset / "CTestTestfile.cmake").touch()
        status, _, ran = self.run_tier("--list")
        self.assertEqual((status, ran), (0, []))
        lines = dict(line.split(None, 1) for line in self.output.splitlines())
        self.assertIn("1 of 1", lines["tsan/io"])
        self.assertIn("0 of 1", lines["tsan/math"])
        self.assertIn("never", lines["long/math"])
        self.assertIn("not built", lines["asan"])


if __name__ == "__main__":
    unittest.main()
