// Audio files: what libsndfile has written, and WAV made by hand; whole, cut off, damaged.

#include "support/catch.h"

#include <sndfile.h>

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>

#include <anabranch/io.h>

#include "io/audio/audio_source.h"
#include "io/base/checksum.h"
#include "io/base/system.h"
#include "items.h"
#include "matrix_files.h"
#include "mutations.h"

using namespace anabranch;
using namespace io_test;
using Catch::Matchers::Contains;

namespace {

/// A sound that fills its file.
std::vector<float> sound(std::int64_t frames, std::int64_t channels) {
  std::vector<float> samples;
  for (std::int64_t f = 0; f < frames; ++f)
    for (std::int64_t c = 0; c < channels; ++c)
      samples.push_back(static_cast<float>(0.9 * std::sin(0.01 * static_cast<double>(f * (c + 1)))));
  return samples;
}

void write_sound(const std::string& path, int format, std::int64_t channels,
                 const std::vector<float>& samples) {
  SF_INFO info{};
  info.samplerate = 44'100;
  info.channels = static_cast<int>(channels);
  info.format = format;
  SNDFILE* const file = ::sf_open(path.c_str(), SFM_WRITE, &info);
  REQUIRE(file);
  const auto frames = static_cast<sf_count_t>(samples.size()) / channels;
  REQUIRE(::sf_writef_float(file, samples.data(), frames) == frames);
  ::sf_close(file);
}

void number(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i, value >>= 8) out += static_cast<char>(value & 255);
}

