#!/usr/bin/env python3
"""All that the project can be tested with, in parts, by scripts/test.sh --long: it may be ended at any time and goes on
where it was. What has passed is kept in build/long-tier.json, with the sources that it passed with.

    scripts/test.sh --long [PART...]           runs these parts (all, if none is named): what has not passed yet
    scripts/test.sh --long --again [PART...]   what has passed, too
    scripts/test.sh --long --ever [PART...]    only what has never passed, be it with other sources
    scripts/test.sh --long --list              the parts: how much of each has passed with these sources, and in what time

The parts, in their order: `short` (what scripts/test.sh runs), `long/AREA` (test cases tagged [.long], must-fail programs
with clang, the passes of the compiler switched off), `asan/AREA` and `tsan/AREA` (the short tier with sanitizers),
`mutants` (faults that random programs have to find), `tidy` (clang-tidy of every source). `long`, `asan` and `tsan` are
all areas of each.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STATE = os.path.join(ROOT, "build", "long-tier.json")
PRESETS = {"short": "release", "long": "release", "asan": "asan", "tsan": "tsan"}
# Tests that read the documents.
READS_DOCUMENTS = re.compile(r"[a-z]+: (example: |links: |ir/)")
# 330/2572 Test  #331: name .....***Failed    2.37 sec
RESULT = re.compile(r"\s*\d+/\d+ Test\s+#(\d+): .*?(Passed|\*\*\*\S+.*?|Not Run.*?)\s+([0-9.]+) sec")


def run(*command, **options):
    return subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, check=True, **options).stdout


def hash_of_sources(documents):
    """Of what tests depend on, as it stands here, committed or not."""
    names = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    total = hashlib.sha256()
    for name in sorted(set(names)):
        path = os.path.join(ROOT, name)
        if not name or (name.endswith(".md") and not documents) or not os.path.isfile(path):
            continue
        with open(path, "rb") as file:
            total.update(f"{name}\0{hashlib.sha256(file.read()).hexdigest()}\0".encode())
    return total.hexdigest()[:16]


class Passed:
    """What has passed: for each entry of each preset with which sources, when and how long."""

    def __init__(self):
        self.look()
        self.entries = {}
        if os.path.exists(STATE):
            with open(STATE, encoding="utf-8") as file:
                self.entries = json.load(file)

    def look(self):
        """At the sources, as they are now."""
        self.code, self.all = hash_of_sources(False), hash_of_sources(True)
        self.revision = run("git", "describe", "--always", "--dirty").strip()

    def sources_of(self, key):
        return self.all if READS_DOCUMENTS.match(key) else self.code

    def add(self, key, seconds):
        day = datetime.date.today().isoformat()
        self.entries[key] = {"sources": self.sources_of(key), "revision": self.revision, "day": day, "seconds": seconds}
        self.write()

    def write(self):
        os.makedirs(os.path.dirname(STATE), exist_ok=True)
        with open(STATE + ".new", "w", encoding="utf-8") as file:
            json.dump(self.entries, file, indent=0, sort_keys=True)
        os.replace(STATE + ".new", STATE)

    def remove(self, key):
        if self.entries.pop(key, None):
            self.write()

    def now(self, key):
        return key in self.entries and self.entries[key]["sources"] == self.sources_of(key)

    def ever(self, key):
        return key in self.entries


class Part:
    def __init__(self, name, preset, entries):
        self.name, self.preset, self.entries = name, preset, entries  # entries: (number for ctest, name)

    def key(self, entry):
        return f"{self.preset}: {entry}"


def parts_of(kind):
    """The parts of a built preset."""
    listing = json.loads(run("ctest", "--test-dir", f"build/{PRESETS[kind]}", "--show-only=json-v1"))
    areas = {}
    for number, test in enumerate(listing["tests"], 1):
        labels = next((p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"), [])
        if ("long" in labels) != (kind == "long"):
            continue
        if kind == "long":
            area = re.split(r"[/: ]", test["name"])[0]
        else:
            area = labels[0] if labels else "others"
        areas.setdefault(area, []).append((number, test["name"]))
    if kind == "short":
        return [Part("short", PRESETS[kind], [e for area in areas.values() for e in area])]
    return [Part(f"{kind}/{area}", PRESETS[kind], entries) for area, entries in sorted(areas.items())]


# Parts that are one script each.
SCRIPTS = {"mutants": Part("mutants", "release", [(0, "scripts/kill-mutants.sh")]),
           "tidy": Part("tidy", "release", [(0, "scripts/check-tidy.sh --all")])}
KINDS = [*PRESETS, *SCRIPTS]


def build(preset):
    print(f"long tier: building {preset}", flush=True)
    for command in (["cmake", "--preset", preset], ["cmake", "--build", "--preset", preset]):
        made = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if made.returncode != 0:
            print(made.stdout[-20000:])
            return False
    return True


def run_script(part, passed):
    began = time.time()
    _, command = part.entries[0]
    if subprocess.run(command.split(), cwd=ROOT).returncode != 0:
        passed.remove(part.key(command))
        return 0, 1
    passed.add(part.key(command), round(time.time() - began, 1))
    return 1, 0


def run_part(part, entries, passed, jobs):
    """Runs entries of a part; the numbers of those that passed and failed. What ctest says of failures is printed."""
    if part.name in SCRIPTS:
        return run_script(part, passed)
    names = dict(entries)
    numbers = ",".join(str(number) for number, _ in entries)
    ctest = ["ctest", "--test-dir", f"build/{part.preset}", "--output-on-failure", "--timeout", "600", f"-j{jobs}",
             "-I", f"0,0,0,{numbers}"]
    good = bad = 0
    with subprocess.Popen(ctest, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          errors="replace") as process:
        for line in process.stdout:
            result = RESULT.match(line)
            if result is None:
                if not re.match(r"\s*(Start\s+\d+:|Internal ctest|Test project)", line):
                    sys.stdout.write(line)
                continue
            name = names.pop(int(result[1]), None)
            if name is None:
                continue  # what ctest runs before others
            key = part.key(name)
            if result[2] == "Passed":
                passed.add(key, float(result[3]))
                good += 1
            elif "Skipped" in result[2]:
                print(line, end="")
            else:
                print(line, end="", flush=True)
                passed.remove(key)
                bad += 1
    return good, bad + len(names)  # what ctest did not come to, as when it could not start, has not passed


def print_list(passed):
    print(f"{'part':<28}{'passed':>14}{'minutes':>10}  oldest")
    for kind in KINDS:
        if kind in PRESETS and not os.path.exists(os.path.join(ROOT, "build", PRESETS[kind], "CTestTestfile.cmake")):
            print(f"{kind:<28}{'not built':>14}")
            continue
        for part in parts_of(kind) if kind in PRESETS else [SCRIPTS[kind]]:
            keys = [part.key(entry) for _, entry in part.entries]
            known = [passed.entries[key] for key in keys if passed.ever(key)]
            minutes = sum(entry["seconds"] for entry in known) / 60
            oldest = min(known, key=lambda entry: entry["day"], default=None)
            count = sum(passed.now(key) for key in keys)
            print(f"{part.name:<28}{f'{count} of {len(keys)}':>14}{minutes:>10.1f}  " +
                  (f"{oldest['revision']}, {oldest['day']}" if oldest else "never"))


def main():
    arguments = argparse.ArgumentParser(prog="scripts/test.sh --long", description=__doc__,
                                        formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("parts", metavar="PART", nargs="*")
    arguments.add_argument("--again", action="store_true", help="what has passed with these sources, too")
    arguments.add_argument("--ever", action="store_true", help="only what has never passed")
    arguments.add_argument("--list", action="store_true", help="say what has passed, and run nothing")
    arguments.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1, help="tests at a time")
    given = arguments.parse_args()
    passed = Passed()
    if given.list:
        print_list(passed)
        return 0
    for name in given.parts:
        if name.split("/")[0] not in KINDS:
            arguments.error(f"{name}: no such part; --list prints them")
    good = bad = 0
    met = set()
    built = set()
    for kind in KINDS:
        wanted = [name for name in given.parts if name.split("/")[0] == kind]
        if given.parts and not wanted:
            continue
        preset = PRESETS.get(kind)
        if preset and preset not in built:
            passed.look()
            if not build(preset):
                bad += 1
                continue
            built.add(preset)
        for part in parts_of(kind) if preset else [SCRIPTS[kind]]:
            if given.parts and part.name not in wanted and kind not in wanted:
                continue
            met.update({part.name, kind})
            done = passed.ever if given.ever else passed.now
            entries = [e for e in part.entries if given.again or not done(part.key(e[1]))]
            before = len(part.entries) - len(entries)
            if not entries:
                print(f"{part.name}: {before} passed before", flush=True)
                good += before
                continue
            began = time.time()
            now_good, now_bad = run_part(part, entries, passed, given.jobs)
            print(f"{part.name}: {now_good} passed, {now_bad} failed in {(time.time() - began) / 60:.1f} minutes" +
                  (f", {before} passed before" if before else ""), flush=True)
            good += now_good + before
            bad += now_bad
    for name in given.parts:
        if name not in met and bad == 0:
            print(f"long tier: there is no part {name}", file=sys.stderr)
            bad += 1
    print(f"{good} passed, {bad} failed")
    return 0 if bad == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
