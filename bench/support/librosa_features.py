"""librosa: reads a file of sound and computes features of it, and writes nothing. Where its bench is the working directory:

    python3 -m support.librosa_features FILE rms,mfcc,...        # once a line of its input (processes.WarmProcess)
"""
import sys

import librosa
import numpy as np

from support.processes import serve

feature = librosa.feature


def frames_of(y):
    return librosa.util.frame(np.pad(y, 1024), frame_length=2048, hop_length=512)


FUNCTIONS = {
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


def main():
    path, wanted = sys.argv[1], sys.argv[2].split(",")

    def compute():
        y, sr = librosa.load(path, sr=None)
        for name in wanted:
            FUNCTIONS[name](y, sr)

    serve(compute)


if __name__ == "__main__":
    main()
