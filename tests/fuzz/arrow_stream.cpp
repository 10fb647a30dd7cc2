#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <anabranch/anabranch.h>
#include <anabranch/error.h>
#include <anabranch/io/arrow.h>

#include "read_all.h"

/// libFuzzer: bytes as what the batches of an Arrow stream say of themselves: lengths, offsets, numbers of buffers and
/// children, which values are null. The first one says of which type they are. Buffers are as large as their array's length
/// says, since nothing else tells; all else may be wrong. Whatever the bytes are, the stream is refused with one of our
/// errors, or all of its rows can be read; and all that was given comes back.
namespace {

using namespace anabranch;

/// Zeros behind the last one.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  std::uint8_t next() { return at_ < size_ ? data_[at_++] : 0; }
  std::int64_t below(int n) { return next() % n; }
  /// One in 32 bytes says so.
  bool wrong() { return next() >= 248; }

 private:
  const std::uint8_t* data_;
  std::size_t size_, at_ = 0;
};

struct Type {
  const char* format;
  std::vector<Type> children = {};
  const char* name = "";
};

/// Batches, arrays and schemas that have not been released.
int alive = 0;

struct Schema {
  explicit Schema(const Type& type) {
    for (const Type& child : type.children) {
      children.push_back(std::make_unique<Schema>(child));
      pointers.push_back(&children.back()->schema);
    }
    schema.format = type.format;
    schema.name = type.name;
    schema.n_children = std::ssize(pointers);
    schema.children = pointers.data();
    schema.release = [](ArrowSchema*) {};
  }
  ArrowSchema schema{};
  std::vector<std::unique_ptr<Schema>> children;
  std::vector<ArrowSchema*> pointers;
};

/// Of a number's format.
std::size_t bits_of(char format) {
  switch (format) {
    case 'b':
      return 1;
    case 'i':
      return 32;
    default:
      return 64;
  }
}

class Array {
 public:
  Array(const Type& type, Bytes& bytes) {
    const std::string format = type.format;
    array.length = bytes.below(24);
    array.offset = bytes.below(4) == 3 ? bytes.below(5) : 0;
    const auto positions = static_cast<std::size_t>(array.length + array.offset);
    add(bytes, nulls(bytes, positions));
    if (format == "+l" || format == "u") add(bytes, offsets<std::int32_t>(bytes, positions, format == "u"));
    if (format == "+L") add(bytes, offsets<std::int64_t>(bytes, positions, false));
    if (format == "u") add(bytes, std::vector<std::uint8_t>(256, 'a'));
    if (type.children.empty() && format != "u")
      add(bytes, std::vector<std::uint8_t>((positions * bits_of(format[0]) + 7) / 8, bytes.next()));
    for (const Type& child : type.children) {
      children_.push_back(std::make_unique<Array>(child, bytes));
      child_pointers_.push_back(&children_.back()->array);
    }
    array.n_buffers = std::ssize(pointers_);
    array.n_children = std::ssize(child_pointers_);
    if (bytes.wrong()) array.n_buffers = bytes.below(static_cast<int>(pointers_.size()) + 1);
    if (bytes.wrong()) array.n_children = bytes.below(static_cast<int>(child_pointers_.size()) + 1);
    if (bytes.wrong()) array.length = -bytes.below(3);
    if (bytes.wrong()) array.offset = bytes.below(2) == 0 ? -1 : INT64_MAX;
    array.buffers = bytes.wrong() ? nullptr : pointers_.data();
    array.children = child_pointers_.data();
    array.release = [](ArrowArray*) {};
  }

  ArrowArray array{};

