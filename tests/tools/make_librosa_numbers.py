#!/usr/bin/env python3
"""Writes tests/cli/librosa_numbers.json: what librosa says of some signals, for the tests of `anabranch audio`.

The numbers are stored so that the tests need no librosa; to make them again:

    python3 -m venv venv && venv/bin/pip install librosa==0.11.0
    venv/bin/python tests/tools/make_librosa_numbers.py tests/cli/librosa_numbers.json

The signals are integers that the test makes in the same way (audio_signal.h).
"""
import json
import sys
import warnings

import librosa
import numpy as np

warnings.simplefilter("ignore")  # of short signals


def signal(samples, seed):
    """Noise under a triangle wave whose frequency rises; the third quarter is silence."""
    state, phase, out = seed, 0, []
    for i in range(samples):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        noise = (state >> 16) % 601 - 300
        phase = (phase + 50 + i // 16) % 4000
        triangle = (abs(phase - 2000) - 1000) * 12
        silent = samples // 2 <= i < samples * 3 // 4
        out.append(0 if silent else triangle + noise)
    return np.array(out)


def as_floats(channels):
    """As libsndfile and librosa.load have 16-bit samples of several channels."""
    return librosa.to_mono(np.stack(channels).astype(np.float32) / np.float32(32768))


def spectral(power, rate, mel):
    magnitude = np.sqrt(power)
    feature = librosa.feature
    bands = feature.melspectrogram(S=power, sr=rate, n_mels=mel["n_mels"], fmin=mel["fmin"], fmax=mel["fmax"])
    return {
        "spectral_centroid": feature.spectral_centroid(S=magnitude, sr=rate)[0],
        "spectral_rolloff": feature.spectral_rolloff(S=magnitude, sr=rate)[0],
        "spectral_flatness": feature.spectral_flatness(S=magnitude)[0],
        "melspectrogram": bands.T,
        "mfcc": feature.mfcc(S=librosa.power_to_db(bands), n_mfcc=mel["n_mfcc"]).T,
    }


def framed(y, rate, *, n, hop, center, pad, window, win, lags, order, **mel):
    padded = np.pad(y, n // 2, mode=pad) if center else y
    frames = librosa.util.frame(padded, frame_length=n, hop_length=hop)
    stft = librosa.stft(y, n_fft=n, hop_length=hop, win_length=win, window=window, center=center, pad_mode=pad)
    feature = librosa.feature
    rms = feature.rms(y=y, frame_length=n, hop_length=hop, center=center, pad_mode=pad)[0]
    return {
        "times": librosa.times_like(rms, sr=rate, hop_length=hop),
        "mean": frames.mean(axis=0),
        "rms": rms,
        "zero_crossing_rate": feature.zero_crossing_rate(y, frame_length=n, hop_length=hop, center=center)[0],
        "autocorrelation": librosa.autocorrelate(frames, max_size=lags, axis=0).T,
        "lpc": librosa.lpc(frames.astype(np.float64), order=order, axis=0).T,
        **spectral(np.abs(stft) ** 2, rate, mel),
    }


def of_segments(y, rate, segments, *, n, lags, order, **mel):
    pieces = [y[begin:begin + length] for begin, length in segments]

    def lagged(x):
        r = librosa.autocorrelate(x, max_size=lags)
        return np.pad(r, (0, lags - len(r)))

    columns = [
        librosa.stft(librosa.util.pad_center(x, size=n), n_fft=n, win_length=len(x), center=False) for x in pieces
    ]
    return {
        "times": np.array([begin / rate for begin, _ in segments]),
        "durations": np.array([length / rate for _, length in segments]),
        "mean": np.array([x.mean() for x in pieces]),
        "rms": np.array([np.sqrt(np.mean(x * x)) for x in pieces]),
        "zero_crossing_rate": np.array([librosa.zero_crossings(x, pad=False).mean() for x in pieces]),
        "autocorrelation": np.stack([lagged(x) for x in pieces]),
        "lpc": np.stack([librosa.lpc(x.astype(np.float64), order=order) for x in pieces]),
        **spectral(np.abs(np.concatenate(columns, axis=1)) ** 2, rate, mel),
    }


def case(name, rate, samples, channels, arguments, values):
    def rounded(v):
        return [float(f"{x:.9g}") for x in np.asarray(v, dtype=np.float64).ravel()]

    return {
        "name": name,
        "rate": rate,
        "samples": samples,
        "channels": channels,
        "arguments": arguments,
        "features": {k: {"shape": list(v.shape), "values": rounded(v)} for k, v in values.items()},
    }


def main():
    cases = []
    y = as_floats([signal(2600, 1)])
    defaults = dict(n=2048, hop=512, center=True, pad="constant", window="hann", win=2048, lags=128, order=16)
    mel = dict(n_mels=128, n_mfcc=20, fmin=0, fmax=None)
    cases.append(case("defaults", 22050, 2600, 1, [], framed(y, 22050, **defaults, **mel)))

    y = as_floats([signal(5000, 2), signal(5000, 3)])
    arguments = ["--frame-length", "512", "--hop-length", "300", "--center", "false", "--window", "hamming",
                 "--n-mels", "20", "--n-mfcc", "7", "--fmin", "100", "--fmax", "7000.5", "--max-size", "5",
                 "--lpc-order", "3"]
    options = dict(n=512, hop=300, center=False, pad="constant", window="hamming", win=512, lags=5, order=3)
    mel = dict(n_mels=20, n_mfcc=7, fmin=100, fmax=7000.5)
    cases.append(case("not centred, two channels", 16000, 5000, 2, arguments, framed(y, 16000, **options, **mel)))

    y = as_floats([signal(3001, 4), signal(3001, 5), signal(3001, 6)])
    for pad in "reflect", "edge":
        arguments = ["--frame-length", "1024", "--hop-length", "700", "--pad-mode", pad, "--window", "blackman",
                     "--win-length", "601", "--n-mels", "10", "--n-mfcc", "4", "--max-size", "3", "--lpc-order", "2"]
        options = dict(n=1024, hop=700, center=True, pad=pad, window="blackman", win=601, lags=3, order=2)
        mel = dict(n_mels=10, n_mfcc=4, fmin=0, fmax=None)
        cases.append(case(f"padding: {pad}", 48000, 3001, 3, arguments, framed(y, 48000, **options, **mel)))

    y = as_floats([signal(6000, 7)])
    segments = [(0, 1500), (10, 40), (10, 2048), (2000, 9), (2100, 999), (5000, 1000)]
    arguments = ["--n-mels", "12", "--n-mfcc", "5", "--max-size", "16", "--lpc-order", "4"]
    mel = dict(n_mels=12, n_mfcc=5, fmin=0, fmax=None)
    values = of_segments(y, 8000, segments, n=2048, lags=16, order=4, **mel)
    cases.append({**case("segments", 8000, 6000, 1, arguments, values), "segments": segments})

    with open(sys.argv[1], "w") as out:
        out.write('{"made_by": "librosa %s, numpy %s",\n"cases": [\n' % (librosa.__version__, np.__version__))
        out.write(",\n".join(json.dumps(c) for c in cases) + "\n]}\n")


if __name__ == "__main__":
    main()
