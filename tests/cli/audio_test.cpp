// `anabranch audio` beside librosa, whose numbers are stored, and the forms of its input and output.

#include "support/catch.h"

#include <sndfile.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <numbers>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "audio_files.h"
#include "command.h"
#include "run_json.h"
#include "sound_file.h"
#include "support/page_file.h"
#include "support/trace_file.h"

using namespace cli_test;
using namespace std::chrono_literals;

namespace {

using Arguments = std::vector<std::string>;

Arguments with(Arguments all, const Arguments& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// How far from librosa's numbers ours may be, as a part of the largest magnitude that the feature has in the file. Both
/// are computed in float, in another order; ours has the same bits on every machine, so that what holds once holds always.
double tolerance(const std::string& feature) {
  if (feature == "times" || feature == "durations") return 1e-8;  // stored to nine digits
  // librosa's is in doubles here; the recursion magnifies errors of rounding, and pieces of few samples most.
  if (feature == "lpc") return 1e-4;
  return 2e-6;
}

/// The numbers that a line of the stored cases stands for, as the file that the command reads.
std::string file_of(const nlohmann::json& stored, int first_seed) {
  const auto samples = stored["samples"].get<std::int64_t>();
  const int channels = stored["channels"];
  std::vector<std::int16_t> all(static_cast<std::size_t>(samples * channels));
  for (int c = 0; c < channels; ++c) {
    const auto one = audio_signal(samples, first_seed + c);
    for (std::size_t i = 0; i < one.size(); ++i)
      all[i * static_cast<std::size_t>(channels) + static_cast<std::size_t>(c)] = one[i];
  }
  return wav(all, channels, stored["rate"]);
}

/// In the order of the alphabet.
Arguments keys_of(const nlohmann::json& object) {
  Arguments keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

std::string ten_seconds() { return wav(audio_signal(220'500, 9)); }

}  // namespace

TEST_CASE("audio: librosa's numbers") {
  const auto stored = nlohmann::json::parse(io_test::read_file(ANABRANCH_LIBROSA_NUMBERS));
  const std::vector<int> seeds{1, 2, 4, 4, 7};
  REQUIRE(stored["cases"].size() == seeds.size());
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    const auto& one = stored["cases"][i];
    const TemporaryDirectory dir;
    io_test::write_file(dir / "a.wav", file_of(one, seeds[i]));
    Arguments arguments{"audio", dir / "a.wav", "--out", dir / "f.npz", "--features", "all"};
    for (const auto& argument : one["arguments"]) arguments.push_back(argument);
    if (one.contains("segments")) {
      std::string lines = "# begin, length\n";
      for (const auto& segment : one["segments"]) lines += segment[0].dump() + "," + segment[1].dump() + "\n";
      io_test::write_file(dir / "s.csv", lines);
      arguments = with(arguments, {"--segments", dir / "s.csv"});
    }
    const Outcome o = command(arguments);
    INFO(one["name"] << ": " << o.err);
    REQUIRE(o.status == 0);
    const auto got = npz_arrays(io_test::read_file(dir / "f.npz"));
    CHECK(got.size() == one["features"].size());
    for (const auto& [name, expected] : one["features"].items()) {
      INFO(name);
      REQUIRE(got.contains(name));
      const NpzArray& array = got.at(name);
      CHECK(array.shape == expected["shape"].get<std::vector<std::int64_t>>());
      const auto values = expected["values"].get<std::vector<double>>();
      REQUIRE(array.values.size() == values.size());
      double largest = 0, worst = 0;
      for (std::size_t k = 0; k < values.size(); ++k) {
        largest = std::max(largest, std::abs(values[k]));
        worst = std::max(worst, std::abs(values[k] - array.values[k]));
      }
      CHECK(largest > 0);
      CHECK(worst <= tolerance(name) * largest);
    }
  }
}

TEST_CASE("audio: linear prediction of tones, of which next to nothing is left") {
  constexpr std::size_t order = 16, frame = 2048, hop = 512;
  for (const double hertz : {50.0, 440.0, 3000.0, 5512.5, 10'000.0})
    for (const double loudness : {0.01, 0.5, 0.9}) {
      INFO(hertz << " Hz, " << loudness);
      std::vector<std::int16_t> samples;
      for (int i = 0; i < 22'050; ++i)
        samples.push_back(static_cast<std::int16_t>(
            std::lround(32'767 * loudness * std::sin(2 * std::numbers::pi * hertz * i / 22'050))));
      const TemporaryDirectory dir;
      io_test::write_file(dir / "a.wav", wav(samples));
      const Outcome o =
          command({"audio", dir / "a.wav", "--out", dir / "f.npz", "--features", "lpc", "--center", "false"});
      REQUIRE(o.status == 0);
      const NpzArray lpc = npz_arrays(io_test::read_file(dir / "f.npz")).at("lpc");
      REQUIRE(lpc.values.size() == ((samples.size() - frame) / hop + 1) * (order + 1));
      for (std::size_t w = 0; w * (order + 1) < lpc.values.size(); ++w) {
        const double* const a = lpc.values.data() + w * (order + 1);
        double signal = 0, error = 0;
        for (std::size_t n = w * hop + order; n < w * hop + frame; ++n) {
          double left = 0;
          for (std::size_t j = 0; j <= order; ++j) left += a[j] * samples[n - j];
          signal += static_cast<double>(samples[n]) * samples[n];
          error += left * left;
        }
        REQUIRE(error <= 1e-2 * signal);
      }
    }
}

TEST_CASE("audio: the same bytes whatever the scheduler, the threads, the memory, the back end") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.wav", wav(audio_signal(24'000, 3)));
  io_test::write_file(dir / "s.txt", "0 1500\n0 17\n5 2500\n18000 6000\n");
  const std::string out = dir / "f.npz";
  for (const Arguments& windows : {Arguments{"--hop-length", "1500"},
                                   Arguments{"--segments", dir / "s.txt", "--frame-length", "8192"}}) {
    std::string first;
    const auto check = [&](const Arguments& more) {
      const Outcome o =
          command(with(with({"audio", dir / "a.wav", "--features", "all", "--out", out}, windows), more));
      INFO(more.back() << o.err);
      REQUIRE(o.status == 0);
      const std::string bytes = io_test::read_file(out);
      if (first.empty()) first = bytes;
      CHECK(bytes == first);
      std::filesystem::remove(out);
    };
    for (const char* scheduler : {"adaptive", "paper", "fixed:1", "fixed:7", "fixed:1000"})
      for (const char* threads : {"1", "3"}) check({"--scheduler", scheduler, "--threads", threads});
    check({"--memory", "24M"});
    check({"--repeat", "3"});
    check({"--backend", "interpreter"});
  }
}

TEST_CASE("audio: WAV, FLAC and OGG") {
  const TemporaryDirectory dir;
  const auto samples = audio_signal(50'000, 8);
  write_sound(dir / "a.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, samples);
  write_sound(dir / "a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, samples);
  write_sound(dir / "a.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, samples);
  for (const std::string kind : {"wav", "flac", "ogg"}) {
    const Outcome o = command({"audio", dir / ("a." + kind), "--out", dir / (kind + ".npz")});
    INFO(o.err);
    REQUIRE(o.status == 0);
  }
  CHECK(io_test::read_file(dir / "wav.npz") == io_test::read_file(dir / "flac.npz"));
  const auto lossless = npz_arrays(io_test::read_file(dir / "wav.npz")),
             lossy = npz_arrays(io_test::read_file(dir / "ogg.npz"));
  const auto &expected = lossless.at("rms").values, &got = lossy.at("rms").values;
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - expected[i]) < 0.02);
}

TEST_CASE("audio: several files, by their places") {
  const TemporaryDirectory dir;
  std::filesystem::create_directories(dir / "x/deep");
  const std::vector<std::string> files{dir / "x/a.wav", dir / "x/deep/b,c.wav", dir / "x/deep/a.b.wav"};
  const std::vector<std::string> names{"a", "deep/b,c", "deep/a.b"};
  for (std::size_t i = 0; i < files.size(); ++i)
    io_test::write_file(files[i], wav(audio_signal(3000 + 1000 * static_cast<std::int64_t>(i), 5), 1,
                                      8000 * (1 + static_cast<int>(i % 2))));
  const Arguments options{"--features", "rms,mfcc,zero_crossing_rate"};
  REQUIRE(command(with(with({"audio"}, files), with(options, {"--out", dir / "all.npz"}))).status == 0);
  const auto all = npz_arrays(io_test::read_file(dir / "all.npz"));
  CHECK(all.size() == 12);
  REQUIRE(command(with(with({"audio"}, files), with(options, {"--out", dir / "all.csv"}))).status == 0);
  std::istringstream lines(io_test::read_file(dir / "all.csv"));
  std::string line;
  std::getline(lines, line);
  CHECK(line.starts_with("file,time,rms,mfcc_0,mfcc_1,"));
  CHECK(line.ends_with(",mfcc_19,zero_crossing_rate"));
  for (std::size_t i = 0; i < files.size(); ++i) {
    REQUIRE(command(with({"audio", files[i]}, with(options, {"--out", dir / "one.npz"}))).status == 0);
    const auto one = npz_arrays(io_test::read_file(dir / "one.npz"));
    CHECK(one.size() == 4);
    for (const auto& [name, array] : one) {
      INFO(names[i] << " " << name);
      REQUIRE(all.contains(names[i] + "/" + name));
      CHECK(all.at(names[i] + "/" + name).shape == array.shape);
      CHECK(all.at(names[i] + "/" + name).values == array.values);
    }
    const std::string field = i == 1 ? "\"" + files[i] + "\"" : files[i];
    for (std::size_t w = 0; w < one.at("rms").values.size(); ++w) {
      REQUIRE(std::getline(lines, line));
      REQUIRE(line.starts_with(field + ","));
      std::istringstream numbers(line.substr(field.size() + 1));
      std::string number;
      std::getline(numbers, number, ',');
      CHECK(std::stod(number) == one.at("times").values[w]);
      std::getline(numbers, number, ',');
      CHECK(std::stof(number) == static_cast<float>(one.at("rms").values[w]));
    }
  }
  CHECK(!std::getline(lines, line));
}

TEST_CASE("audio: no name of an array leads out of the folder that they are unpacked to") {
  const TemporaryDirectory dir;
  Arguments line{"audio"};
  for (const char* name : {"a.wav", "..wav", "...wav", ".wav"}) {
    io_test::write_file(dir / name, wav(audio_signal(3000, 5)));
    line.push_back(dir / name);
  }
  const Outcome o = command(with(line, {"--features", "rms", "--out", dir / "f.npz"}));
  INFO(o.err);
  REQUIRE(o.status == 0);
  Arguments names;
  for (const auto& [name, array] : npz_arrays(io_test::read_file(dir / "f.npz"))) names.push_back(name);
  CHECK(names == Arguments{"...wav/rms", "...wav/times", "..wav/rms", "..wav/times", ".wav/rms", ".wav/times",
                           "a/rms", "a/times"});
}

TEST_CASE("audio: of several files the timeline and the report are of the one that fails, else of the last") {
  using anabranch::testing::PageFile;
  using anabranch::testing::TraceFile;
  const TemporaryDirectory dir;
  std::vector<float> samples(22'050);
  for (const char* name : {"a.wav", "c.wav"}) io_test::write_file(dir / name, wav(samples));
  samples[20'000] = std::numeric_limits<float>::infinity();
  io_test::write_file(dir / "b.wav", wav(samples));
  const auto told = [&](const Arguments& inputs, int status) {
    const Outcome o =
        command(with(with({"audio"}, inputs), {"--features", "rms,mfcc", "--out", dir / "f.npz", "--trace",
                                               dir / "t.json", "--report", dir / "r.html"}));
    INFO(o.err);
    CHECK(o.status == status);
    return PageFile(dir / "r.html").data;
  };
  const auto failed = told({dir / "a.wav", dir / "b.wav", dir / "c.wav"}, 3);
  CHECK(failed["run"]["error"] ==
        dir / "b.wav" + ": sample 20000 is inf, no finite number, or beyond the range of a float");
  CHECK(TraceFile(dir / "t.json").row("run")[0].arguments.contains("error"));
  CHECK(dir.files() == 5);
  CHECK(told({dir / "a.wav", dir / "c.wav"}, 0)["run"]["error"].is_null());
  CHECK(!TraceFile(dir / "t.json").row("run")[0].arguments.contains("error"));
}

TEST_CASE("audio: an input that has changed since all were looked at is refused") {
  const TemporaryDirectory dir, spools;
  io_test::write_file(dir / "a.wav", ten_seconds());
  io_test::write_file(dir / "b.wav", ten_seconds());
  Process process(
      {"audio", dir / "a.wav", dir / "b.wav", "--repeat", "20", "--features", "all", "--out", dir / "f.npz"},
      {.environment = {"TMPDIR=" + spools.path()}});
  const auto begin = std::chrono::steady_clock::now();
  while (!process.has_written_to(spools.path()) && std::chrono::steady_clock::now() - begin < 10s)
    std::this_thread::sleep_for(1ms);
  io_test::write_file(dir / "b.wav", wav(audio_signal(220'500, 9), 1, 8000));
  const Outcome o = process.finish();
  CHECK(o.status == 3);
  CHECK(o.err.find("b.wav: the file has changed since it was looked at") != std::string::npos);
  CHECK(dir.files() == 2);
}

TEST_CASE("audio: inputs of one name but for the extension are lines of a .csv file") {
  const TemporaryDirectory dir;
  const auto samples = audio_signal(5000, 8);
  write_sound(dir / "a.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, samples);
  write_sound(dir / "a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, samples);
  const Arguments base{"audio", dir / "a.wav", dir / "a.flac", "--features", "rms", "--out"};
  const Outcome o = command(with(base, {dir / "g.csv"}));
  INFO(o.err);
  REQUIRE(o.status == 0);
  std::istringstream lines(io_test::read_file(dir / "g.csv"));
  std::string line;
  std::getline(lines, line);
  CHECK(line == "file,time,rms");
  std::vector<std::string> of_wav, of_flac;
  const std::string wav_path = dir / "a.wav", flac_path = dir / "a.flac";
  while (std::getline(lines, line))
    if (line.starts_with(wav_path))
      of_wav.push_back(line.substr(wav_path.size()));
    else if (line.starts_with(flac_path))
      of_flac.push_back(line.substr(flac_path.size()));
  CHECK(of_wav.size() == 10);
  CHECK(of_wav == of_flac);
  const Outcome arrays = command(with(base, {dir / "g.npz"}));
  CHECK(arrays.status == 2);
  CHECK(arrays.err.find("or write .csv") != std::string::npos);
}

TEST_CASE("audio: segments in seconds; a CSV file of them") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.wav", wav(audio_signal(9000, 5), 1, 8000));
  io_test::write_file(dir / "samples", "8,80\n4000\t800\n\n# nothing\n8200, 800\r\n");
  io_test::write_file(dir / "seconds", "0.001 0.01\n0.50001 0.1\n1.025 0.1");
  const Arguments base{"audio", dir / "a.wav", "--features", "mean,lpc", "--lpc-order", "1", "--segments"};
  REQUIRE(command(with(base, {dir / "samples", "--out", dir / "a.csv"})).status == 0);
  REQUIRE(
      command(with(base, {dir / "seconds", "--segment-unit", "seconds", "--out", dir / "b.csv"})).status ==
      0);
  const std::string csv = io_test::read_file(dir / "a.csv");
  CHECK(csv == io_test::read_file(dir / "b.csv"));
  CHECK(csv.starts_with("time,duration,mean,lpc_0,lpc_1\n0.001,0.01,"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 4);
}

TEST_CASE("audio: silence, and a file shorter than a window") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "silence.wav", wav(std::vector<std::int16_t>(5000)));
  io_test::write_file(dir / "one.wav", wav(std::vector<std::int16_t>{20'000}));
  for (const std::string name : {"silence", "one"}) {
    const Outcome o = command({"audio", dir / (name + ".wav"), "--features", "all", "--out", dir / "f.npz"});
    INFO(name << o.err);
    REQUIRE(o.status == 0);
    for (const auto& [feature, array] : npz_arrays(io_test::read_file(dir / "f.npz"))) {
      INFO(feature);
      CHECK(std::all_of(array.values.begin(), array.values.end(), [](double v) { return std::isfinite(v); }));
    }
  }
  const auto one = npz_arrays(io_test::read_file(dir / "f.npz"));
  CHECK(one.at("rms").shape == std::vector<std::int64_t>{1});
  CHECK(std::abs(one.at("rms").values[0] - 20'000.0 / 32'768 / std::sqrt(2048)) < 1e-7);
}

TEST_CASE("audio: a long file in little memory") {
  if (sanitized) return;
  const TemporaryDirectory dir;
  {
    std::string bytes = wav(std::vector<std::int16_t>(44'100 * 600));
    const auto second = audio_signal(44'100, 2);
    for (int s = 0; s < 600; ++s) std::memcpy(bytes.data() + 44 + 88'200 * s, second.data(), 88'200);
    io_test::write_file(dir / "a.wav", bytes);
  }
  const Outcome o = command({"audio", dir / "a.wav", "--memory", "16M", "--features",
                             "rms,spectral_centroid,melspectrogram", "--out", dir / "f.npz", "--json"});
  INFO(o.err);
  REQUIRE(o.status == 0);
  CHECK(o.peak_resident_bytes <= (16 + 160) << 20);
  const auto report = o.json();
  CHECK(report["peak_bytes"].get<std::int64_t>() <= 16 << 20);
  CHECK(report["windows"] == 51'680);
  CHECK(report["audio_seconds"] == 1200);
}

/// An RF64 file of so many stereo frames, silent but for these samples in both channels, at two places: the silence takes
/// no room on the disk.
void write_long_wav(const std::string& path, std::int64_t frames, const std::vector<std::int16_t>& samples,
                    const std::vector<std::int64_t>& places) {
  std::string header;
  const auto put = [&](std::int64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      header += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 255);
  };
  constexpr std::int64_t in_ds64 = 0xffffffff, rate = 44'100;
  header += "RF64";
  put(in_ds64, 4);
  header += "WAVEds64";
  put(28, 4);
  put(72 + frames * 4, 8);  // of the file behind its first 8 bytes
  put(frames * 4, 8);
  put(frames, 8);
  put(0, 4);
  header += "fmt ";
  for (const auto& [value, bytes] : std::vector<std::pair<std::int64_t, int>>{
           {16, 4}, {1, 2}, {2, 2}, {rate, 4}, {rate * 4, 4}, {4, 2}, {16, 2}})
    put(value, bytes);
  header += "data";
  put(in_ds64, 4);
  std::vector<std::int16_t> both;
  for (const std::int16_t sample : samples) both.insert(both.end(), {sample, sample});
  std::ofstream out(path, std::ios::binary);
  out << header;
  for (const std::int64_t place : places) {
    out.seekp(std::ssize(header) + place * 4);
    out.write(reinterpret_cast<const char*>(both.data()), std::ssize(both) * 2);
  }
  out.close();
  std::filesystem::resize_file(path, header.size() + static_cast<std::uintmax_t>(frames) * 4);
}

TEST_CASE("audio: ten hours, more bytes than 32 bits count, in little memory", "[.long]") {
  if (sanitized) return;
  const TemporaryDirectory dir;
  constexpr std::int64_t hop = 512, frames = std::int64_t{36'000} * 44'100, windows = frames / hop + 1;
  constexpr std::int64_t last = (frames - 44'100) / hop * hop;
  write_long_wav(dir / "a.wav", frames, audio_signal(44'100, 2), {0, last});
  const Outcome o = command({"audio", dir / "a.wav", "--memory", "64M", "--features",
                             "rms,zero_crossing_rate", "--out", dir / "f.npz", "--json"});
  INFO(o.err);
  REQUIRE(o.status == 0);
  CHECK(o.peak_resident_bytes <= (64 + 160) << 20);
  const auto report = o.json();
  CHECK(report["peak_bytes"].get<std::int64_t>() <= 64 << 20);
  CHECK(report["windows"] == windows);
  CHECK(report["audio_seconds"] == 36'000);
  const auto features = npz_arrays(io_test::read_file(dir / "f.npz"));
  const auto& rms = features.at("rms").values;
  const auto& crossings = features.at("zero_crossing_rate").values;
  REQUIRE(std::ssize(rms) == windows);
  REQUIRE(std::ssize(crossings) == windows);
  CHECK(std::abs(features.at("times").values.back() - static_cast<double>(frames / hop * hop) / 44'100) <
        1e-3);
  // What is far beyond four gigabytes is what is at the beginning.
  CHECK(rms[2] > 0);
  for (std::size_t k = 2; k < 80; ++k) {
    CHECK(rms[last / hop + k] == rms[k]);
    CHECK(crossings[last / hop + k] == crossings[k]);
  }
  CHECK(std::count(rms.begin() + 100, rms.begin() + last / hop - 2, 0.0) == last / hop - 102);
}

TEST_CASE("audio: wide rows are written in little memory") {
  if (sanitized) return;
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.wav", ten_seconds());
  {
    std::string lines;  // short ones, so that most of their many lags are 0, and quickly computed
    for (int i = 0; i < 5000; ++i) lines += std::to_string(i * 40) + " 16\n";
    io_test::write_file(dir / "s.txt", lines);
  }
  for (const std::string name : {"f.npz", "f.csv"}) {
    const Outcome o =
        command({"audio", dir / "a.wav", "--segments", dir / "s.txt", "--features", "autocorrelation,mean",
                 "--max-size", "16384", "--memory", "16M", "--out", dir / name, "--json"});
    INFO(name << o.err);
    REQUIRE(o.status == 0);
    CHECK(std::filesystem::file_size(dir / name) > 150 << 20);
    CHECK(o.peak_resident_bytes <= (16 + 160) << 20);
    // What the process says of itself is of its whole life.
    CHECK(o.json()["peak_resident_bytes"].get<std::int64_t>() >= o.peak_resident_bytes * 9 / 10);
  }
  std::ifstream lines(dir / "f.csv");
  std::string line;
  std::getline(lines, line);
  CHECK(std::count(line.begin(), line.end(), ',') == 2 + 16'384);
  std::int64_t rows = 0;
  for (; std::getline(lines, line); ++rows) CHECK(std::count(line.begin(), line.end(), ',') == 2 + 16'384);
  CHECK(rows == 5000);
}

TEST_CASE("audio: what it says") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.wav", ten_seconds());
  const Arguments base{"audio", dir / "a.wav", "--out", dir / "f.npz"};
  const Outcome o = command(base);
  REQUIRE(o.status == 0);
  CHECK(o.err.empty());
  for (const char* part : {"Audio", "1 file, 10 s at 22050 Hz", "431 of 2048 samples, one every 512",
                           "rms, zero_crossing_rate", "Run", "Stream    431 windows in ", "Time", "opening",
                           "times as fast as it plays", "Memory", "f.npz"})
    CHECK(o.out.find(part) != std::string::npos);
  // Runs are over all files, the rest of the last one's stream.
  io_test::write_file(dir / "b.wav", wav(audio_signal(2'205, 9)));
  const Arguments two{"audio", dir / "a.wav", dir / "b.wav", "--out", dir / "f.npz", "--repeat", "3"};
  const Outcome both = command(two);
  REQUIRE(both.status == 0);
  for (const char* part :
       {"2 files,", "5 windows of the last file in ", " s of the last file\n", "Repeats   3 runs"})
    CHECK(both.out.find(part) != std::string::npos);
  const auto of_both = command(with(two, {"--json"})).json();
  CHECK(of_both["repeats"].size() == 3);
  const std::string a = dir / "a.wav", b = dir / "b.wav";
  CHECK(both.out.find("Unchecked " + a + ", " + b + ": without a checksum") != std::string::npos);
  const Outcome five = command({"audio", a, b, a, b, b, "--features", "rms", "--out", dir / "f.csv"});
  CHECK(five.out.find("Unchecked " + a + ", " + b + ", " + a + " and 2 more: without a checksum") !=
        std::string::npos);
  CHECK(of_both["windows"] == 431 + 5);
  CHECK(of_both["seconds"]["total"] >= of_both["seconds"]["run"]);
  const Outcome explained = command({"audio", dir / "a.wav", "--features", "mfcc", "--explain"});
  CHECK(explained.status == 0);
  CHECK(explained.out.find("fft.cpp:") != std::string::npos);
  CHECK(command({"audio", "--help"}).out.find("--hop-length") != std::string::npos);
  // Bands between two frequencies of a short transform are empty, which is said.
  const Outcome few = command(with(base, {"--frame-length", "64", "--features", "mfcc"}));
  CHECK(few.status == 0);
  CHECK(few.out.find(
            "mel bands are empty, too narrow for the transform: take fewer (--n-mels) or longer frames "
            "(--frame-length)\n") != std::string::npos);
  // A higher beginning makes them narrower.
  const Outcome high = command(with(base, {"--fmin", "10500", "--features", "mfcc"}));
  CHECK(high.out.find("longer frames (--frame-length) or a lower --fmin\n") != std::string::npos);
  CHECK(high.out.find("--fmax") == std::string::npos);
  // So are those above half of the rate.
  const auto above = [&](const char* most) {
    return with(base, {"--fmax", most, "--n-mels", "20", "--features", "mfcc"});
  };
  CHECK(command(above("11025")).out.find("mel band") == std::string::npos);
  CHECK(command(above("11026"))
            .out.find(
                "1 mel band reaches above half of the rate, where there is nothing: take a lower --fmax\n") !=
        std::string::npos);
  CHECK(command(above("20000"))
            .out.find("4 mel bands reach above half of the rate, where there is nothing, and 2 are empty: "
                      "take a lower") != std::string::npos);
  const auto bands = command(with(above("20000"), {"--json"})).json();
  CHECK(bands["empty_mel_bands"] == 2);
  CHECK(bands["mel_bands_above_half_rate"] == 4);
}

TEST_CASE("audio: progress counts the windows of one file, and says of which") {
  const TemporaryDirectory dir;
  for (const char* name : {"a.wav", "c.wav"}) io_test::write_file(dir / name, ten_seconds());
  io_test::write_file(dir / "b.wav", wav(audio_signal(2'205, 9)));
  io_test::write_file(dir / "s.txt", "0 100\n5000 200\n");
  const auto last_line = [&](const Arguments& arguments) {
    const Outcome o = command(with({"audio"}, with(arguments, {"--out", dir / "f.npz", "--progress"})));
    INFO(o.err);
    CHECK(o.status == 0);
    REQUIRE(o.err.ends_with('\n'));
    const std::string lines = o.err.substr(0, o.err.size() - 1);
    return lines.substr(lines.rfind('\n') + 1);  // npos + 1 is 0
  };
  CHECK(last_line({dir / "a.wav"}).starts_with("100 %, 431 of 431 items, 883 k elements, "));
  CHECK(last_line({dir / "a.wav", dir / "b.wav"}).starts_with("file 2 of 2: 100 %, 5 of 5 items, "));
  CHECK(last_line({dir / "b.wav", dir / "a.wav", dir / "c.wav", "--features", "mfcc,rms", "--repeat", "2",
                   "--hop-length", "1024"})
            .starts_with("file 3 of 3: 100 %, 216 of 216 items, "));
  CHECK(last_line({dir / "a.wav", "--segments", dir / "s.txt", "--features", "rms"})
            .starts_with("100 %, 2 of 2 items, 300 elements, "));
}

TEST_CASE("audio --json: the schema of docs/audio.md") {
  using anabranch::testing::PageFile;
  using anabranch::testing::TraceFile;
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.wav", ten_seconds());
  const Outcome o = command({"audio", dir / "a.wav", "--out", dir / "f.npz", "--json", "--repeat", "3",
                             "--scheduler", "fixed:16", "--threads", "2", "--memory", "16M", "--stats",
                             "--trace", dir / "t.json", "--report", dir / "r.html"});
  INFO(o.err);
  REQUIRE(o.status == 0);
  const auto r = o.json();
  CHECK(keys_of(r) ==
        Arguments{"audio_seconds",   "backend",         "center",     "chunk_items",
                  "chunks",          "empty_mel_bands", "features",   "frame_length",
                  "hop_length",      "inputs",          "kernels",    "mel_bands_above_half_rate",
                  "memory",          "not_finite",      "peak_bytes", "peak_resident_bytes",
                  "rates",           "repeats",         "report",     "result",
                  "scheduler",       "seconds",         "stages",     "threads",
                  "times_real_time", "trace",           "unchecked",  "utilisation",
                  "windows"});
  CHECK(r["inputs"] == nlohmann::json{dir / "a.wav"});
  CHECK(r["rates"] == nlohmann::json{22'050});
  CHECK(r["audio_seconds"] == 10);
  CHECK(r["windows"] == 431);
  CHECK(r["features"] == nlohmann::json{"rms", "zero_crossing_rate", "spectral_centroid", "spectral_rolloff",
                                        "spectral_flatness", "mfcc"});
  CHECK(r["frame_length"] == 2048);
  CHECK(r["hop_length"] == 512);
  CHECK(r["center"] == true);
  CHECK(r["empty_mel_bands"] == 0);
  CHECK(r["mel_bands_above_half_rate"] == 0);
  CHECK(r["not_finite"] == nlohmann::json::array());
  check_run(r, {.threads = 2, .scheduler = "fixed:16", .memory = 16 << 20, .repeats = 3});
  CHECK(r["chunks"] == 27);
  CHECK(r["chunk_items"] == nlohmann::json{{"min", 15}, {"median", 16}, {"max", 16}});
  CHECK(r["times_real_time"].get<double>() == 10 / r["seconds"]["total"].get<double>());
  CHECK(r["seconds"]["run"].get<double>() == steady_seconds(r));
  CHECK(r["unchecked"] == r["inputs"]);
  CHECK(r["result"] == dir / "f.npz");
  CHECK(r["trace"] == dir / "t.json");
  CHECK(!TraceFile(dir / "t.json").rows.empty());
  CHECK(r["report"] == dir / "r.html");
  CHECK(PageFile(dir / "r.html").data["run"]["cancelled"] == false);
  REQUIRE(r["stages"].size() == 1);
  CHECK(r["stages"][0]["source"] == dir / "a.wav");
  CHECK(r["stages"][0]["name"] == "windows");
  CHECK(r["stages"][0].contains("records"));

  // Segments have places of their own; the interpreter has no chunks.
  io_test::write_file(dir / "s.txt", "0 100\n5000 200\n");
  const auto interpreted = command({"audio", dir / "a.wav", "--segments", dir / "s.txt", "--features", "rms",
                                    "--out", dir / "f.csv", "--json", "--backend", "interpreter"})
                               .json();
  Arguments keys = keys_of(r);
  for (const char* key : {"center", "frame_length", "hop_length", "report", "trace"}) std::erase(keys, key);
  keys.emplace_back("segments");
  std::sort(keys.begin(), keys.end());
  CHECK(keys_of(interpreted) == keys);
  CHECK(interpreted["segments"] == dir / "s.txt");
  CHECK(interpreted["windows"] == 2);
  check_interpreted(interpreted);
}

TEST_CASE("audio: values that are not finite are counted") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.wav", wav(audio_signal(4000, 1)));
  std::vector<float> samples(4000, 0.5F);
  for (std::size_t i = 2000; i < 2100; ++i)
    samples[i] = i % 2 == 0 ? 1e30F : -1e30F;  // whose squares are beyond floats
  io_test::write_file(dir / "b.wav", wav(samples));
  const Arguments base{
      "audio",          dir / "b.wav", "--features",   "rms,zero_crossing_rate,melspectrogram",
      "--frame-length", "512",         "--hop-length", "500",
      "--center",       "false",       "--n-mels",     "16"};
  const Outcome o = command(with(base, {"--out", dir / "f.npz"}));
  REQUIRE(o.status == 0);
  // Windows 3 and 4 have such samples.
  CHECK(
      o.out.find("2 values of rms are infinite or NaN, the first at 0.0680272 s: samples are too large\n") !=
      std::string::npos);
  CHECK(o.out.find("of zero_crossing_rate") == std::string::npos);
  std::int64_t bands = 0;
  const auto arrays = npz_arrays(io_test::read_file(dir / "f.npz"));
  for (const double value : arrays.at("melspectrogram").values) bands += std::isfinite(value) ? 0 : 1;
  CHECK(bands > 16);
  CHECK(o.out.find(std::to_string(bands) +
                   " values of melspectrogram are infinite or NaN, the first at 0.0680272 s") !=
        std::string::npos);
  const auto of_csv = command(with(base, {"--out", dir / "f.csv", "--json", "--repeat", "2", dir / "a.wav"}))
                          .json()["not_finite"];
  REQUIRE(of_csv.size() == 2);
  CHECK(of_csv[0] ==
        nlohmann::json{
            {"feature", "rms"}, {"values", 2}, {"file", dir / "b.wav"}, {"first_time", 1500 / 22050.0}});
  CHECK(of_csv[1]["values"] == bands);
  const Outcome both =
      command({"audio", dir / "a.wav", dir / "b.wav", "--features", "rms", "--out", dir / "f.csv"});
  CHECK(both.out.find(" s of " + dir / "b.wav" + ": samples are too large\n") != std::string::npos);
}

TEST_CASE("audio: a signal stops it between segments that are hours apart") {
  const TemporaryDirectory dir;
  constexpr std::int64_t samples = 1'700'000'000;  // a hole in the file, but for the header
  std::string bytes = wav(std::vector<std::int16_t>(100));
  const std::uint32_t data = 2 * samples, all = data + 36;
  std::memcpy(bytes.data() + 4, &all, 4);
  std::memcpy(bytes.data() + 40, &data, 4);
  io_test::write_file(dir / "a.wav", bytes);
  std::filesystem::resize_file(dir / "a.wav", 44 + std::uintmax_t{data});
  io_test::write_file(dir / "s.txt", "0 100\n" + std::to_string(samples - 100) + " 100\n");
  Process process(
      {"audio", dir / "a.wav", "--segments", dir / "s.txt", "--features", "rms", "--out", dir / "f.csv"});
  wait_until([&] { return process.blocks(SIGINT); });
  std::this_thread::sleep_for(500ms);
  const auto begin = std::chrono::steady_clock::now();
  process.signal(SIGINT);
  const Outcome o = process.finish();
  CHECK(std::chrono::steady_clock::now() - begin < 2s);  // reading on takes several
  CHECK(o.status == 130);
  CHECK(o.out.empty());
  CHECK(dir.files() == 2);
}

TEST_CASE("audio: a signal stops it, and nothing is left") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.wav", ten_seconds());
  Process process(
      {"audio", dir / "a.wav", "--features", "all", "--out", dir / "f.npz", "--repeat", "1000000"});
  wait_until([&] { return process.blocks(SIGINT); });
  std::this_thread::sleep_for(1s);
  process.signal(SIGINT);
  const Outcome o = process.finish();
  CHECK(o.status == 130);
  CHECK(o.out.empty());
  CHECK(dir.files() == 1);
}
