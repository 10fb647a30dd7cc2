#include "apps/common/input_files.h"

#include <filesystem>
#include <fstream>
#include <string_view>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "apps/common/usage_error.h"

namespace anabranch::apps {

namespace {

using std::literals::operator""sv;

struct Compression {
  const char* name;
  std::string_view begins;
  const char* unpacks;
};
constexpr Compression compressions[] = {
    {"gzip", "\x1f\x8b\x08"sv, "gunzip -k"},
    {"xz",
     "\xfd"
     "7zXZ\0"sv,
     "unxz -k"},
    {"zstd", "\x28\xb5\x2f\xfd"sv, "unzstd"},
};

/// A word list may begin with "BZh".
bool is_bzip2(std::string_view start) {
  return start.starts_with("BZh") && start.substr(4).starts_with("1AY&SY");
}

}  // namespace

void refuse_compressed(const std::string& file) {
  std::error_code unknown;
  if (file == "-" || !std::filesystem::is_regular_file(file, unknown)) return;
  std::string start(10, '\0');
  std::ifstream(file, std::ios::binary).read(start.data(), static_cast<std::streamsize>(start.size()));
  const auto refuse = [&](const char* name, const char* unpacks) {
    throw DataError(fmt::format("{}: it is compressed with {}; unpack it first: {}", file, name, unpacks));
  };
  for (const Compression& c : compressions)
    if (start.starts_with(c.begins)) refuse(c.name, c.unpacks);
  if (is_bzip2(start)) refuse("bzip2", "bunzip2 -k");
}

void check_input(const char* name, const std::string& file) {
  if (file == "-")
    throw UsageError(
        fmt::format("{} -: standard input cannot be read at any position; a file of this name is ./-", name));
  refuse_compressed(file);
}

}  // namespace anabranch::apps
