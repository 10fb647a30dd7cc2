"""`anabranch pagerank` and programs of the GAP benchmark over the same R-MAT graphs."""
import os
import subprocess

from support.processes import Contender, time_process

ITERATIONS, REPEATS = 20, 6


def converter_of(gap):
    return os.path.join(os.path.dirname(gap[0]), "converter")


def write_graphs(command, scale, gap, folder):
    """A graph of 2^scale nodes as .npz, and, where there are programs of GAP's, as the .sg that their `converter` makes; the paths."""
    npz, mtx, sg = (os.path.join(folder, "graph." + ending) for ending in ("npz", "mtx", "sg"))
    for file in (npz, mtx) if gap else (npz,):
        subprocess.run([command, "generate", "rmat", "--size", str(1 << scale), "--out", file], check=True,
                       stdout=subprocess.DEVNULL)
    if gap:
        subprocess.run([converter_of(gap), "-f", mtx, "-b", sg], check=True, stdout=subprocess.DEVNULL)
        os.remove(mtx)
    return npz, sg


def time_round(call, threads, folder, says, environment=None):
    """Of a round of the power iteration: what so many repetitions take less what one takes."""
    many, single = (time_process(call(repeats), threads, folder, says, environment) for repeats in (REPEATS, 1))
    return (many - single) / ((REPEATS - 1) * ITERATIONS)


def rankers(command, gap, threads, npz, sg):
    """Ours first. gap: paths of its programs."""
    folder = os.path.dirname(npz)
    yield Contender("anabranch", lambda: time_round(
        lambda repeats: [command, "pagerank", npz, "--iterations", str(ITERATIONS), "--tolerance", "0",
                         "--threads", str(threads), "--repeat", str(repeats)], threads, folder, b"Rest"))
    environment = {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
    for program in gap:
        yield Contender(os.path.basename(program), lambda program=program: time_round(
            lambda repeats: [program, "-f", sg, "-i", str(ITERATIONS), "-t", "0", "-n", str(repeats)],
            threads, folder, b"Average Time", environment))
