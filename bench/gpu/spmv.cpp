#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include <memory>
#include <type_traits>

#include "gpu/contests.h"
#include "gpu/entrants.h"
#include "gpu/libraries.h"
#include "gpu/merge_spmv.h"
#include "gpu/resident_programs.h"
#include "gpu/results.h"

namespace anabranch::bench {
namespace {

template <class T>
Buffer<T> as(const Buffer<double>& from) {
  if constexpr (std::is_same_v<T, double>) return from;
  Buffer<T> out(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) out[i] = static_cast<T>(from[i]);
  return out;
}

/// What one product has to move at least: the matrix, x and y once.
template <class T>
double bytes_of(const Csr& a) {
  return (4.0 + sizeof(T)) * static_cast<double>(a.nnz()) + 4.0 * static_cast<double>(a.rows + 1) +
         sizeof(T) * static_cast<double>(a.rows + a.cols);
}

}  // namespace

template <class T>
nlohmann::json hold_spmv(const Bench& bench, const std::string& name, const Csr& a) {
  const double bytes = bytes_of<T>(a);
  Contest contest(bench, name, note_of(a, bytes) + ", on the GPU");
  const Buffer<double> x = random_vector(a.cols, 3);
  const std::vector<double> expected = product(a, x);
  const DeviceBuffer offsets(a.indptr.span()), columns(a.indices.span()), values(as<T>(a.values).span()),
      in(as<T>(x).span());
  const DeviceBuffer out(expected.size() * sizeof(T));
  const double allowed = tolerance<T>(a.longest_row());
  const auto right = [&] { return found_in<T>(out, expected, allowed); };

  contest.enter("anabranch", [&] {
    const ResidentMatrix matrix{.rows = a.rows,
                                .cols = a.cols,
                                .nonzeros = a.nnz(),
                                .longest = a.longest_row(),
                                .offsets = offsets.address(),
                                .columns = columns.address(),
                                .values = values.address()};
    return contender_of(resident_smvm<T>(matrix, in.address(), out.address()), right, bytes);
  });
  const auto cusparse = [&](CusparseSpmv::Algorithm algorithm) {
    auto spmv = std::make_shared<CusparseSpmv>(algorithm, a.rows, a.cols, a.nnz(),
                                               offsets.data<std::int32_t>(), columns.data<std::int32_t>(),
                                               values.data<T>(), in.data<T>(), out.data<T>());
    return Contender{.run = [spmv] { (*spmv)(); },
                     .right = right,
                     .bytes = bytes,
                     .note = "prepared: buffer and analysis"};
  };
  contest.enter("cuSPARSE CSR ALG1", [&] { return cusparse(CusparseSpmv::Algorithm::csr1); });
  contest.enter("cuSPARSE CSR ALG2", [&] { return cusparse(CusparseSpmv::Algorithm::csr2); });
  contest.enter("CUB segmented reduce", [&] {
    auto cub =
        std::make_shared<CubRows<T>>(a.rows, offsets.data<std::int32_t>(), columns.data<std::int32_t>(),
                                     values.data<T>(), in.data<T>(), out.data<T>());
    return Contender{.run = [cub] { (*cub)(); }, .right = right, .bytes = bytes};
  });
  contest.enter("merge path", [&] {
    auto merge = std::make_shared<MergeSpmv<T>>(a.rows, a.nnz(), offsets.data<std::int32_t>(),
                                                columns.data<std::int32_t>(), values.data<T>(), in.data<T>(),
                                                out.data<T>());
    return Contender{
        .run = [merge] { (*merge)(); }, .right = right, .bytes = bytes, .note = "by hand; merge-based"};
  });
  enter_read(contest, bytes);
  enter_copy(contest, bytes);
  return contest.hold();
}
template nlohmann::json hold_spmv<float>(const Bench&, const std::string&, const Csr&);
template nlohmann::json hold_spmv<double>(const Bench&, const std::string&, const Csr&);

}  // namespace anabranch::bench
