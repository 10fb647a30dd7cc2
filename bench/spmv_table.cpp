#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/contest.h"
#include "support/matrices.h"
#include "support/matrix_sources.h"
#include "support/programs.h"
#include "support/spmv_contest.h"
#include "support/table_matrices.h"

/// Sparse matrix times vector, in double, over matrices with the shapes of the fourteen of Williams et al. (2007) and of Bell and
/// Garland (2008): in memory, beside libraries (--benchmark_filter=memory); from files in the page cache, in less memory
/// than they are large, beside the run in memory (--benchmark_filter=streamed). With --further two larger matrices, too, a graph and one
/// of 128 M nonzeros, which are no part of the geometric means.
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
              [=] { return spmv_contest(make_matrix(matrix), calls_of(matrix), thread_counts()); });
}

void add_streamed(const TableMatrix& matrix) {
  add_contest(streamed + matrix.name, [=] {
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

/// A summary of contests, each of one matrix, for one number of threads: lines of the matrices, and what they have in the mean.
class Summary {
 public:
  Summary(std::string contests, std::string ours, std::vector<Column> columns, int threads)
      : contests_(std::move(contests)),
        ours_(std::move(ours)),
        columns_(std::move(columns)),
        threads_(threads),
        logs_(columns_.size()) {}

  /// Nothing where no contest has been held.
  std::string line(const TableMatrix& matrix) {
    const Row row(contests_ + matrix.name, threads_);
    if (!row) return "";
    ++rows_;
    std::string out = fmt::format("| {} | {} |", matrix.name, threads_);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const Timing* found = row.best(columns_[c].of);
      if (found && columns_[c].ratio) {
        const double ratio = found->seconds / row.find(ours_)->seconds;
        logs_[c] += std::log(ratio);
        out += fmt::format(" {:.2f} |", ratio);
      } else {
        out += found ? fmt::format(" {:.3g} ms |", found->seconds * 1e3) : " |";
      }
    }
    return out + "\n";
  }

  /// Of the lines until here.
  std::string geometric_means() const {
    if (rows_ == 0) return "";
    std::string out = fmt::format("| geometric mean of {} | {} |", rows_, threads_);
    for (std::size_t c = 0; c < columns_.size(); ++c)
      out += columns_[c].ratio ? fmt::format(" {:.2f} |", std::exp(logs_[c] / static_cast<double>(rows_)))
                               : " |";
    return out + "\n";
  }

 private:
  std::string contests_, ours_;
  std::vector<Column> columns_;
  int threads_;
  std::vector<double> logs_;
  std::size_t rows_ = 0;
};

void print_summary(const std::string& contests, const std::string& ours, const std::vector<Column>& columns) {
  std::string heading = "\n| matrix | threads |", rule = "|---|---|", body;
  for (const Column& c : columns) {
    heading += fmt::format(" {} |", c.heading);
    rule += "---|";
  }
  for (const int threads : thread_counts()) {
    Summary summary(contests, ours, columns, threads);
    for (const TableMatrix& matrix : table_matrices()) body += summary.line(matrix);
    body += summary.geometric_means();
    for (const TableMatrix& matrix : further_matrices()) body += summary.line(matrix);
  }
  if (!body.empty()) fmt::print("{}\n{}\n{}", heading, rule, body);
}

/// Takes `option` out of the arguments; whether it was among them.
bool take(int& argc, char** argv, std::string_view option) {
  char** const end = std::remove_if(argv + 1, argv + argc, [&](const char* a) { return a == option; });
  const bool taken = end != argv + argc;
  argc = static_cast<int>(end - argv);
  return taken;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<TableMatrix> matrices(table_matrices().begin(), table_matrices().end());
  if (take(argc, argv, "--further"))
    matrices.insert(matrices.end(), further_matrices().begin(), further_matrices().end());
  for (const TableMatrix& matrix : matrices) add_in_memory(matrix);
  for (const TableMatrix& matrix : matrices) add_streamed(matrix);
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
