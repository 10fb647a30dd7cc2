#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <anabranch/io/text.h>

#include "io/base/file.h"
#include "io/text/text_scan.h"

namespace anabranch::io::detail {

/// The items of a text that is already open, or in memory.
std::shared_ptr<SourceBase> open_text(std::shared_ptr<const ReadFile> file, TextItems kind,
                                      const TextOptions& options);

/// What every source of text says of itself.
SourceInfo text_info(const std::string& name);
/// "file: line 7 is longer than 100 bytes": `number` counts items from 0, `line` lines from 1.
std::string too_long(const std::string& name, TextItems kind, std::int64_t number, std::int64_t line,
                     std::int64_t longest);

/// Throws the DataError of the first item of a block of complete items that is too long; there is one. The block's
/// first item has this number and is in this line.
[[noreturn]] void refuse_long_item(const std::string& name, TextItems kind, unsigned char* block,
                                   std::int64_t size, bool last_is_open, std::int64_t number,
                                   std::int64_t line, std::int64_t longest);

}  // namespace anabranch::io::detail
