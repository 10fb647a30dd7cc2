#include "io/audio/sound_length.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/checksum.h"
#include "io/base/counted.h"
#include "io/base/little_endian.h"

namespace anabranch::io::detail {

namespace {

/// The first bytes of a file, as many as there are of them.
std::string start_of(const ReadFile& file, std::int64_t most) {
  std::string start(static_cast<std::size_t>(std::min(file.size(), most)), '\0');
  file.read(0, start.data(), std::ssize(start));
  return start;
}

template <class T>
T number_at(std::string_view bytes, std::size_t at, bool big_endian) {
  const T value = load<T>(reinterpret_cast<const unsigned char*>(bytes.data()) + at);
  if (!big_endian) return value;
  if constexpr (sizeof(T) == 8)
    return static_cast<T>(__builtin_bswap64(value));
  else
    return static_cast<T>(__builtin_bswap32(value));
}

/// `part` of the file at byte `at` has so many bytes; `left` are there.
void check_part(const ReadFile& file, const std::string& part, std::int64_t at, std::uint64_t bytes,
                std::int64_t left) {
  if (bytes > static_cast<std::uint64_t>(left))
    throw DataError(
        fmt::format("{}: {} at byte {} has {} {}, but the file ends {} behind its beginning: it is cut off",
                    file.name(), part, at, bytes, bytes == 1 ? "byte" : "bytes", counted(left, "byte")));
}

// ---- Chunks: an identifier, a size, so many bytes, and what fills them up ------------------------------------

struct Chunks {
  std::int64_t begin;     ///< of the first one
  std::string_view data;  ///< the identifier of the one with the samples
  bool big_endian = false;
  std::size_t id_bytes = 4;    ///< of identifiers
  std::size_t size_bytes = 4;  ///< of sizes
  bool counts_head = false;    ///< sizes count identifier and size, too
  std::int64_t align = 2;      ///< where chunks begin
  bool is_wav = false;
  bool sizes_at_start =
      false;  ///< RF64: a size of the samples that 32 bits do not hold stands in the chunk ds64
};

/// Sizes of samples that SoX and arecord write into pipes, of WAV files; others write the greatest number. That of SoX is the
/// largest multiple of a frame.
bool is_unknown_of_wav(std::uint64_t size) {
  constexpr std::uint64_t sox = 0x7ffff000, largest_frame = 1 << 16, arecord = 0x80000000,
                          older_arecord = 0x7fffff00;
  return (size <= sox && size > sox - largest_frame) || size == arecord || size == older_arecord;
}

void check_chunks(const ReadFile& file, const Chunks& form) {
  const std::size_t head_bytes = form.id_bytes + form.size_bytes;
  const auto head_size = static_cast<std::int64_t>(head_bytes);
  const auto means_unknown = [&](std::uint64_t size) {
    if (form.size_bytes == 8) return size == UINT64_MAX;
    return size == UINT32_MAX || (form.is_wav && is_unknown_of_wav(size));
  };
  std::string head(head_bytes, '\0');
  std::optional<std::uint64_t> data_bytes;  // by ds64
  for (std::int64_t at = form.begin; head_size <= file.size() - at;) {
    file.read(at, head.data(), head_size);
    const std::string_view id = std::string_view(head).substr(0, form.id_bytes);
    const std::int64_t left = file.size() - at - head_size;
    std::uint64_t bytes = form.size_bytes == 8
                              ? number_at<std::uint64_t>(head, form.id_bytes, form.big_endian)
                              : number_at<std::uint32_t>(head, form.id_bytes, form.big_endian);
    const bool is_data = id == form.data, is_unknown = means_unknown(bytes);
    if (form.counts_head) {
      if (bytes < head_bytes) return;
      bytes -= head_bytes;
    }
    if (is_unknown && form.sizes_at_start) {
      if (!is_data || !data_bytes) return;
      bytes = *data_bytes;
    } else if (is_unknown && is_data) {
      return;  // who wrote it into a pipe did not know its length
    }
    check_part(file, is_data ? fmt::format("the chunk '{}'", id.substr(0, 4)) : "a chunk", at, bytes, left);
    if (is_data) return;
    if (form.sizes_at_start && id == "ds64" && bytes >= 16) {
      std::array<unsigned char, 16> sizes{};
      file.read(at + head_size, sizes.data(), std::ssize(sizes));
      data_bytes = load<std::uint64_t>(sizes.data() + 8);
      if (*data_bytes == UINT64_MAX) return;
    }
    const std::int64_t end = at + head_size + static_cast<std::int64_t>(bytes);
    at = end + (form.align - end % form.align) % form.align;
  }
  throw DataError(
      fmt::format("{}: there is no chunk '{}': the file is cut off", file.name(), form.data.substr(0, 4)));
}

constexpr std::string_view w64_riff("riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00", 16);
constexpr std::string_view w64_data("data\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a", 16);

/// Nothing where the file has no chunks.
std::optional<Chunks> chunks_of(std::string_view start) {
  if (start.size() < 12) return std::nullopt;
  const std::string_view form = start.substr(0, 4), kind = start.substr(8, 4);
  if (form == "RIFF" && kind == "WAVE") return Chunks{.begin = 12, .data = "data", .is_wav = true};
  if (form == "RIFX" && kind == "WAVE")
    return Chunks{.begin = 12, .data = "data", .big_endian = true, .is_wav = true};
  if (form == "RF64" && kind == "WAVE") return Chunks{.begin = 12, .data = "data", .sizes_at_start = true};
  if (form == "FORM" && (kind == "AIFF" || kind == "AIFC")) return Chunks{12, "SSND", true};
  if (form == "FORM" && (kind == "8SVX" || kind == "16SV")) return Chunks{12, "BODY", true};
  if (form == "caff")
    return Chunks{.begin = 8, .data = "data", .big_endian = true, .size_bytes = 8, .align = 1};
  if (start.starts_with(w64_riff))
    return Chunks{
        .begin = 40, .data = w64_data, .id_bytes = 16, .size_bytes = 8, .counts_head = true, .align = 8};
  return std::nullopt;
}

// ---- The others ------------------------------------------------------------------------------------------------

void check_au(const ReadFile& file, std::string_view start, bool big_endian) {
  if (start.size() < 12) return;
  const std::int64_t begin = number_at<std::uint32_t>(start, 4, big_endian);
  const std::uint64_t bytes = number_at<std::uint32_t>(start, 8, big_endian);
  if (bytes != UINT32_MAX)
    check_part(file, "the sound", begin, bytes, std::max<std::int64_t>(file.size() - begin, 0));
}

/// Blocks: a kind, a size of 3 bytes, so many bytes. One of kind 0 is the last, and has no size.
void check_voc(const ReadFile& file, std::string_view start) {
  if (start.size() < 22) return;
  constexpr unsigned char greatest_kind = 9;
  for (std::int64_t at = static_cast<unsigned char>(start[20]) + 256 * static_cast<unsigned char>(start[21]);
       at < file.size();) {
    std::array<unsigned char, 4> head{};
    const std::int64_t head_size = std::ssize(head), left = file.size() - at;
    file.read(at, head.data(), std::min(head_size, left));
    if (head[0] == 0 || head[0] > greatest_kind) return;
    const std::int64_t bytes = head_size + head[1] + 256 * head[2] + 65'536 * head[3];
    check_part(file, "a block", at, static_cast<std::uint64_t>(bytes), left);
    at += bytes;
  }
}

/// Lines such as "sample_count -i 20000": a name, the type of what follows, and that.
void check_nist(const ReadFile& file, std::string_view header) {
  const auto number = [&](const std::string& name) {
    std::int64_t value = 0;
    const std::size_t line = header.find("\n" + name + " -");
    if (line == std::string_view::npos) return value;
    if (const std::size_t at = header.find(' ', line + name.size() + 2); at != std::string_view::npos)
      std::from_chars(header.data() + at + 1, header.data() + header.size(), value);
    return value;
  };
  const std::int64_t begin = std::ssize(header);
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(number("sample_count"), number("sample_n_bytes"), &bytes) ||
      __builtin_mul_overflow(bytes, number("channel_count"), &bytes) || bytes < 0)
    return;
  check_part(file, "the sound", begin, static_cast<std::uint64_t>(bytes), file.size() - begin);
}

// ---- Ogg: pages, each with its number within its stream and a checksum ---------------------------------------

/// libsndfile passes over what is damaged or missing, without a word. Behind the end of all streams may be anything: where
/// that begins.
std::int64_t check_ogg(const ReadFile& file) {
  constexpr std::int64_t head_bytes = 27, most_of_head = head_bytes + 255,
                         most_bytes = most_of_head + 255 * 255;
  constexpr unsigned char is_first = 2, is_last = 4;
  constexpr std::size_t most_streams = 1000;
  std::vector<unsigned char> page(static_cast<std::size_t>(most_bytes));
  std::map<std::uint32_t, std::uint32_t> next;  // number of a page, by the stream that has not ended
  std::int64_t at = 0;
  const auto damaged = [&](const std::string& why) {
    throw DataError(fmt::format("{}: damaged at byte {}: {}", file.name(), at, why));
  };
  while (at < file.size()) {
    const std::int64_t left = file.size() - at;
    const std::int64_t read = std::min(left, most_of_head);
    file.read(at, page.data(), read);
    if (std::memcmp(page.data(), "OggS", static_cast<std::size_t>(std::min<std::int64_t>(left, 4))) != 0) {
      if (next.empty()) return at;
      damaged("no page begins there");
    }
    const std::int64_t segments = left < head_bytes ? 0 : page[26];
    std::int64_t bytes = head_bytes + segments;
    for (std::int64_t s = 0; s < segments && head_bytes + s < left; ++s)
      bytes += page[static_cast<std::size_t>(head_bytes + s)];
    check_part(file, "the page", at, static_cast<std::uint64_t>(bytes), left);
    if (bytes > read) file.read(at + read, page.data() + read, bytes - read);
    const auto stored = load<std::uint32_t>(&page[22]);
    std::fill_n(&page[22], 4, 0);
    if (ogg_crc32(page.data(), bytes) != stored) damaged("the checksum of the page is not that of its bytes");
    const auto stream = load<std::uint32_t>(&page[14]), number = load<std::uint32_t>(&page[18]);
    if ((page[5] & is_first) != 0) next[stream] = number;
    if (next.size() > most_streams) damaged(fmt::format("more than {} streams side by side", most_streams));
    if (const auto known = next.find(stream); known != next.end() && known->second++ != number)
      damaged(fmt::format("page {} where page {} should be", number, known->second - 1));
    if ((page[5] & is_last) != 0) next.erase(stream);
    at += bytes;
  }
  return at;
}

}  // namespace

std::int64_t bytes_of_sound(const ReadFile& file) {
  constexpr std::int64_t nist_header = 1024;
  const std::string start = start_of(file, nist_header);
  if (start.starts_with("OggS")) return check_ogg(file);
  if (const auto chunks = chunks_of(start))
    check_chunks(file, *chunks);
  else if (start.starts_with(".snd") || start.starts_with("dns."))
    check_au(file, start, start.starts_with(".snd"));
  else if (start.starts_with("Creative Voice File\x1a"))
    check_voc(file, start);
  else if (start.starts_with("NIST_1A\n   1024\n") && std::ssize(start) == nist_header)
    check_nist(file, start);
  return file.size();
}

}  // namespace anabranch::io::detail
