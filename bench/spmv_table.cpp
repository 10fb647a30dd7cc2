#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "support/contest.h"
#include "support/matrices.h"
#include "support/matrix_sources.h"
#include "support/programs.h"
#include "support/spmv_contest.h"
#include "support/table_matrices.h"

/// Sparse matrix times vector, in double, over matrices with the shapes of the fourteen of Williams et al. (2007) and of Bell and
/// Garland (2008): in memory, beside libraries (--benchmark_filter=memory); from files in the page cache, in less memory
/// than they are large, beside the run in memory (--benchmark_filter=streamed).
namespace {

using namespace anabranch;
using namespace anabranch::bench;

const std::string in_memory = "spmv_table/memory/", streamed = "spmv_table/streamed/";

/// Products of 40 M nonzeros together: what others have left in the caches does not matter then.
int calls_of(const TableMatrix& matrix) {
  return static_cast<int>((40'000'000 + matrix.nonzeros - 1) / matrix.nonzeros);
}

void add_in_memory(const TableMatrix& matrix) {
  add_contest(in_memory + matrix.name,
              [&] { return spmv_contest(make_matrix(matrix), calls_of(matrix), thread_counts()); });
}

void add_streamed(const TableMatrix& matrix) {
  add_contest(streamed + matrix.name, [&] {
    using Product = Program<Acc<Vector<double>>>;
    const auto p = std::make_shared<SpmvProblem>(make_matrix(matrix));
    const auto file = std::make_shared<TemporaryMatrix>(p->a);
    const auto whole = std::make_shared<Product>(compile(smvm(stream_in(view_of(p->a)), p->vector())));
    const auto from_file = std::make_shared<Product>(
        compile(smvm(stream_in(io::open_csr<std::int32_t, double>(file->path)), p->vector())));
    const std::int64_t vectors = 8 * (p->a.rows + p->a.cols), stream = 12 * p->a.nnz() + 4 * p->a.rows;
    const std::int64_t memory = vectors + stream / 8;

    Contest contest;
    contest.amount = p->a.bytes();
    contest.note = fmt::format("{}, .npz in the page cache, {:.3g} MB beside x and y", size_of(p->a),
                               static_cast<double>(stream) / 8e6);
    for (const int threads : thread_counts()) {
      const auto add = [&](const std::string& name, Role role, std::function<void()> run) {
        contest.contenders.push_back({name, role, threads, std::move(run),
                                      [=] {
                                        static_cast<void>(file);
                                        return p->right();
                                      },
                                      calls_of(matrix)});
      };
      const auto add_scheduler = [&](const std::string& scheduler, Role role) {
        add(scheduler, role, [=] {
          auto y = p->result();
          from_file->run_into(y, {.threads = threads, .memory = memory, .scheduler = scheduler});
        });
      };
      add_scheduler("adaptive", Role::library);
      add_scheduler("paper", Role::shown);
      // Rows of so many nonzeros on average.
      for (const std::int64_t nonzeros : {1 << 13, 1 << 15, 1 << 17, 1 << 19})
        add_scheduler(fmt::format("fixed:{}", std::max<std::int64_t>(nonzeros * p->a.rows / p->a.nnz(), 1)),
                      Role::peer);
      add("in memory", Role::limit, [=] {
        auto y = p->result();
        whole->run_into(y, {.threads = threads});
      });
    }
    return contest;
  });
}

/// The contenders of one contest with one number of threads.
class Row {
 public:
  Row(const std::string& contest, int threads) {
    for (const Timing& t : timings())
      if (t.contest == contest && t.threads == threads) timings_.push_back(t);
  }
  explicit operator bool() const { return !timings_.empty(); }

  const Timing* find(const std::string& contender) const {
    const auto found = std::find_if(timings_.begin(), timings_.end(),
                                    [&](const Timing& t) { return t.contender == contender; });
    return found == timings_.end() ? nullptr : &*found;
  }
  /// The quickest whose name has one of these beginnings.
  const Timing* best(const std::vector<std::string>& beginnings) const {
    const Timing* best = nullptr;
    for (const Timing& t : timings_)
      for (const std::string& begin : beginnings)
        if (t.contender.starts_with(begin) && (!best || t.seconds < best->seconds)) best = &t;
    return best;
  }

 private:
  std::vector<Timing> timings_;
};

/// A column of a summary: a time, or what others take for each second of ours.
struct Column {
  std::string heading;
  std::vector<std::string> of;  ///< the best of these
  bool ratio = false;
};

void print_summary(const std::string& contests, const std::string& ours, const std::vector<Column>& columns) {
  std::string heading = "\n| matrix | threads |", rule = "|---|---|", body;
  for (const Column& c : columns) {
    heading += fmt::format(" {} |", c.heading);
    rule += "---|";
  }
  for (const int threads : thread_counts()) {
    std::vector<double> logs(columns.size());
    std::size_t rows = 0;
    for (const TableMatrix& matrix : table_matrices()) {
      const Row row(contests + matrix.name, threads);
      if (!row) continue;
      ++rows;
      body += fmt::format("| {} | {} |", matrix.name, threads);
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const Timing* found = row.best(columns[c].of);
        if (found && columns[c].ratio) {
          const double ratio = found->seconds / row.find(ours)->seconds;
          logs[c] += std::log(ratio);
          body += fmt::format(" {:.2f} |", ratio);
        } else {
          body += found ? fmt::format(" {:.3g} ms |", found->seconds * 1e3) : " |";
        }
      }
      body += "\n";
    }
    if (rows == 0) return;
    body += fmt::format("| geometric mean of {} | {} |", rows, threads);
    for (std::size_t c = 0; c < columns.size(); ++c)
      body +=
          columns[c].ratio ? fmt::format(" {:.2f} |", std::exp(logs[c] / static_cast<double>(rows))) : " |";
    body += "\n";
  }
  fmt::print("{}\n{}\n{}", heading, rule, body);
}

}  // namespace

int main(int argc, char** argv) {
  for (const TableMatrix& matrix : table_matrices()) add_in_memory(matrix);
  for (const TableMatrix& matrix : table_matrices()) add_streamed(matrix);
  const int status = run_all(argc, argv);
  print_summary(in_memory, "anabranch",
                {{"anabranch", {"anabranch"}},
                 {"CSR loop", {"CSR loop"}},
                 {"Eigen", {"Eigen"}},
                 {"oneMKL", {"oneMKL"}},
                 {"GraphBLAS", {"GraphBLAS"}},
                 {"best library / ours", {"Eigen", "oneMKL", "GraphBLAS"}, true},
                 {"loop / ours", {"CSR loop"}, true},
                 {"limit / ours", {"read all bytes"}, true}});
  print_summary(streamed, "adaptive",
                {{"adaptive", {"adaptive"}},
                 {"paper", {"paper"}},
                 {"best fixed", {"fixed:"}},
                 {"in memory", {"in memory"}},
                 {"paper / adaptive", {"paper"}, true},
                 {"best fixed / adaptive", {"fixed:"}, true},
                 {"in memory / adaptive", {"in memory"}, true}});
  return status;
}
