// `anabranch audio`: bad input of every kind, and command lines that make no sense.

#include "support/catch.h"

#include <limits>

#include "audio_files.h"
#include "command.h"

using namespace cli_test;

namespace {

struct Refusal {
  std::vector<std::string> arguments;  ///< between "audio a.wav" and "--out f.npz"
  int status;
  std::string says;
};

std::string whole() { return wav(audio_signal(3000, 1)); }

}  // namespace

TEST_CASE("audio: command lines that make no sense") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.wav", whole());
  io_test::write_file(dir / "s.txt", "0,100\n");
  const std::string a = dir / "a.wav", s = dir / "s.txt", f = dir / "f.npz";
  const std::vector<Refusal> all{
      {{a}, 2, "--out is required"},
      {{a, "--out", dir / "f.txt"}, 2, "written as .npz or .csv"},
      {{a, "--json"}, 2, "--out is required"},
      {{"--out", f}, 2, "IN"},
      {{a, "--out", a}, 2, "npz or .csv"},
      {{a, "--out", f, "--features", "rms,loudness"},
       2,
       "'loudness' is no feature; there are mean, rms, zero_crossing_rate"},
      {{a, "--out", f, "--features", "rms,"}, 2, "'' is no feature"},
      {{a, "--out", f, "--features", "rms,all"},
       2,
       "--features: 'all' are all of them already: it stands alone"},
      {{a, "--out", f, "--features", "rms,mfcc,rms"}, 2, "rms is there twice"},
      {{a, "--out", f, "--frame-length", "1000"}, 2, "takes a power of two"},
      {{a, "--out", f, "--frame-length", "1"}, 2, "takes a power of two from 2 on"},
      {{a, "--out", f, "--frame-length", "1e3"}, 2, "--frame-length: '1e3' is no whole number"},
      {{a, "--out", f, "--n-mels", "65537"}, 2, "--n-mels: '65537' is not from 1 to 65536"},
      {{a, "--out", f, "--frame-length", "0"}, 2, "--frame-length"},
      {{a, "--out", f, "--hop-length", "-3"}, 2, "--hop-length"},
      {{a, "--out", f, "--center", "perhaps"}, 2, "--center"},
      {{a, "--out", f, "--pad-mode", "wrap"}, 2, "--pad-mode"},
      {{a, "--out", f, "--window", "kaiser"}, 2, "--window"},
      {{a, "--out", f, "--win-length", "4096"}, 2, "more than --frame-length"},
      {{a, "--out", f, "--n-mfcc", "129"}, 2, "more than --n-mels"},
      {{a, "--out", f, "--fmin", "-1"}, 2, "0 <= fmin < fmax"},
      {{a, "--out", f, "--fmin", "200", "--fmax", "200"}, 2, "0 <= fmin < fmax"},
      {{a, "--out", f, "--fmin", "inf"}, 2, "finite numbers of Hz"},
      {{a, "--out", f, "--fmin", "nan"}, 2, "finite numbers of Hz"},
      {{a, "--out", f, "--fmax", "inf"}, 2, "finite numbers of Hz"},
      {{a, "--out", f, "--fmin", "11025"},
       2,
       "a.wav has 22050 samples a second, and so no frequencies from 11025 Hz on"},
      {{a, "--out", f, "--fmin", "30000", "--fmax", "40000", "--features", "melspectrogram"},
       2,
       "--fmin 30000: "},
      {{a, "--out", f, "--features", "lpc", "--frame-length", "16"}, 2, "--lpc-order 16"},
      {{a, "--out", f, "--features", "autocorrelation", "--frame-length", "16"}, 2, "--max-size 128"},
      {{a, "--out", f, "--features", "rms", "--n-mels", "9", "--fmin", "1"},
       2,
       "--n-mels, --fmin: --features has no melspectrogram, nor mfcc"},
      {{a, "--out", f, "--features", "rms", "--fmax", "900"}, 2, "--fmax: --features has no"},
      {{a, "--out", f, "--features", "melspectrogram", "--n-mfcc", "9"},
       2,
       "--n-mfcc: --features has no mfcc"},
      {{a, "--out", f, "--lpc-order", "9"}, 2, "--lpc-order: --features has no lpc"},
      {{a, "--out", f, "--features", "lpc", "--lpc-order", "129"},
       2,
       "--lpc-order: '129' is not from 1 to 128"},
      {{a, "--out", f, "--max-size", "9"}, 2, "--max-size: --features has no autocorrelation"},
      {{a, "--out", f, "--features", "rms,lpc", "--window", "hann", "--win-length", "9"},
       2,
       "--window, --win-length: --features has no spectral feature"},
      {{a, "--out", f, "--features", "rms", "--segments", s, "--frame-length", "512"},
       2,
       "--frame-length: segments have their own lengths"},
      {{a, "--out", f, "--center", "false", "--pad-mode", "edge"},
       2,
       "--pad-mode: nothing is padded with --center false"},
      {{a, "--out", f, "--explain"}, 2, "--out: nothing is run with --explain"},
      {{a, "--out", dir / "f"},
       2,
       "f: features are written as .npz or .csv, which the end of the name has to say"},
      {{a, a, "--out", f}, 2, "would be called"},
      {{a, "--out", f, "--segments", s, "--hop-length", "10"}, 2, "--segments"},
      {{a, "--out", f, "--segment-unit", "seconds"}, 2, "--segments"},
      {{a, "--out", f, "--report", dir / "r.pdf"}, 2, ".html"},
      {{a, "--out", f, "--segments", s, "--trace", s}, 2, "this is the file of segments itself"},
  };
  for (const auto& [arguments, status, says] : all) {
    std::vector<std::string> line{"audio"};
    line.insert(line.end(), arguments.begin(), arguments.end());
    const Outcome o = command(line);
    INFO(arguments.back() << ": " << o.err);
    CHECK(o.status == status);
    CHECK(o.err.find(says) != std::string::npos);
    CHECK(o.out.empty());
    CHECK(dir.files() == 2);
  }
  // Names end in letters of either case.
  CHECK(command({"audio", a, "--out", dir / "g.CSV", "--features", "rms"}).status == 0);
  CHECK(io_test::read_file(dir / "g.CSV").starts_with("time,rms\n"));
  CHECK(command({"audio", a, "--out", dir / "g.NPZ", "--features", "rms"}).status == 0);
  CHECK(io_test::read_file(dir / "g.NPZ").starts_with("PK"));
  // Bands that end above all frequencies are empty there, however far.
  CHECK(command({"audio", a, "--out", f, "--fmin", "11024", "--fmax", "1e300"}).status == 0);
  // Without mfcc there are no coefficients that would be more than the bands.
  CHECK(command({"audio", a, "--out", f, "--features", "melspectrogram", "--n-mels", "10"}).status == 0);
  // Frames of any length where there is no Fourier transform.
  CHECK(command({"audio", a, "--out", f, "--features", "rms,lpc", "--frame-length", "1000"}).status == 0);
}