/// 16-bit PCM.
std::string wav(const std::vector<std::int16_t>& samples, int channels) {
  std::string out = "RIFF";
  number(out, 36 + 2 * samples.size(), 4);
  out += "WAVEfmt ";
  number(out, 16, 4);
  number(out, 1, 2);
  number(out, static_cast<std::uint64_t>(channels), 2);
  number(out, 8000, 4);
  number(out, 16'000 * static_cast<std::uint64_t>(channels), 4);
  number(out, 2 * static_cast<std::uint64_t>(channels), 2);
  number(out, 16, 2);
  out += "data";
  number(out, 2 * samples.size(), 4);
  return out + bytes_of(samples);
}

std::shared_ptr<SourceBase> open(const std::string& bytes, std::int64_t frames, bool mono = false,
                                 const io::AudioOptions& options = {}) {
  return io::detail::open_audio(io::detail::memory_file("a.wav", {bytes.begin(), bytes.end()}), frames, mono,
                                options);
}

ReadItems blocks(const std::vector<float>& samples, std::int64_t frames, std::int64_t channels, bool mono) {
  ReadItems items;
  const std::int64_t all = std::ssize(samples) / channels;
  for (std::int64_t f = 0; f < all; f += frames) {
    const std::int64_t n = std::min(frames, all - f);
    std::vector<float> block;
    for (std::int64_t k = f; k < f + n; ++k) {
      float sum = samples[static_cast<std::size_t>(k * channels)];
      if (!mono) block.push_back(sum);
      for (std::int64_t c = 1; c < channels; ++c) {
        const float sample = samples[static_cast<std::size_t>(k * channels + c)];
        if (mono)
          sum += sample;
        else
          block.push_back(sample);
      }
      if (mono) block.push_back(sum / static_cast<float>(channels));
    }
    std::vector<std::int64_t> extents{n};
    if (!mono) extents.push_back(channels);
    items.push_back({{extents, {bytes_of(block)}}});
  }
  return items;
}

std::string fault(const std::string& bytes, std::int64_t frames = 100) {
  try {
    const auto source = open(bytes, frames);
    items_of(*source, {3});
    source->rewind();
    items_of(*source);
  } catch (const DataError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("audio: WAV by hand: full scale, blocks of every length, mono") {
  const std::vector<std::int16_t> integers{-32768, 32767, 0, 16384, -16384, 1, 8192, -8192, 2, 4};
  std::vector<float> samples;
  for (const std::int16_t s : integers) samples.push_back(static_cast<float>(s) / 32768);
  for (const int channels : {1, 2, 5})
    for (const std::int64_t frames : {1, 2, 3, 10, 1000})
      for (const bool mono : {false, true}) {
        INFO(channels << " channels, blocks of " << frames << ", mono " << mono);
        const auto source = open(wav(integers, channels), frames, mono);
        const std::int64_t all = 10 / channels;
        CHECK(source->info().items == (all + frames - 1) / frames);
        CHECK(source->info().arrays[0].regular() == (all % frames == 0));
        check_source(*source, blocks(samples, frames, channels, mono));
      }
  check_source(*open(wav({}, 2), 4), {});
}

TEST_CASE("audio: WAV, FLAC and OGG files, larger than the buffers") {
  TemporaryDirectory dir;
  const struct {
    const char* name;
    int format;
    float error;
  } kinds[] = {{"a.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_24, 1e-6F},
               {"b.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 0},
               {"c.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 5e-5F},
               {"d.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 0.1F}};
  for (const std::int64_t channels : {1, 2})
    for (const auto& kind : kinds) {
      INFO(kind.name << ", " << channels << " channels");
      const auto samples = sound(100'000, channels);
      write_sound(dir / kind.name, kind.format, channels, samples);
      const io::AudioHeader header = io::inspect_audio(dir / kind.name);
      CHECK(header.channels == channels);
      CHECK(header.rate == 44'100);
      CHECK(header.frames == 100'000);
      CHECK_FALSE(header.format.empty());
      const auto source = io::open_audio(dir / kind.name, 1024);
      CHECK(source.info().items == 98);
      CHECK(source.info().work == 100'000 * channels);
      CHECK((!source.info().live && source.info().rewindable && !source.info().splits));
      const ReadItems all = items_of(*source.erased());
      source.erased()->rewind();
      CHECK((items_of(*source.erased(), {7}) == all));
      source.erased()->rewind();
      CHECK((items_of(*source.erased(), {INT64_MAX, 50'000}) == all));
      std::vector<float> read;
      for (const ReadItem& item : all) {
        const auto block = values_of<float>(item[0].components[0]);
        read.insert(read.end(), block.begin(), block.end());
      }
      REQUIRE(read.size() == samples.size());
      float worst = 0;
      for (std::size_t i = 0; i < read.size(); ++i) worst = std::max(worst, std::abs(read[i] - samples[i]));
      CHECK(worst <= kind.error);
      const auto mono = io::open_audio_mono(dir / kind.name, 1024);
      CHECK((items_of(*mono.erased()) == blocks(read, 1024, channels, true)));
    }
}

TEST_CASE("audio: integers of 16 bits are the floats that libsndfile makes of them") {
  TemporaryDirectory dir;
  constexpr std::int64_t frames = 40'000;  // more than are converted at a time
  for (const std::int64_t channels : {1, 2, 3})
    for (const int format :
         {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_WAVEX | SF_FORMAT_PCM_16,
          SF_FORMAT_WAV | SF_FORMAT_PCM_16 | SF_ENDIAN_BIG, SF_FORMAT_RF64 | SF_FORMAT_PCM_16,
          SF_FORMAT_W64 | SF_FORMAT_PCM_16, SF_FORMAT_AIFF | SF_FORMAT_PCM_16,
          SF_FORMAT_AIFF | SF_FORMAT_PCM_16 | SF_ENDIAN_LITTLE, SF_FORMAT_AU | SF_FORMAT_PCM_16,
          SF_FORMAT_CAF | SF_FORMAT_PCM_16, SF_FORMAT_NIST | SF_FORMAT_PCM_16}) {
      INFO(std::hex << format << std::dec << ", " << channels << " channels");
      std::vector<std::int16_t> all;
      for (std::int64_t i = 0; i < frames * channels; ++i)
        all.push_back(static_cast<std::int16_t>(i * 7 - 32'768));
      SF_INFO info{};
      info.samplerate = 44'100;
      info.channels = static_cast<int>(channels);
      info.format = format;
      SNDFILE* file = ::sf_open((dir / "x").c_str(), SFM_WRITE, &info);
      REQUIRE(file);
      REQUIRE(::sf_writef_short(file, all.data(), frames) == frames);
      ::sf_close(file);

      std::vector<float> samples(all.size());
      file = ::sf_open((dir / "x").c_str(), SFM_READ, &info);
      REQUIRE(file);
      REQUIRE(::sf_readf_float(file, samples.data(), frames) == frames);
      ::sf_close(file);
      for (const bool mono : {false, true}) {
        const auto source =
            mono ? io::open_audio_mono(dir / "x", 1000).erased() : io::open_audio(dir / "x", 1000).erased();
        CHECK((items_of(*source, {3}) == blocks(samples, 1000, channels, mono)));
        source->rewind();
        CHECK((items_of(*source) == blocks(samples, 1000, channels, mono)));
      }
    }
}

TEST_CASE("audio: what is no audio file, and what cannot be asked for") {
  TemporaryDirectory dir;
  CHECK_THAT(fault(""), Contains("a.wav: the file is empty"));
  CHECK_THAT(fault("hello, this is text"), Contains("a.wav: no audio file of a known format"));
  CHECK_THROWS_AS(io::open_audio(dir / "none.wav", 10), IoError);
  CHECK_THROWS_AS(io::inspect_audio(dir.path()), IoError);
  const std::string good = wav(std::vector<std::int16_t>(1000, 5), 2);
  CHECK_THROWS_AS(open(good, 0), RunError);
  CHECK_THROWS_AS(open(good, -5), RunError);
  CHECK_THROWS_AS(open(good, INT64_MAX), ResourceError);
  CHECK_THROWS_AS(open(good, 1'000'000, false, {.memory = 2 << 20}), ResourceError);
  const auto source = open(good, 400);
  Limit limit;
  limit.memory = 3000;
  SourceChunk chunk;
  CHECK_THROWS_AS(source->next(limit, chunk), ItemTooBig);
  limit.memory = 5000;
  REQUIRE(source->next(limit, chunk));
  CHECK(chunk.items == 1);
}

TEST_CASE("audio: a file that says something else than before") {
  const TemporaryDirectory dir;
  const std::string bytes = wav(std::vector<std::int16_t>(1000, 5), 2);
  write_file(dir / "a.wav", bytes);
  const io::AudioHeader header = io::inspect_audio(dir / "a.wav");
  CHECK(open(bytes, 100, true, {.header = header})->info().work == 500);
  for (const std::string& other :
       {wav(std::vector<std::int16_t>(1002, 5), 2), wav(std::vector<std::int16_t>(500, 5), 1), wav({}, 2)})
    CHECK_THROWS_WITH(open(other, 100, true, {.header = header}),
                      "a.wav: the file has changed since it was looked at");
}

TEST_CASE("audio: files that are cut off") {
  TemporaryDirectory dir;
  const auto samples = sound(50'000, 2);
  const std::string good = wav(std::vector<std::int16_t>(1000, 5), 2);
  REQUIRE(fault(good).empty());
  for (const std::size_t bytes : {std::size_t{43}, std::size_t{44}, std::size_t{100}, good.size() - 1})
    CHECK_FALSE(fault(good.substr(0, bytes)).empty());
  CHECK_THAT(
      fault(good.substr(0, good.size() - 1)),
      Contains("a.wav: the chunk 'data' at byte 36 has 2000 bytes, but the file ends 1999 bytes behind"));
  // Written into a pipe: of unknown length.
  for (const std::uint32_t unknown :
       {0xffffffff, 0x7ffff000U, 0x7fffefffU, 0x7fffeffcU, 0x7fffff00U, 0x80000000U}) {
    INFO(unknown);
    std::string endless = good;
    std::memcpy(&endless[40], &unknown, 4);
    CHECK(fault(endless).empty());
    CHECK(items_of(*open(endless, 200)).size() == 3);  // of 500 frames
  }
  for (const int format : {SF_FORMAT_FLAC | SF_FORMAT_PCM_16, SF_FORMAT_OGG | SF_FORMAT_VORBIS}) {
    write_sound(dir / "x", format, 2, samples);
    const std::string whole = read_file(dir / "x");
    REQUIRE(fault(whole).empty());
    for (int part = 1; part < 8; ++part) {
      INFO(format << ", " << part << "/8");
      const std::string said = fault(whole.substr(0, whole.size() * static_cast<std::size_t>(part) / 8));
      // An Ogg file that ends with a page is whole as far as anybody can tell.
      if ((format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC)
        CHECK_THAT(said, Contains("a.wav: ") && Contains("frame"));
    }
  }
}

TEST_CASE("audio: what stands behind the last frame is not read") {
  TemporaryDirectory dir;
  const auto samples = sound(30'000, 2);
  for (const int format : {SF_FORMAT_FLAC | SF_FORMAT_PCM_16, SF_FORMAT_OGG | SF_FORMAT_VORBIS,
                           SF_FORMAT_WAV | SF_FORMAT_PCM_16}) {
    write_sound(dir / "x", format, 2, samples);
    const std::string whole = read_file(dir / "x");
    for (const std::string& tag :
         {std::string(1, '\0'), "TAG" + std::string(125, ' '), std::string(3000, '\0')}) {
      INFO(format << ", " << tag.size());
      CHECK(fault(whole + tag).empty());
      write_file(dir / "tagged", whole + tag);
      CHECK(io::inspect_audio(dir / "tagged").frames == 30'000);
      const auto with_tag = io::open_audio(dir / "tagged", 1024), without = io::open_audio(dir / "x", 1024);
      CHECK((items_of(*with_tag.erased()) == items_of(*without.erased())));
    }
  }
}

TEST_CASE("audio: Ogg pages that are damaged, missing or cut off") {
  TemporaryDirectory dir;
  write_sound(dir / "x", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 1, sound(400'001, 1));
  const std::string whole = read_file(dir / "x");
  std::vector<std::size_t> pages;
  for (std::size_t at = 0; (at = whole.find("OggS", at)) != std::string::npos; at += 4) pages.push_back(at);
  REQUIRE(pages.size() >= 5);
  CHECK(fault(whole).empty());
  CHECK(fault(whole + "TAG").empty());
  for (const std::size_t page : {pages[2], pages[3], pages.back()})
    for (const std::size_t byte : {page, page + 5, page + 23, page + 40}) {
      INFO(byte);
      std::string damaged = whole;
      damaged[byte] = static_cast<char>(damaged[byte] ^ 4);
      CHECK_THAT(fault(damaged), Contains("a.wav: damaged at byte " + std::to_string(page) + ":"));
    }
  CHECK_THAT(fault(whole.substr(0, pages[3]) + whole.substr(pages[4])),
             Contains("page 4 where page 3 should be"));
  CHECK_THAT(fault(whole.substr(0, pages[3] + 100)),
             Contains("the page at byte " + std::to_string(pages[3])) && Contains("cut off"));
  CHECK_THAT(fault(whole.substr(0, pages[3] + 10)), Contains("cut off"));
}

TEST_CASE("audio: many Ogg streams side by side are refused") {
  std::string pages;
  for (std::uint32_t stream = 0; stream < 1001; ++stream) {
    std::string page = std::string("OggS") + '\0' + '\2' + std::string(8, '\0');
    number(page, stream, 4);
    page += std::string(9, '\0');
    const auto sum =
        io::detail::ogg_crc32(reinterpret_cast<const unsigned char*>(page.data()), std::ssize(page));
    std::memcpy(page.data() + 22, &sum, 4);
    pages += page;
  }
  CHECK_THAT(fault(pages), Contains("a.wav: damaged at byte 27000: more than 1000 streams side by side"));
}

TEST_CASE("audio: after a read that failed it begins at the first frame") {
  const TemporaryDirectory dir;
  const auto samples = sound(60'000, 1);
  write_sound(dir / "x.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 1, samples);
  const auto source = io::open_audio(dir / "x.wav", 60'000);
  const ReadItems whole = items_of(*source.erased());
  const auto original = io::detail::system_calls().pread;
  static int reads = 0;
  for (const int failing : {0, 1, 2}) {
    INFO(failing);
    source.erased()->rewind();
    reads = failing;
    io::detail::system_calls().pread = [](int fd, void* into, std::size_t bytes, off_t offset) -> ssize_t {
      if (reads-- > 0) return ::pread(fd, into, bytes, offset);
      errno = EIO;
      return -1;
    };
    SourceChunk chunk;
    CHECK_THROWS_AS(source.erased()->next({}, chunk), IoError);
    io::detail::system_calls().pread = original;
    source.erased()->rewind();
    CHECK((items_of(*source.erased()) == whole));
  }
}

TEST_CASE("audio: files of other formats that are cut off") {
  TemporaryDirectory dir;
  const auto samples = sound(20'001, 1);
  for (const int format :
       {SF_FORMAT_RF64 | SF_FORMAT_PCM_16, SF_FORMAT_W64 | SF_FORMAT_PCM_U8,
        SF_FORMAT_WAV | SF_FORMAT_PCM_16 | SF_ENDIAN_BIG, SF_FORMAT_AIFF | SF_FORMAT_PCM_S8,
        SF_FORMAT_AIFF | SF_FORMAT_FLOAT, SF_FORMAT_AU | SF_FORMAT_PCM_16,
        SF_FORMAT_AU | SF_FORMAT_ULAW | SF_ENDIAN_LITTLE, SF_FORMAT_SVX | SF_FORMAT_PCM_16,
        SF_FORMAT_SVX | SF_FORMAT_PCM_S8, SF_FORMAT_VOC | SF_FORMAT_PCM_16, SF_FORMAT_VOC | SF_FORMAT_PCM_U8,
        SF_FORMAT_NIST | SF_FORMAT_PCM_16, SF_FORMAT_NIST | SF_FORMAT_ALAW,
        SF_FORMAT_CAF | SF_FORMAT_PCM_16}) {
    write_sound(dir / "x", format, 1, samples);
    const std::string whole = read_file(dir / "x");
    INFO(std::hex << format);
    CHECK(fault(whole).empty());
    // libsndfile takes the byte that fills up an AIFF file of odd length for a sample.
    CHECK((io::inspect_audio(dir / "x").frames.value_or(0) - 20'001) / 2 == 0);
    // What is behind the samples is a byte that fills up, or ends the blocks of VOC.
    for (const std::size_t bytes : {whole.size() / 3, whole.size() / 2, whole.size() - 3}) {
      INFO(bytes << " of " << whole.size());
      CHECK_THAT(fault(whole.substr(0, bytes)), Contains("a.wav: ") && Contains("cut off"));
    }
  }
  // Of a length that was not known when it was written.
  write_sound(dir / "x", SF_FORMAT_AU | SF_FORMAT_PCM_16, 1, samples);
  std::string endless = read_file(dir / "x");
  for (std::size_t i = 8; i < 12; ++i) endless[i] = '\xff';
  CHECK(fault(endless).empty());
  CHECK(fault(endless.substr(0, 10'000)).empty());
  CHECK_THAT(
      fault(read_file(dir / "x").substr(0, 10'000)),
      Contains(
          "a.wav: the sound at byte 24 has 40002 bytes, but the file ends 9976 bytes behind its beginning"));
}

TEST_CASE("audio: damaged files are refused, or sound otherwise") {
  TemporaryDirectory dir;
  const auto samples = sound(20'000, 1);
  int refused = 0;
  for (const int format : {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
                           SF_FORMAT_OGG | SF_FORMAT_VORBIS}) {
    write_sound(dir / "x", format, 1, samples);
    mutate(read_file(dir / "x"), 60, static_cast<std::uint64_t>(format), [&](const std::string& bytes) {
      try {
        const auto source = open(bytes, 1000, false, {.memory = 8 << 20});
        SourceChunk chunk;
        for (int chunks = 0; chunks < 1000 && source->next({10}, chunk); ++chunks) REQUIRE(chunk.items <= 10);
      } catch (const DataError& e) {
        CHECK_THAT(e.what(), Catch::StartsWith("a.wav: "));
        ++refused;
      } catch (const ResourceError&) {
        ++refused;
      }
    });
  }
  CHECK(refused > 20);
}

TEST_CASE("audio: the mean of channels is finite where they are") {
  TemporaryDirectory dir;
  const float large = std::numeric_limits<float>::max(), infinite = std::numeric_limits<float>::infinity();
  const std::vector<float> samples{large, large, -large, -large, 3e38F, 2e38F, large, infinite, 0.1F, 0.2F};
  write_sound(dir / "a.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 2, samples);
  const auto items = items_of(*io::open_audio_mono(dir / "a.wav", 100).erased());
  REQUIRE(items.size() == 1);
  const auto means = values_of<float>(items[0][0].components[0]);
  CHECK(means == std::vector<float>{large, -large, 2.5e38F, infinite, (0.1F + 0.2F) / 2});
}
