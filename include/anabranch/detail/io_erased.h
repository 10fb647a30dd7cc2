#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <anabranch/array.h>
#include <anabranch/export.h>
#include <anabranch/sink.h>
#include <anabranch/source.h>

/// The type-erased functions behind the templates of <anabranch/io.h>.
namespace anabranch::io {

struct NpyRowsOptions;
struct OpenOptions;
struct RaggedOptions;

namespace detail {

struct ConstArray {
  ScalarType type = ScalarType::int32;
  const void* data = nullptr;
  std::int64_t count = 0;
};

struct CsrArrays {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  ConstArray indptr, indices, values;
  std::shared_ptr<const void> owner;
};

/// An element of a dense array: so many scalars of one type (2: a complex number).
struct NpyElement {
  ScalarType type = ScalarType::float64;
  int parts = 1;
};

class CsrSink;
class NpyOutput;

ANABRANCH_API std::shared_ptr<SourceBase> open_csr(const std::string& path, ScalarType index,
                                                   ScalarType value, const OpenOptions& options);
ANABRANCH_API std::shared_ptr<SourceBase> csr_view(const CsrArrays& arrays);
ANABRANCH_API std::shared_ptr<anabranch::detail::ArrayData> read_npy(const std::string& path, int rank,
                                                                     const NpyElement& element, bool convert,
                                                                     std::int64_t memory);
ANABRANCH_API std::shared_ptr<SourceBase> open_npy_rows(const std::string& path, int rank,
                                                        const NpyElement& element,
                                                        const NpyRowsOptions& options);
ANABRANCH_API std::shared_ptr<SourceBase> open_ragged(const std::string& prefix, const NpyElement& element,
                                                      const RaggedOptions& options);
ANABRANCH_API void write_npy(const std::string& path, const anabranch::detail::ArrayData& array);

ANABRANCH_API std::shared_ptr<SinkBase> npy_rows_sink(const std::string& path, int rank,
                                                      const NpyElement& element);
ANABRANCH_API std::shared_ptr<SinkBase> ragged_sink(const std::string& prefix, const NpyElement& element);
ANABRANCH_API std::shared_ptr<SinkBase> csr_sink(const std::string& path, std::int64_t cols, ScalarType index,
                                                 ScalarType value);

}  // namespace detail
}  // namespace anabranch::io