TEST_CASE("audio: files that are none, damaged, or of no use") {
  const TemporaryDirectory dir;
  const std::string bytes = whole();
  const auto floats = [](float bad) {
    std::vector<float> samples(40'000, 0.25F);
    samples[33'333] = bad;
    return wav(samples);
  };
  struct File {
    std::string bytes, says;
    std::vector<std::string> arguments{};
  };
  const std::vector<File> all{
      {"this is text, and not sound, however long it goes on",
       "a.wav: no audio file of a known format, which are WAV, FLAC, OGG and others (libsndfile: "},
      {"", "a.wav: the file is empty"},
      {bytes.substr(0, 4000), "but the file ends"},
      {bytes.substr(0, 20),
       "a.wav: a chunk at byte 12 has 16 bytes, but the file ends 0 bytes behind its beginning"},
      {wav(std::vector<std::int16_t>{}), "there are no samples in it"},
      {std::string(".snd\0\0\0\x18\0\0\x9c\x40\0\0\0\3\0\0\x1f\x40\0\0\0\1", 24) + bytes,
       "the sound at byte 24 has 40000 bytes, but the file ends 6044 bytes behind its beginning: it is cut "
       "off"},
      {floats(std::numeric_limits<float>::quiet_NaN()), "sample 33333 is nan, no finite number"},
      {floats(-std::numeric_limits<float>::infinity()), "sample 33333 is -inf, no finite number"},
      {wav(std::vector<double>{0.5, 1e300, 0.5}),
       "sample 1 is inf, no finite number, or beyond the range of a float"},
      {bytes, "3000 samples are less than a frame of 4096", {"--frame-length", "4096", "--center", "false"}},
      {bytes, "--pad-mode reflect mirrors 4096", {"--frame-length", "8192", "--pad-mode", "reflect"}},
  };
  for (const File& file : all) {
    io_test::write_file(dir / "a.wav", file.bytes);
    std::vector<std::string> line{"audio", dir / "a.wav", "--out", dir / "f.npz"};
    line.insert(line.end(), file.arguments.begin(), file.arguments.end());
    const Outcome o = command(line);
    INFO(file.says << ": " << o.err);
    CHECK(o.status == 3);
    CHECK(o.err.find(file.says) != std::string::npos);
    CHECK(o.out.empty());
    CHECK(dir.files() == 1);
  }
  for (const std::string& missing : {std::string(dir / "none.wav"), dir.path()}) {
    const Outcome o = command({"audio", missing, "--out", dir / "f.npz"});
    CHECK(o.status == 4);
    CHECK(o.err.find(missing) != std::string::npos);
  }
  // One bad file of several: nothing is written, whatever came before it.
  io_test::write_file(dir / "a.wav", bytes);
  io_test::write_file(dir / "b.wav", floats(std::numeric_limits<float>::quiet_NaN()));
  io_test::write_file(dir / "f.npz", "what was there before");
  const Outcome o = command({"audio", dir / "a.wav", dir / "b.wav", "--out", dir / "f.npz"});
  CHECK(o.status == 3);
  CHECK(o.err.find("b.wav: sample 33333") != std::string::npos);
  CHECK(io_test::read_file(dir / "f.npz") == "what was there before");
  CHECK(command({"audio", dir / "a.wav", "--out", dir / "nowhere/f.npz"}).status == 4);
  const Outcome little = command({"audio", dir / "a.wav", "--out", dir / "f.npz", "--memory", "1M"});
  CHECK(little.status == 5);
  CHECK(
      little.err.find(
          "a.wav: a block of 16384 frames with 1 channel takes 1114128 bytes with the 1048576 that decoding "
          "takes: more than the 1048576 bytes of memory the source may use\n") != std::string::npos);
}

TEST_CASE("audio: tables that do not fit into memory are not computed") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.wav", whole());
  struct Table {
    std::vector<std::string> arguments;
    std::string says;
  };
  const std::vector<Table> all{
      {{"--n-mels", "16000", "--n-mfcc", "16000", "--memory", "64M"},
       "the numbers of a cosine transform of 16000 mel bands into 16000 coefficients (976.6 MiB) do not fit "
       "into "
       "a memory bound of 64.0 MiB"},
      {{"--frame-length", "16777216", "--memory", "32M"},
       "the weights of a window of 16777216 samples (64.0 MiB) do not fit into a memory bound of 32.0 MiB"},
      {{"--frame-length", "1048576", "--memory", "10M"},
       "the roots of a Fourier transform of 1048576 samples (8.3 MiB) do not fit into a memory bound of 10.0 "
       "MiB, of which other tables take 4.0 MiB"},
      {{"--frame-length", "1048576", "--features", "melspectrogram", "--memory", "20M"},
       "a.wav: the weights of 128 mel bands ("},
  };
  for (const auto& [arguments, says] : all) {
    std::vector<std::string> line{"audio", dir / "a.wav", "--out", dir / "f.npz"};
    line.insert(line.end(), arguments.begin(), arguments.end());
    const Outcome o = command(line);
    INFO(says << ": " << o.err);
    CHECK(o.status == 5);
    CHECK(o.err.find(says) != std::string::npos);
    CHECK(o.out.empty());
    CHECK(dir.files() == 1);
    if (!sanitized) CHECK(o.peak_resident_bytes < 100 << 20);
  }
}

TEST_CASE("audio: weights of a window take no memory where there are no spectra of such windows") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.wav", whole());
  io_test::write_file(dir / "s.txt", "0,100\n");
  const std::string a = dir / "a.wav", f = dir / "f.npz",
                    table = "the weights of a window of 1048576 samples";
  const auto says = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"audio", a, "--out", f, "--frame-length", "1048576", "--memory", "2M"});
    return command(more).err;
  };
  CHECK(says({"--features", "rms"}).find(table) == std::string::npos);
  CHECK(says({"--features", "spectral_centroid"}).find(table) != std::string::npos);
  CHECK(says({"--features", "spectral_centroid", "--segments", dir / "s.txt"}).find(table) ==
        std::string::npos);
}

