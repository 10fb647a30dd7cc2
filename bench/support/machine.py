"""What figures depend on: the machine, the day, what else ran, versions."""
import datetime
import os
import re
import subprocess
import sys


def load_average():
    return ", ".join(f"{load:.2f}" for load in os.getloadavg())


def describe_machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"^model name\s*: (.*)$", file.read(), re.MULTILINE)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return (f"{model[1] if model else 'unknown processor'}, {len(os.sched_getaffinity(0))} processors, "
            f"{memory / 2**30:.0f} GiB; {datetime.datetime.now():%Y-%m-%d %H:%M}")


def first_line(call):
    """What a command prints first; nothing where it cannot be run or prints nothing."""
    try:
        done = subprocess.run(call, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True,
                              check=False)
    except OSError:
        return ""
    return next(iter(done.stdout.splitlines()), "")


def version_of_module(name):
    """Nothing where this Python cannot import it."""
    return first_line([sys.executable, "-c", f"import {name}; print({name}.__version__)"])
