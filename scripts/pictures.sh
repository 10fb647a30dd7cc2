#!/usr/bin/env bash
# Makes the pictures of the documents: each command's example runs, and Chromium draws its report. After a build, where
# Chromium is (scripts/setup.sh --browser) and pngquant.
#   scripts/pictures.sh [<part of a name>]
set -euo pipefail
cd "$(dirname "$0")/.."

bin=$PWD/build/release/bin pictures=$PWD/docs/pictures only=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$pictures"
export PATH=$bin:$PATH
cd "$work"

# draw NAME THEME: the page r.html as NAME.png; THEME 1 is light, 0 dark.
draw() {
  chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --window-size=1100,1490 --virtual-time-budget=3000 \
    --blink-settings=preferredColorScheme="$2" --screenshot="$work/$1.png" "file://$work/r.html" >/dev/null 2>&1
  pngquant --force --quality=60-95 --output "$pictures/$1.png" 128 "$work/$1.png"
}
wanted() { [[ $1 == *$only* ]]; }

if wanted smvm; then
  anabranch generate laplacian3d --size 100 --points 27 --out laplacian.npz
  anabranch smvm laplacian.npz --memory 32M --out y.npy >/dev/null
  anabranch smvm laplacian.npz --memory 32M --out y.npy --report r.html
  draw smvm 1
  draw smvm-dark 0
fi
if wanted pagerank; then
  anabranch generate rmat --size 1048576 --out web.npz
  anabranch pagerank web.npz --top 3 --memory 64M --report r.html
  draw pagerank 1
fi
if wanted md5; then
  awk 'BEGIN { for (i = 0; i < 5000000; ++i) print "word" i }' >words.txt
  printf 'word49999987' | md5sum | cut -d' ' -f1 >digests.txt
  printf 'WORD3141592' | md5sum | cut -d' ' -f1 >>digests.txt
  printf 'not there' | md5sum | cut -d' ' -f1 >>digests.txt
  anabranch md5 digests.txt words.txt --rules lower,upper,append-digit --memory 64M --report r.html
  draw md5 1
fi
if wanted audio; then
  # Ten minutes of a tone that rises again and again, with noise.
  python3 - <<'PYTHON'
import array, math, random, wave
rate, seconds = 22050, 600
random.seed(1)
block = array.array("h", (int(12000 * math.sin(2 * math.pi * (200 * t + 150 * t * t)) + random.gauss(0, 900))
                          for t in (i / rate for i in range(rate * 5))))
with wave.open("tone.wav", "wb") as out:
    out.setparams((1, 2, rate, 0, "NONE", ""))
    for _ in range(seconds // 5):
        out.writeframes(block.tobytes())
PYTHON
  anabranch audio tone.wav --out tone.npz --features rms,spectral_centroid,mfcc --memory 64M --report r.html
  draw audio 1
fi
