#!/usr/bin/env python3
"""`anabranch audio` beside librosa, over the same file: seconds, medians of rounds in turn.

    python3 -m venv venv && venv/bin/pip install librosa==0.11.0
    venv/bin/python bench/librosa_audio.py build/release/bin/anabranch [--file sound.wav] [--minutes 10] [--rounds 7]

The command is a process each time: it starts, reads the file, computes, and writes an .npz. librosa is imported, its own kernels
are compiled, and it has run once over the file; it reads the file and computes, and writes nothing. Processor time leaves out what
other processes took.
"""
import argparse
import os
import random
import resource
import statistics
import subprocess
import tempfile
import time

import librosa
import numpy as np
import soundfile

feature = librosa.feature
ROUNDS_OF = {
    "rms": lambda y, sr: feature.rms(y=y),
    "zero_crossing_rate": lambda y, sr: feature.zero_crossing_rate(y),
    "spectral_centroid": lambda y, sr: feature.spectral_centroid(y=y, sr=sr),
    "spectral_rolloff": lambda y, sr: feature.spectral_rolloff(y=y, sr=sr),
    "spectral_flatness": lambda y, sr: feature.spectral_flatness(y=y),
    "melspectrogram": lambda y, sr: feature.melspectrogram(y=y, sr=sr),
    "mfcc": lambda y, sr: feature.mfcc(y=y, sr=sr),
    "autocorrelation": lambda y, sr: librosa.autocorrelate(frames_of(y), max_size=128, axis=0),
    "lpc": lambda y, sr: librosa.lpc(np.ascontiguousarray(frames_of(y)), order=16, axis=0),
}
USUAL = ["rms", "zero_crossing_rate", "spectral_centroid", "spectral_rolloff", "spectral_flatness", "mfcc"]


def frames_of(y):
    return librosa.util.frame(np.pad(y, 1024), frame_length=2048, hop_length=512)


def make_file(path, minutes):
    """Tones under noise, another mixture each second."""
    rate, random_numbers = 44100, np.random.default_rng(1)
    with soundfile.SoundFile(path, "w", rate, 1, subtype="PCM_16") as out:
        for second in range(int(minutes * 60)):
            t = np.arange(rate) / rate
            tone = np.sin(2 * np.pi * (110 + 37 * (second % 50)) * t) + 0.5 * np.sin(2 * np.pi * 2500 * t * t)
            out.write(0.2 * tone * np.exp(-2 * t) + 0.02 * random_numbers.standard_normal(rate))


def by_librosa(path, wanted):
    y, sr = librosa.load(path, sr=None)
    for name in wanted:
        ROUNDS_OF[name](y, sr)


def processor_time():
    every = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(one.ru_utime + one.ru_stime for one in every)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("command")
    arguments.add_argument("--file")
    arguments.add_argument("--minutes", type=float, default=10)
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--quick", action="store_true", help="the usual set of features only")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.file or os.path.join(folder, "sound.wav")
        if not given.file:
            make_file(path, given.minutes)

        def by_command(wanted, threads):
            subprocess.run(
                [given.command, "audio", path, "--out", os.path.join(folder, "f.npz"), "--features", ",".join(wanted),
                 "--threads", str(threads)],
                check=True, stdout=subprocess.DEVNULL)

        sets = [USUAL] if given.quick else [USUAL, list(ROUNDS_OF)] + [[name] for name in ROUNDS_OF]
        print(f"librosa {librosa.__version__}, {soundfile.info(path).duration:.0f} s of audio, {given.rounds} rounds")
        for wanted in sets:
            contenders = {
                "librosa": lambda w=wanted: by_librosa(path, w),
                "1 thread": lambda w=wanted: by_command(w, 1),
                "2 threads": lambda w=wanted: by_command(w, 2),
            }
            seconds = {name: [] for name in contenders}
            busy = {name: [] for name in contenders}
            for run in contenders.values():
                run()
            for _ in range(given.rounds):
                for name, run in random.sample(list(contenders.items()), len(contenders)):
                    begin, busy_before = time.perf_counter(), processor_time()
                    run()
                    seconds[name].append(time.perf_counter() - begin)
                    busy[name].append(processor_time() - busy_before)
            median = {name: statistics.median(times) for name, times in seconds.items()}
            work = {name: statistics.median(times) for name, times in busy.items()}
            print(f"{','.join(wanted)}")
            for name, times in seconds.items():
                print(f"  {name:<10} {median[name]:8.3f} s  ({min(times):.3f} to {max(times):.3f})  "
                      f"librosa / this {median['librosa'] / median[name]:6.2f}; "
                      f"processor {work[name]:8.3f} s, {work['librosa'] / work[name]:6.2f}")


if __name__ == "__main__":
    main()
