#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "support/contest.h"
#include "support/matrices.h"
#include "support/programs.h"

/// What the memory of large results costs: results dropped before the next run, results kept, runs into memory
/// of the caller; beside loops that write into one vector, and into a new one each time.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

using Values = std::vector<double>;

bool same(const double* a, const Values& b) {
  for (std::size_t i = 0; i < b.size(); i += 97)
    if (std::abs(a[i] - b[i]) > 1e-14) return false;
  return true;
}

/// `owner` holds what the program reads; `loop` writes what the program gives.
void add_ways(Contest& contest, const std::shared_ptr<void>& owner,
              const Program<Acc<Vector<double>>>& program, const std::function<void(double*)>& loop,
              std::size_t size) {
  auto expected = std::make_shared<Values>(size);
  loop(expected->data());
  auto result = std::make_shared<Vector<double>>();
  auto kept = std::make_shared<std::vector<Vector<double>>>();
  auto own = std::make_shared<Vector<double>>(Index<1>{{static_cast<std::int64_t>(size)}});
  auto values = std::make_shared<Values>(size);
  const auto right = [=](const Vector<double>& y) {
    return y.size() == static_cast<std::int64_t>(expected->size()) && same(y.data(), *expected);
  };
  for (const int threads : thread_counts()) {
    contest.contenders.push_back({"run, the last result dropped", Role::library, threads,
                                  [=] {
                                    static_cast<void>(owner);
                                    *result = {};
                                    *result = program.run({.threads = threads});
                                  },
                                  [=] { return right(*result); }});
    contest.contenders.push_back({"run_into", Role::shown, threads,
                                  [=] { program.run_into(*own, {.threads = threads}); },
                                  [=] { return right(*own); }});
  }
  contest.contenders.push_back({"run, all results kept", Role::shown, 1,
                                [=] { kept->push_back(program.run({.threads = 1})); },
                                [=] { return right(kept->back()); }});
  contest.contenders.push_back({"loop, one vector", Role::peer, 1, [=] { loop(values->data()); },
                                [=] { return same(values->data(), *expected); }});
  auto fresh = std::make_shared<Values>();
  contest.contenders.push_back({"loop, a new vector", Role::shown, 1,
                                [=] {
                                  *fresh = Values();
                                  *fresh = Values(size);
                                  loop(fresh->data());
                                },
                                [=] { return same(fresh->data(), *expected); }});
}

void add_map() {
  add_contest("results/map", [] {
    constexpr std::int64_t n = 11'000'000;
    auto x = std::make_shared<Buffer<double>>(random_vector(n, 1));
    const auto program = compile(squares(use(vector_over(x->data(), n))));
    Contest contest;
    contest.amount = 16.0 * static_cast<double>(n);
    contest.note = "11 M doubles, 88 MB of results";
    add_ways(
        contest, x, program,
        [x](double* y) {
          for (std::size_t i = 0; i < x->size(); ++i) y[i] = std::fma((*x)[i], (*x)[i], 0.5);
        },
        n);
    return contest;
  });
}

/// Its result's size is known at the end only, and the exponentials are stored for a chunk.
void add_softmax() {
  add_contest("results/softmax_rows", [] {
    auto a = std::make_shared<Csr>(banded(200'000, 55, 1000));
    const auto softmax = [](Acc<SparseRow> row) {
      auto [columns, values] = unzip(row);
      auto largest = maximum(values);
      auto powers = map([=](Exp<double> v) { return exp(v - the(largest)); }, values);
      auto total = sum(powers);
      return map([=](Exp<double> p) { return p / the(total); }, powers);
    };
    const auto program = compile(
        consume(elements(map_seq(softmax, stream_in(io::csr_view(a->rows, a->cols, a->indptr.span(),
                                                                 a->indices.span(), a->values.span()))))));
    Contest contest;
    contest.amount = 16.0 * static_cast<double>(a->nnz());
    contest.note = fmt::format("{:.3g} M entries in rows of 55, {:.3g} MB of results",
                               static_cast<double>(a->nnz()) / 1e6, static_cast<double>(a->nnz()) * 8 / 1e6);
    add_ways(
        contest, a, program,
        [a](double* y) {
          for (std::int64_t r = 0; r < a->rows; ++r) {
            const auto begin = static_cast<std::size_t>(a->indptr[static_cast<std::size_t>(r)]);
            const auto end = static_cast<std::size_t>(a->indptr[static_cast<std::size_t>(r) + 1]);
            double largest = a->values[begin], total = 0;
            for (std::size_t k = begin; k < end; ++k) largest = std::max(largest, a->values[k]);
            for (std::size_t k = begin; k < end; ++k) total += y[k] = std::exp(a->values[k] - largest);
            for (std::size_t k = begin; k < end; ++k) y[k] /= total;
          }
        },
        static_cast<std::size_t>(a->nnz()));
    return contest;
  });
}

}  // namespace

int main(int argc, char** argv) {
  add_map();
  add_softmax();
  return run_all(argc, argv);
}
