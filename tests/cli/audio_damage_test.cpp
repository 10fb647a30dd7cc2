// `anabranch audio`: compressed files and headers that are damaged.

#include "support/catch.h"

#include <sndfile.h>

#include <cmath>
#include <limits>

#include "audio_files.h"
#include "command.h"
#include "refused.h"
#include "sound_file.h"

using namespace cli_test;

namespace {

constexpr std::size_t flac_header = 42;  // "fLaC", the head of a block, STREAMINFO

/// A folder in which a file is damaged.
struct Folder : TemporaryDirectory {
  std::string encoded(int format, std::int64_t samples) const {
    write_sound(*this / "good", format, audio_signal(samples, 8));
    std::string bytes = io_test::read_file(*this / "good");
    std::filesystem::remove(*this / "good");
    return bytes;
  }
  void refuses_file(const std::string& bytes, const std::string& says) const {
    io_test::write_file(*this / "a", bytes);
    refuses(*this, {"audio", *this / "a", "--features", "rms", "--out", *this / "f.npz"}, 3,
            "anabranch: " + *this / "a" + ": " + says);
  }
};

/// With this byte of it changed.
std::string changed(std::string bytes, std::size_t at, int bits) {
  bytes.at(at) = static_cast<char>(bytes.at(at) ^ bits);
  return bytes;
}

/// With a number of these bytes at this place, little-endian.
std::string with_number(std::string bytes, std::size_t at, std::int64_t number, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) bytes.at(at + i) = static_cast<char>(number >> (8 * i) & 255);
  return bytes;
}

}  // namespace

TEST_CASE("audio: FLAC that is cut off or damaged") {
  const Folder dir;
  const std::string good = dir.encoded(SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 30'000);
  REQUIRE(good.starts_with("fLaC"));
  dir.refuses_file(good.substr(0, 4), "no audio file of a known format");
  dir.refuses_file(good.substr(0, 30), "an audio file that is damaged");
  dir.refuses_file(good.substr(0, flac_header), "ends at frame 0 of 30000: it is damaged or cut off\n");
  for (const std::size_t bytes : {good.size() / 2, good.size() - 1})
    dir.refuses_file(good.substr(0, bytes), "damaged at frame ");
  dir.refuses_file(changed(good, 1, 0x20), "no audio file of a known format");
  dir.refuses_file(changed(good, 5, 0x40), "an audio file that is damaged");  // how long the block is
  dir.refuses_file(good.substr(0, 8) + std::string(34, '\0') + good.substr(flac_header),
                   "an audio file that is damaged");
  // Bits of the frames, behind the comments.
  for (std::size_t part = 1; part < 16; ++part)
    dir.refuses_file(changed(good, 200 + (good.size() - 200) * part / 16, 1 << part % 8),
                     "damaged at frame ");
  // More samples than there are, and none that it knows of.
  dir.refuses_file(changed(good, 22, 1), "ends at frame 30000 of ");
  std::string unknown = good;
  unknown[21] = static_cast<char>(unknown[21] & 0xf0);
  unknown.replace(22, 4, 4, '\0');
  dir.refuses_file(unknown, "the file does not say how long it is; ");
  dir.refuses_file(unknown.substr(0, flac_header), "the file does not say how long it is; ");
}

TEST_CASE("audio: OGG that is cut off or damaged") {
  const Folder dir;
  const std::string good = dir.encoded(SF_FORMAT_OGG | SF_FORMAT_VORBIS, 30'000);
  const std::size_t second = good.find("OggS", 4);
  REQUIRE(second != std::string::npos);
  dir.refuses_file(changed(good, 3, 0x20), "no audio file of a known format");
  dir.refuses_file(good.substr(0, 30), "the page at byte 0 has 58 bytes, but the file ends 30 bytes behind");
  for (const std::size_t bytes : {good.size() / 2, good.size() - 1})
    dir.refuses_file(good.substr(0, bytes), "the page at byte ");
  dir.refuses_file(changed(good, 30, 1),
                   "damaged at byte 0: the checksum of the page is not that of its bytes\n");
  for (std::size_t part = 1; part < 16; ++part)
    dir.refuses_file(changed(good, second + 100 + (good.size() - second - 100) * part / 16, 1 << part % 8),
                     "damaged at byte ");
  dir.refuses_file(good.substr(second), "an audio file that is damaged or cut off");
  dir.refuses_file(good.substr(0, second), "an audio file that is damaged or cut off");
}

TEST_CASE("audio: compressed files and others without a sample") {
  const Folder dir;
  for (const int format : {SF_FORMAT_OGG | SF_FORMAT_VORBIS, SF_FORMAT_AIFF | SF_FORMAT_PCM_16,
                           SF_FORMAT_W64 | SF_FORMAT_PCM_16})
    dir.refuses_file(dir.encoded(format, 0), "there are no samples in it\n");
}

TEST_CASE("audio: headers of WAV files that say what cannot be") {
  const Folder dir;
  const std::string good = wav(audio_signal(3000, 1));
  constexpr std::size_t format = 20, channels = 22, rate = 24, bits = 34;
  for (const std::int64_t wrong : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31})
    dir.refuses_file(with_number(good, rate, wrong, 4),
                     "an audio file that is damaged: its header has a sample rate, channels or a length that "
                     "cannot be (");
  for (const int wrong : {0, 1025, 65'535})
    dir.refuses_file(with_number(good, channels, wrong, 2), "an audio file that is damaged");
  for (const int wrong : {0, 64})
    dir.refuses_file(with_number(good, bits, wrong, 2), "an audio file that is damaged");
  for (const int wrong : {0, 999})
    dir.refuses_file(with_number(good, format, wrong, 2), "an audio file that is damaged");
}

TEST_CASE("audio: the least and the greatest rate are rates") {
  const Folder dir;
  for (const int rate : {1, std::numeric_limits<std::int32_t>::max()}) {
    INFO(rate);
    io_test::write_file(dir / "a.wav", with_number(wav(audio_signal(3000, 1)), 24, rate, 4));
    const Outcome o =
        command({"audio", dir / "a.wav", "--features", "rms,mfcc", "--out", dir / "f.npz", "--json"});
    INFO(o.err);
    REQUIRE(o.status == 0);
    CHECK(o.json()["rates"] == nlohmann::json{rate});
    const auto arrays = npz_arrays(io_test::read_file(dir / "f.npz"));
    CHECK(arrays.at("times").values.at(1) == 512.0 / rate);
    for (const double value : arrays.at("mfcc").values) REQUIRE(std::isfinite(value));
  }
}