TEST_CASE("audio: where spool files cannot be made the message names the folder, and what chooses it") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.wav", whole());
  const Outcome o = command({"audio", dir / "a.wav", "--out", dir / "f.npz", "--features", "rms"},
                            {.environment = {"TMPDIR=" + (dir / "none")}});
  CHECK(o.status == 4);
  CHECK(o.err.find("anabranch: rms, kept for a while in the folder " + (dir / "none") +
                   " (TMPDIR can name another one): making a file: No such file or directory\n") == 0);
  CHECK(dir.files() == 1);
}

TEST_CASE("audio: a segment that does not fit into memory") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.wav", wav(std::vector<std::int16_t>(2'000'000)));
  io_test::write_file(dir / "s.txt", "0 100\n50 1500000\n");
  const std::vector<std::string> line{"audio", dir / "a.wav", "--segments",  dir / "s.txt", "--features",
                                      "rms",   "--out",       dir / "f.csv", "--memory"};
  const auto with_memory = [&](const std::string& size) {
    auto all = line;
    all.push_back(size);
    return command(all);
  };
  const Outcome o = with_memory("10M");
  INFO(o.err);
  CHECK(o.status == 5);
  CHECK(o.err.find("a.wav: with a longest segment of 1500000 samples") != std::string::npos);
  CHECK(dir.files() == 2);
  CHECK(with_memory("40M").status == 0);
}

