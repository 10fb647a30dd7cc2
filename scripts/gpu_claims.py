"""Holds what was measured against what was claimed: gpu-check's closing table.

bench/gpu/claims.json lists the claims. Of each one:

  claim       the sentence
  each        words for which there is a claim each; they stand for {} in all its other texts
  contest     where the figure is looked for: a contest of bench_gpu, or cpu/ and one of the CPU's benchmarks
  figure      "contender", and "key" of its line (gb_per_s unless said). Of seconds two are compared by their inverses
  by          the figure is a share of the best of these; each may have a "contest" of its own
  at_least, at_most   what is claimed; unit: "%", "x" (shares), "us", "GB/s"
  only_on     a word of the GPU's name without which nothing is claimed
  part        instead of all this: all of gpu-check's lines in that part have passed
  why_not     instead of all this: why there is no figure
"""

import json

MEASURED = "gb_per_s"
UNITS = {"%": (100, "{:.0f} %"), "x": (1, "{:.2f}"), "us": (1e6, "{:.1f} us"), "GB/s": (1, "{:.0f} GB/s")}


class NotMeasured(Exception):
    """Says why."""


def read(path):
    """The claims of a file, each by itself; none where there is no file."""
    try:
        text = path.read_text()
    except OSError:
        return []
    return [one for claim in json.loads(text)["claims"] for one in expanded(claim)]


def expanded(claim):
    def put(word, into):
        if isinstance(into, str):
            return into.replace("{}", word)
        if isinstance(into, list):
            return [put(word, part) for part in into]
        if isinstance(into, dict):
            return {key: put(word, part) for key, part in into.items()}
        return into

    words = claim.get("each")
    rest = {key: part for key, part in claim.items() if key != "each"}
    return [put(word, rest) for word in words] if words else [rest]


class Measured:
    """What a report says, by contest and contender."""

    def __init__(self, report):
        self.report = report
        self.contests = {contest["name"]: contest for contest in report["benchmarks"]["contests"]}

    def why_no_contest(self, name):
        parts = self.report["parts"]
        for part in ("bench", "cpu"):
            for line in parts.get(part, []):
                if line["name"] == name or line["name"] == "all":
                    return line["result"]
        return "it was not asked for" if parts else "nothing has been done"

    def value(self, contest, what):
        """How much of it, more being better or, of seconds, worse."""
        name, key = what.get("contest", contest), what.get("key", MEASURED)
        if name not in self.contests:
            raise NotMeasured(f"{name}: {self.why_no_contest(name)}")
        found = self.contests[name]
        if "error" in found:
            raise NotMeasured(f"{name}: {found['error']}")
        line = next((line for line in found["lines"] if line["contender"] == what["contender"]), None)
        if line is None:
            raise NotMeasured(found.get("why_fewer") or f"{name} has no {what['contender']}")
        if "error" in line:
            raise NotMeasured(f"{what['contender']}: {line['error']}")
        if key not in line:
            raise NotMeasured(line.get("why_no_" + key) or f"{what['contender']}: no {key}")
        return line[key]


def figure_of(claim, measured):
    figure, by = claim["figure"], claim.get("by", [])
    value = measured.value(claim["contest"], figure)
    if not by:
        return value
    others, missing = [], []
    for other in by:
        try:
            others.append(speed(other, measured.value(claim["contest"], other)))
        except NotMeasured as why:
            missing.append(str(why))
    if not others:
        raise NotMeasured("; ".join(missing))
    return speed(figure, value) / max(others)


def speed(what, value):
    return 1 / value if what.get("key") == "seconds" else value


def judge_part(claim, report):
    results = [line["result"] for line in report["parts"].get(claim["part"], [])]
    failed = sum(result.startswith("failed") for result in results)
    passed = results.count("passed")
    if not passed and not failed:
        raise NotMeasured(results[0] if results else "it was not asked for")
    text = f"{passed} passed, {failed} failed, {len(results) - passed - failed} left out or skipped"
    if not failed and any(result.startswith("left out") for result in results):
        raise NotMeasured(text)
    return text, failed == 0


def judge_one(claim, measured):
    """Figure and whether the claim holds: text, and "holds", "does not hold" or "not measured"."""
    try:
        if "why_not" in claim:
            raise NotMeasured(claim["why_not"])
        gpu = measured.report["machine"].get("gpu")
        if not isinstance(gpu, dict) and not claim.get("contest", "").startswith("cpu/"):
            raise NotMeasured("no GPU")
        if "part" in claim:
            text, holds = judge_part(claim, measured.report)
        else:
            if claim.get("only_on", "") not in (gpu["name"] if isinstance(gpu, dict) else ""):
                raise NotMeasured(f"it is said of an {claim['only_on']}")
            value = figure_of(claim, measured)
            holds = claim.get("at_least", value) <= value <= claim.get("at_most", value)
            bound = [f"{word} {in_unit(claim, claim[key])}" for key, word in (("at_least", ">="), ("at_most", "<="))
                     if key in claim]
            text = f"{in_unit(claim, value)} ({', '.join(bound)})"
        return text, "holds" if holds else "does not hold"
    except NotMeasured as why:
        return "not measured: " + str(why), "not measured"


def in_unit(claim, value):
    factor, text = UNITS[claim["unit"]]
    return text.format(value * factor)


def judge(claims, report):
    measured = Measured(report)
    out = []
    for claim in claims:
        figure, holds = judge_one(claim, measured)
        out.append({"claim": claim["claim"], "figure": figure, "holds": holds})
    return out


def markdown(judged, heading):
    """Ready to be put into docs/benchmarks.md."""
    counts = {word: sum(line["holds"] == word for line in judged) for word in ("holds", "does not hold", "not measured")}
    out = [heading, "", f"{counts['holds']} hold, {counts['does not hold']} do not hold, "
           f"{counts['not measured']} were not measured.", "", "| claim | figure | holds |", "|---|---|---|"]
    marks = {"holds": "yes", "does not hold": "**no**", "not measured": ""}
    for line in judged:
        figure = " ".join(line["figure"].replace("|", "/").split())
        out.append(f"| {line['claim']} | {figure} | {marks[line['holds']]} |")
    return "\n".join(out) + "\n"
