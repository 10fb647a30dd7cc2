"""Lists of words and of digests, the same ones each time."""
import hashlib
import random

LETTERS = b"aaaabcdeeeefghiiijklmnnnoooprrrsssttuvwyzABCDEMS0011223345678999_.!"


def write_words(path, count):
    """Words of 3 to 15 letters, some nine; the last one."""
    numbers = random.Random(1)
    with open(path, "wb") as out:
        while count > 0:
            some = min(count, 100_000)
            sizes = [3 + (b & 3) + (b >> 2 & 3) + (b >> 4 & 3) + (b >> 6) for b in numbers.randbytes(some)]
            letters = numbers.randbytes(sum(sizes)).translate(bytes(LETTERS[i % len(LETTERS)] for i in range(256)))
            words, at = [], 0
            for size in sizes:
                words.append(letters[at:at + size])
                at += size
            out.write(b"\n".join(words) + b"\n")
            count -= some
    return words[-1]


def write_digests(path, count, last):
    """Those of words that are on no list, and of the last one."""
    digests = [hashlib.md5(b"no word %d" % i).hexdigest() for i in range(count - 1)]
    digests.append(hashlib.md5(last).hexdigest())
    with open(path, "w", encoding="ascii") as out:
        out.write("\n".join(digests) + "\n")
