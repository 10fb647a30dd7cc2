#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <anabranch/detail/arrow_abi.h>
#include <anabranch/detail/core.h>
#include <anabranch/detail/io_erased.h>
#include <anabranch/run_options.h>
#include <anabranch/seq.h>
#include <anabranch/sink.h>
#include <anabranch/source.h>

/// Streams from and to other libraries of this process through the Arrow C stream interface: what pyarrow, DuckDB, Polars
/// and many more give and take. Nothing of Arrow is needed to build or run.
namespace anabranch::io {

struct ArrowOptions {
  /// Which columns of record batches become the arrays of an item, in this order; empty: all.
  std::vector<std::string> columns = {};
  /// The next batch may have to be waited for (SourceInfo::live): then items are taken one by one by `stream_out`.
  bool live = false;
};

/// The rows of an Arrow stream, where they lie: no element is copied. (But for bools, which Arrow keeps as bits, buffers
/// of elements or offsets that are not aligned, and offsets of lists of fixed-size lists.) The stream is taken over, as when
/// it is moved: `stream` is left released. It gives its rows once.
///
/// | Arrow | of an item |
/// |---|---|
/// | numbers, half to double, bool | a Scalar |
/// | list, large_list, string, binary and their large forms | a Vector (of uint8 the last four) |
/// | fixed_size_list of so many | an array whose last extent that is |
/// | list of fixed_size_list ... | an array of higher rank, of which the first extent differs |
/// | struct of numbers as element, or as row of a Scalar | a std::tuple, pair, complex number or struct |
/// | record batch (struct) of several columns | a std::tuple of arrays, one for each |
///
/// A null, wherever a row has one, is a DataError that names column and row. So is another type than asked for, when the
/// stream is opened; and a batch whose buffers contradict each other. What get_next refuses is an IoError with its
/// message. A batch is released when its last chunk is gone. Of each chunk the bytes of its own rows count against the memory
/// bound while it is there: not those of the batch's other rows, which the chunk keeps, too.
template <class A>
Source<A> from_arrow(ArrowArrayStream* stream, const ArrowOptions& options = {}) {
  return Source<A>(detail::from_arrow(stream, anabranch::detail::sink_arrays<A>(), options));
}

struct ToArrowOptions {
  std::vector<std::string> names =
      {};               ///< of the columns, one for each array of an item; empty: "0", "1", ...
  RunOptions run = {};  ///< with which the stream is computed
};

/// Makes `out` a stream of record batches with a column for each array of an item: numbers (bool as bits) of Scalars, else
/// large lists, inside each other for every dimension; a tuple as element is a struct with fields "0", "1", ... Each batch
/// is what was computed as a chunk, and shares its memory, which counts against the memory bound until the batch is
/// released. Within a bound the run waits for that, but not while another batch is asked for: then it is an error.
///
/// The sequence is computed by a thread of its own, which begins when the first batch is asked for and is at most two
/// batches ahead. What fails there get_next says: ENOMEM for a ResourceError, ECANCELED, EIO for an IoError, EINVAL for
/// all else, and get_last_error what it was. Releasing the stream stops the run. ProgramError where the sequence does not
/// compile.
template <class A>
void to_arrow(const Seq<A>& s, ArrowArrayStream* out, const ToArrowOptions& options = {},
              anabranch::detail::Loc at = anabranch::detail::Loc::current()) {
  detail::to_arrow(s.handle(), anabranch::detail::sink_arrays<A>(), options, at, out);
}

}  // namespace anabranch::io