 private:
  /// Which values are there, a bit for each.
  std::vector<std::uint8_t> nulls(Bytes& bytes, std::size_t positions) {
    std::vector<std::uint8_t> valid((positions + 7) / 8, 0xff);
    const bool some = bytes.wrong();
    if (some)
      for (std::uint8_t& eight : valid) eight = bytes.next();
    array.null_count = some ? bytes.below(3) - 1 : 0;
    return valid;
  }
  /// Mostly of lists of some elements each, one behind the other. `few`: for strings, whose bytes have no length of their
  /// own.
  template <class T>
  static std::vector<std::uint8_t> offsets(Bytes& bytes, std::size_t positions, bool few) {
    std::vector<T> all;
    T at = 0;
    for (std::size_t i = 0; i <= positions; ++i) {
      all.push_back(at);
      at = static_cast<T>(static_cast<std::uint64_t>(at) + static_cast<std::uint64_t>(bytes.below(3)));
      if (!bytes.wrong()) continue;
      if (few)
        at = static_cast<T>(bytes.next());
      else
        for (std::size_t b = 0; b < sizeof(T); ++b) reinterpret_cast<std::uint8_t*>(&at)[b] = bytes.next();
    }
    if (few)
      for (T& offset : all) offset = std::min<T>(offset, 256);
    std::vector<std::uint8_t> raw(all.size() * sizeof(T));
    std::memcpy(raw.data(), all.data(), raw.size());
    return raw;
  }
  void add(Bytes& bytes, const std::vector<std::uint8_t>& content) {
    const std::size_t shift = bytes.wrong() ? 1 : 0;  // not aligned
    // Without room at its end, where it would be found out.
    auto& memory = memory_.emplace_back(new std::uint8_t[content.size() + shift]);
    std::copy(content.begin(), content.end(), memory.get() + shift);
    pointers_.push_back(bytes.wrong() ? nullptr : memory.get() + shift);
  }

  std::vector<std::unique_ptr<std::uint8_t[]>> memory_;
  std::vector<const void*> pointers_;
  std::vector<std::unique_ptr<Array>> children_;
  std::vector<ArrowArray*> child_pointers_;
};

struct Stream {
  Type type;
  Bytes bytes;
  std::int64_t batches;

  ArrowArrayStream given() {
    ++alive;
    return {[](ArrowArrayStream* stream, ArrowSchema* out) {
              auto* const schema = new Schema(of(stream).type);
              *out = schema->schema;
              own<Schema>(schema, *out);
              return 0;
            },
            [](ArrowArrayStream* stream, ArrowArray* out) {
              *out = {};
              if (of(stream).batches-- == 0) return 0;
              auto* const array = new Array(of(stream).type, of(stream).bytes);
              *out = array->array;
              own<Array>(array, *out);
              return 0;
            },
            [](ArrowArrayStream*) -> const char* { return nullptr; },
            [](ArrowArrayStream* stream) {
              --alive;
              stream->release = nullptr;
            },
            this};
  }

 private:
  static Stream& of(ArrowArrayStream* stream) { return *static_cast<Stream*>(stream->private_data); }
  template <class Owner, class T>
  static void own(Owner* owner, T& out) {
    ++alive;
    out.private_data = owner;
    out.release = [](T* given) {
      delete static_cast<Owner*>(given->private_data);
      --alive;
      given->release = nullptr;
    };
  }
};

template <class A>
void read(Type column_type, Bytes bytes) {
  const std::int64_t batches = bytes.below(4);
  Stream stream{std::move(column_type), bytes, batches};
  ArrowArrayStream given = stream.given();
  const auto source = io::detail::from_arrow(&given, anabranch::detail::sink_arrays<A>(), {});
  fuzz::read_all(*source, 7);
}

void read(std::uint8_t kind, const Bytes& bytes) {
  const auto batch = [](std::vector<Type> columns) { return Type{"+s", std::move(columns)}; };
  switch (kind % 8) {
    case 0:
      return read<Vector<double>>(batch({{"+l", {{"g"}}, "x"}}), bytes);
    case 1:
      return read<Vector<std::int32_t>>(batch({{"+L", {{"i"}}, "x"}}), bytes);
    case 2:
      return read<Vector<std::uint8_t>>(batch({{"u", {}, "x"}}), bytes);
    case 3:
      return read<Matrix<double>>(batch({{"+l", {{"+w:3", {{"g"}}}}, "x"}}), bytes);
    case 4:
      return read<Vector<bool>>(batch({{"+l", {{"b"}}, "x"}}), bytes);
    case 5:
      return read<Vector<std::tuple<std::int32_t, double>>>(batch({{"+l", {{"+s", {{"i"}, {"g"}}}}, "x"}}),
                                                            bytes);
    case 6:
      return read<std::tuple<Vector<double>, Scalar<std::int32_t>>>(
          batch({{"+l", {{"g"}}, "x"}, {"i", {}, "y"}}), bytes);
    default:
      return read<Vector<double>>(batch({{"+w:2", {{"g"}}, "x"}}), bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    read(data[0], Bytes(data + 1, size - 1));
  } catch (const Error& e) {
    // InternalError is a fault of ours.
    if (dynamic_cast<const InternalError*>(&e)) throw;
  }
  if (alive != 0) std::abort();
  return 0;
}
