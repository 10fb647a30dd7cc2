#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <anabranch/element.h>
#include <anabranch/error.h>
#include <anabranch/export.h>

/// Several arrays in one of NumPy's .npz files.
namespace anabranch::io {

namespace detail {
class NpzOutput;
}

/// Writes arrays, one after the other, to an .npz file as numpy.savez does: not compressed, with checksums, of any size.
/// Nothing is seen at `path` before `commit`; a writer destroyed without it leaves nothing. Once writing has failed with an
/// IoError, every later call does.
///
///     NpzWriter out("a.npz");
///     out.begin("x", ScalarType::float32);
///     out.append<float>(elements);           // as often as there are some
///     out.end(std::vector<std::int64_t>{rows, columns});
///     out.commit();
class ANABRANCH_API NpzWriter {
 public:
  explicit NpzWriter(const std::string& path);
  ~NpzWriter();
  NpzWriter(NpzWriter&&) noexcept;
  NpzWriter& operator=(NpzWriter&&) noexcept;

  /// Begins an array. RunError where one is under way, or has had that name; a name may have '/' in it.
  void begin(const std::string& name, ScalarType type);
  /// Its next elements, in C order. RunError if the type is not the array's.
  template <IsScalar T>
  void append(std::span<const T> elements) {
    append(anabranch::detail::scalar_type<T>, elements.data(), static_cast<std::int64_t>(elements.size()));
  }
  void append(ScalarType type, const void* elements, std::int64_t count);
  /// The array is complete. RunError unless the shape has as many elements as were appended.
  void end(std::span<const std::int64_t> shape);
  void commit();

  std::int64_t size() const;  ///< arrays that are complete

 private:
  std::unique_ptr<detail::NpzOutput> out_;
};

}  // namespace anabranch::io
