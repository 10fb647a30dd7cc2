#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include <fmt/format.h>

#include <memory>
#include <string>

#include "support/contest.h"
#include "support/matrices.h"
#include "support/matrix_sources.h"
#include "support/peers.h"
#include "support/programs.h"

/// What streaming costs: chunks beside one chunk, a file beside its parts, many tiny items beside a loop.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

using Product = Program<Acc<Vector<double>>>;

std::string note_of(const Csr& a) {
  return fmt::format("{:.3g} M items, {:.3g} M elements, {:.3g} MB", static_cast<double>(a.rows) / 1e6,
                     static_cast<double>(a.nnz()) / 1e6, a.bytes() / 1e6);
}

/// A matrix, x, and the product that all must give.
struct Problem {
  Csr a;
  Buffer<double> x, expected;

  explicit Problem(Csr matrix)
      : a(std::move(matrix)), x(random_vector(a.cols, 3)), expected(static_cast<std::size_t>(a.rows)) {
    csr_loop(a, x.data(), expected.data(), 1);
  }
  bool right(const Vector<double>& y) const {
    return y.size() == a.rows && close(y.data(), expected.data(), a.rows, 1e-12 * 1e3);
  }
};

/// The flat kernel is the whole matrix as one chunk.
void add_chunks(const std::string& name, std::function<Csr()> make) {
  add_contest("streaming/memory/" + name, [=] {
    auto p = std::make_shared<Problem>(make());
    const Product program = compile(smvm(stream_in(view_of(p->a)), use(vector_over(p->x.data(), p->a.cols))));
    auto y = std::make_shared<Vector<double>>();
    Contest contest;
    contest.amount = p->a.bytes();
    contest.note = note_of(p->a);
    for (const int threads : thread_counts())
      for (const char* scheduler : {"adaptive", "fixed:1000000000", "paper"}) {
        const Role role = scheduler[0] == 'a'   ? Role::library
                          : scheduler[0] == 'f' ? Role::peer
                                                : Role::shown;
        contest.contenders.push_back({scheduler, role, threads,
                                      [=] { *y = program.run({.threads = threads, .scheduler = scheduler}); },
                                      [=] { return p->right(*y); }});
      }
    return contest;
  });
}

void add_file(const std::string& name, std::function<Csr()> make) {
  add_contest("streaming/file/" + name, [=] {
    auto p = std::make_shared<Problem>(make());
    auto file = std::make_shared<TemporaryMatrix>(p->a);
    const auto x = use(vector_over(p->x.data(), p->a.cols));
    const Product whole = compile(smvm(stream_in(io::open_csr<std::int32_t, double>(file->path)), x));
    const Product compute = compile(smvm(stream_in(view_of(p->a)), x));
    const auto source = io::open_csr<std::int32_t, double>(file->path).erased();
    auto y = std::make_shared<Vector<double>>();
    Contest contest;
    contest.amount = p->a.bytes();
    contest.note = note_of(p->a) + ", .npz in the page cache";
    for (const int threads : thread_counts()) {
      contest.contenders.push_back({"whole run", Role::library, threads,
                                    [=] { *y = whole.run({.threads = threads}); },
                                    [=] {
                                      static_cast<void>(file);
                                      return p->right(*y);
                                    }});
      contest.contenders.push_back({"read alone", Role::part, threads, [=] {
                                      source->rewind();
                                      SourceChunk chunk;
                                      while (source->next({.work = 1 << 19}, chunk)) {
                                      }
                                    }});
      contest.contenders.push_back({"compute alone", Role::part, threads,
                                    [=] { *y = compute.run({.threads = threads}); },
                                    [=] { return p->right(*y); }});
    }
    return contest;
  });
}

void sum_rows(const Csr& a, double* y) {
  const std::int32_t* indptr = a.indptr.data();
  const double* values = a.values.data();
  for (std::int64_t i = 0; i < a.rows; ++i) {
    double sum = 0;
    for (std::int32_t k = indptr[i]; k < indptr[i + 1]; ++k) sum += values[k];
    y[i] = sum;
  }
}

void add_tiny_items() {
  add_contest("streaming/items_of_3", [] {
    auto a = std::make_shared<Csr>(banded(10'000'000, 3, 1000));
    auto y = std::make_shared<Buffer<double>>(static_cast<std::size_t>(a->rows));
    auto expected = std::make_shared<Buffer<double>>(static_cast<std::size_t>(a->rows));
    sum_rows(*a, expected->data());
    const Product program = compile(row_sums(stream_in(view_of(*a))));
    auto ours = std::make_shared<Vector<double>>();
    const auto right = [=](const double* result) { return close(result, expected->data(), a->rows, 1e-14); };
    Contest contest;
    contest.amount = 8.0 * static_cast<double>(a->nnz()) + 12.0 * static_cast<double>(a->rows);
    contest.note = "10 M items of 3 doubles, the sum of each";
    for (const int threads : thread_counts())
      contest.contenders.push_back({"anabranch", Role::library, threads,
                                    [=] { *ours = program.run({.threads = threads}); },
                                    [=] { return ours->size() == a->rows && right(ours->data()); }});
    contest.contenders.push_back(
        {"loop", Role::peer, 1, [=] { sum_rows(*a, y->data()); }, [=] { return right(y->data()); }});
    return contest;
  });
}

}  // namespace

int main(int argc, char** argv) {
  add_chunks("laplacian27", [] { return laplacian27(110); });
  add_chunks("banded80", [] { return banded(500'000, 80, 40'000); });
  add_chunks("powerlaw", [] { return power_law(3'000'000); });
  add_chunks("banded3", [] { return banded(7'000'000, 3, 1'000); });
  add_file("laplacian27", [] { return laplacian27(110); });
  add_file("banded3", [] { return banded(7'000'000, 3, 1'000); });
  add_tiny_items();
  return run_all(argc, argv);
}
