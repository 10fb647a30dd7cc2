#include "io/base/element_parts.h"

#include <cstring>

namespace anabranch::io::detail {

namespace {

template <class Word>
void split_words(const unsigned char* elements, std::int64_t count, const PartBytes& parts) {
  for (std::int64_t i = 0; i < count; ++i)
    for (unsigned char* part : parts) {
      std::memcpy(part + i * static_cast<std::int64_t>(sizeof(Word)), elements, sizeof(Word));
      elements += sizeof(Word);
    }
}
template <class Word>
void join_words(const PartBytes& parts, std::int64_t count, unsigned char* elements) {
  for (std::int64_t i = 0; i < count; ++i)
    for (const unsigned char* part : parts) {
      std::memcpy(elements, part + i * static_cast<std::int64_t>(sizeof(Word)), sizeof(Word));
      elements += sizeof(Word);
    }
}

}  // namespace

void split_parts(const unsigned char* elements, std::int64_t count, ScalarType type, const PartBytes& parts) {
  if (size_of(type) == 4)
    split_words<std::uint32_t>(elements, count, parts);
  else
    split_words<std::uint64_t>(elements, count, parts);
}

void join_parts(const PartBytes& parts, std::int64_t count, ScalarType type, unsigned char* elements) {
  if (size_of(type) == 4)
    join_words<std::uint32_t>(parts, count, elements);
  else
    join_words<std::uint64_t>(parts, count, elements);
}

}  // namespace anabranch::io::detail
