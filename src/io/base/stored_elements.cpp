#include "io/base/stored_elements.h"

#include <algorithm>
#include <utility>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/convert.h"

namespace anabranch::io::detail {

namespace {

constexpr std::int64_t checked_bytes = 256 << 10;

std::int64_t width(ScalarType type) { return static_cast<std::int64_t>(size_of(type)); }

}  // namespace

void check_bools(const void* values, std::int64_t count, std::int64_t first, const std::string& name) {
  const auto* bytes = static_cast<const unsigned char*>(values);
  for (std::int64_t i = 0; i < count; ++i)
    if (bytes[i] > 1)
      throw DataError(fmt::format("{}: element {} is the byte {}, not a bool", name, first + i, bytes[i]));
}

void read_elements(const ReadBytes& read, const NpyElement& from, ScalarType as, const PartBytes& to,
                   std::int64_t count, unsigned char* staging, const CheckElements& check) {
  const std::int64_t stored = width(from.type) * from.parts, given = width(as) * from.parts;
  const bool staged = from.type != as || from.parts > 1;
  if (!staged && !check) return read(to[0], count * stored);
  const std::int64_t step = staged ? staged_bytes / std::max(stored, given) : checked_bytes / stored;
  for (std::int64_t i = 0; i < count; i += step) {
    const std::int64_t n = std::min(step, count - i);
    PartBytes parts;
    for (unsigned char* part : to) parts.push_back(part + i * width(as));
    unsigned char* elements = staged ? staging : parts[0];
    read(elements, n * stored);
    if (check) check(elements, n, i);
    if (from.type != as) {
      unsigned char* converted = from.parts == 1 ? parts[0] : staging + staged_bytes;
      convert(from.type, std::exchange(elements, converted), as, converted, n * from.parts);
    }
    if (from.parts > 1) split_parts(elements, n, as, parts);
  }
}

StoredElements::StoredElements(StoredArray array, ScalarType as, CheckElements check)
    : array_(std::move(array)), as_(as), check_(std::move(check)) {
  if (array_.type == ScalarType::boolean)
    check_ = [name = array_.name](const void* values, std::int64_t count, std::int64_t first) {
      check_bools(values, count, first, name);
    };
}

std::int64_t StoredElements::resident_bytes() const {
  return array_.cursor->resident_bytes() + (is_staged() ? 2 * staged_bytes : 0);
}

PartBytes places_of(const std::vector<BufferPool::Buffer>& buffers) {
  PartBytes places;
  for (const BufferPool::Buffer& buffer : buffers)
    places.push_back(static_cast<unsigned char*>(buffer.memory.get()));
  return places;
}

StoredElements::Buffers StoredElements::buffers(std::int64_t count) const {
  Buffers buffers;
  for (int part = 0; part < array_.parts; ++part) buffers.push_back(pool_->take(count * width(as_)));
  return buffers;
}

void StoredElements::read_with(const ReadBytes& read, std::int64_t first, std::int64_t count,
                               const PartBytes& to) const {
  BufferPool::Buffer staging;
  if (is_staged()) staging = staging_->take(2 * staged_bytes);
  CheckElements check;
  if (check_)
    check = [&](const void* elements, std::int64_t n, std::int64_t begin) {
      check_(elements, n, first + begin);
    };
  read_elements(read, {array_.type, array_.parts}, as_, to, count,
                static_cast<unsigned char*>(staging.memory.get()), check);
}

StoredElements::Buffers StoredElements::read(std::int64_t first, std::int64_t count) {
  Buffers out = buffers(count);
  read_with([this](void* into, std::int64_t bytes) { array_.cursor->read(into, bytes); }, first, count,
            places_of(out));
  return out;
}

StoredElements::Buffers StoredElements::read_at(std::int64_t first, std::int64_t count,
                                                std::uint32_t& sum) const {
  std::int64_t at = array_.begin + first * array_.element_bytes();
  sum = 0;
  const auto read = [&](void* into, std::int64_t bytes) {
    sum = crc32_of_both(sum, array_.cursor->read_at(at, into, bytes), bytes);
    at += bytes;
  };
  Buffers out = buffers(count);
  read_with(read, first, count, places_of(out));
  return out;
}

void StoredElements::read_at(std::int64_t first, std::int64_t count, const PartBytes& to) const {
  std::int64_t at = array_.begin + first * array_.element_bytes();
  const auto read = [&](void* into, std::int64_t bytes) {
    array_.cursor->read_at(at, into, bytes);
    at += bytes;
  };
  read_with(read, first, count, to);
}

void StoredElements::pass(std::int64_t count, std::uint32_t sum) {
  array_.cursor->pass(count * array_.element_bytes(), sum);
}

}  // namespace anabranch::io::detail
