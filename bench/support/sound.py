"""A file of sound, the same one each time, and the features that are asked for."""
import array
import math
import random
import wave

SIX_FEATURES = ["rms", "zero_crossing_rate", "spectral_centroid", "spectral_rolloff", "spectral_flatness", "mfcc"]
ALL_FEATURES = [*SIX_FEATURES, "melspectrogram", "autocorrelation", "lpc"]


def second_of_sound(number, rate, numbers):
    """Tones that fade, under noise."""
    samples = array.array("h")
    for i in range(rate):
        t = i / rate
        tone = math.sin(2 * math.pi * (110 + 37 * number) * t) + 0.5 * math.sin(2 * math.pi * 2500 * t * t)
        samples.append(int(32767 * (0.2 * tone * math.exp(-2 * t) + 0.02 * numbers.gauss(0, 1))))
    return samples.tobytes()


def write_sound(path, rate, minutes):
    """A .wav of one channel of 16 bits: another mixture each second, the same ones every minute."""
    numbers = random.Random(1)
    seconds = max(1, round(60 * minutes))
    minute = [second_of_sound(number, rate, numbers) for number in range(min(seconds, 60))]
    with wave.open(path, "wb") as out:
        out.setparams((1, 2, rate, 0, "NONE", ""))
        for second in range(seconds):
            out.writeframes(minute[second % 60])