TEST_CASE("audio: more segments than memory holds") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.wav", whole());
  std::string lines;
  for (int i = 0; i < 100'000; ++i) lines += "0 1\n";
  io_test::write_file(dir / "s.txt", lines);
  const Outcome o = command({"audio", dir / "a.wav", "--segments", dir / "s.txt", "--out", dir / "f.npz",
                             "--features", "rms", "--memory", "1M"});
  INFO(o.err);
  CHECK(o.status == 5);
  CHECK(o.err.find("s.txt: line 32769: the segments up to here are 32768, too many for the memory bound") !=
        std::string::npos);
}

TEST_CASE("audio: segments that make no sense") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.wav", whole());
  struct File {
    std::string lines, says;
    std::vector<std::string> arguments{};
  };
  const std::vector<File> all{
      {"", "there are no segments in it"},
      {"# none\n\n", "there are no segments in it"},
      {"0,100\n5 100 7\n", "line 2: a segment is two numbers"},
      {"0;100\n",
       "line 1: a segment is two numbers, where it begins and its length, with a comma or white space"},
      {"0,hundred\n", "line 1: a segment is two numbers"},
      {"0,nan\n", "line 1: a segment is two numbers"},
      {"0,1e400\n", "line 1: not within"},
      {"inf,1\n", "line 1: not within"},
      {"0.5,100\n", "no whole numbers of samples"},
      {"-5,100\n", "not within the 3000 samples"},
      {"2950,51\n", "not within the 3000 samples"},
      {"nan,100\n", "line 1: "},
      {"1e300,100\n", "not within the 3000 samples"},
      {"5,0\n", "0 samples; what is asked for takes at least 1\n", {"--features", "rms"}},
      {"5,2049\n", "2049 samples; what is asked for takes at least 1, and at most 2048 (--frame-length)\n"},
      {"5,16\n",
       "16 samples; what is asked for takes at least 17, one more than --lpc-order\n",
       {"--features", "lpc"}},
      {"5,16\n4,16\n", "line 2: it begins before the segment above does"},
      {"0.13,0.1\n", "not within", {"--segment-unit", "seconds"}},
  };
  for (const File& file : all) {
    io_test::write_file(dir / "s.txt", file.lines);
    std::vector<std::string> line{"audio",       dir / "a.wav", "--segments",
                                  dir / "s.txt", "--out",       dir / "f.npz"};
    line.insert(line.end(), file.arguments.begin(), file.arguments.end());
    const Outcome o = command(line);
    INFO(file.says << ": " << o.err);
    CHECK(o.status == 3);
    CHECK(o.err.find(file.says) != std::string::npos);
    CHECK(dir.files() == 2);
  }
  io_test::write_file(dir / "b.wav", whole());
  CHECK(command({"audio", dir / "a.wav", dir / "b.wav", "--segments", dir / "s.txt", "--out", dir / "f.npz"})
            .status == 2);
  CHECK(command({"audio", dir / "a.wav", "--segments", dir / "none.txt", "--out", dir / "f.npz"}).status ==
        4);
}
