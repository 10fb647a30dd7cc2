#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <anabranch/array.h>
#include <anabranch/source.h>

/// The words of several lists, one after the other.
namespace anabranch::apps {

/// The lines of text files. "-" is standard input; it and named pipes pass once. All are opened now. Throws IoError; UsageError where
/// standard input is there twice. When `enough()`, which any thread may ask, no further words come.
Source<Vector<std::uint8_t>> open_word_lists(const std::vector<std::string>& files,
                                             std::function<bool()> enough);

/// Bytes of all files; 0 where one is a pipe.
std::int64_t bytes_of_word_lists(const std::vector<std::string>& files);

}  // namespace anabranch::apps
