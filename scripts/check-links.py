#!/usr/bin/env python3
"""Checks that what the documents link to is there: files, folders, and headings as GitHub names them."""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")


def without_code(text):
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(path):
    """Those of a document's headings; a second one of the same text ends with -1."""
    found = {}
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"^```.*?^```", "", file.read(), flags=re.M | re.S)
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", text, flags=re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = found.get(name, 0)
        found[name] = count + 1
        if count:
            found[f"{name}-{count}"] = 1
    return set(found)


def main():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, text=True,
                            stdout=subprocess.PIPE, check=True).stdout.split()
    bad = links = 0
    for document in sorted(listed):
        path = os.path.join(ROOT, document)
        if not os.path.isfile(path):
            continue
        with open(path, encoding="utf-8") as file:
            text = without_code(file.read())
        for match in LINK.finditer(text):
            target = match[1] or match[2]
            if re.match(r"[a-z]+:", target):
                continue
            links += 1
            name, _, anchor = target.partition("#")
            there = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if not os.path.exists(there):
                what = "no such file"
            elif anchor and (not there.endswith(".md") or anchor not in anchors(there)):
                what = "no such heading"
            else:
                continue
            print(f"{document}: {target}: {what}", file=sys.stderr)
            bad += 1
    print(f"{links} links, {bad} broken")
    return 0 if links and not bad else 1


if __name__ == "__main__":
    sys.exit(main())
