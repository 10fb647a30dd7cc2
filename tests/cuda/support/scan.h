#pragma once

#include <climits>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/scan_order.h"
#include "tests/cpu/support/fold_kernels.h"
#include "tests/cpu/support/oracle.h"
#include "tests/cuda/support/nvrtc.h"
#include "tests/cuda/support/target.h"

/// Scans made by hand, in every way that their CUDA text could be scheduled, beside an oracle.
namespace anabranch::test {

enum class ScanResult : std::uint8_t {
  inclusive,
  exclusive,
  totals,
  exclusive_and_totals,
  all,
  all_and_totals
};

inline bool has_prefixes(ScanResult result) { return result != ScanResult::totals; }
inline bool has_totals(ScanResult result) {
  return result == ScanResult::totals || result == ScanResult::exclusive_and_totals ||
         result == ScanResult::all_and_totals;
}
inline kernel::Prefixes prefixes_of(ScanResult result) {
  switch (result) {
    case ScanResult::inclusive:
    case ScanResult::totals:
      return kernel::Prefixes::inclusive;
    case ScanResult::exclusive:
    case ScanResult::exclusive_and_totals:
      return kernel::Prefixes::exclusive;
    case ScanResult::all:
    case ScanResult::all_and_totals:
      return kernel::Prefixes::all;
  }
  return {};
}
/// One more element than rows have?
inline std::int64_t one_more(ScanResult result) {
  return prefixes_of(result) == kernel::Prefixes::all ? 1 : 0;
}

/// A kernel under construction, with the memory of its outputs.
class ScanBuilder {
 public:
  ScanBuilder(bool over_items, std::int64_t items) : builder_(kernel::Scan{}, over_items, items) {}

  KernelBuilder& builder() { return builder_; }
  kernel::Kernel& kernel() { return builder_.kernel(); }
  kernel::Scan& scan() { return scan_in(kernel()); }
  kernel::Reduction& reduction() { return scan().reduction; }
  const ir::Ref& r() { return scan().row.index; }

  /// Positions, and the length and types of what is scanned at each.
  void rows(kernel::Layout domain, kernel::KernelExtent length, const ir::Scalars& types) {
    static_cast<kernel::Layout&>(kernel().domain) = std::move(domain);
    for (std::size_t d = 0; d < kernel().domain.extents.size(); ++d)
      kernel().index.push_back(ir::parameter(ir::Type::element(ScalarType::int64)));
    scan().row.length = length;
    scan().row.index = ir::parameter(ir::Type::element(ScalarType::int64));
    for (const ScalarType s : types) {
      reduction().left.push_back(ir::parameter(ir::Type::element(s)));
      reduction().right.push_back(ir::parameter(ir::Type::element(s)));
    }
  }

  /// An output of `elements` in all, of these components of the elements from `first` on.
  void output(kernel::KernelOutput::Write write, const kernel::Layout& layout, std::size_t first,
              const ir::Scalars& types, std::int64_t elements) {
    kernel::KernelOutput& out = kernel().outputs.emplace_back();
    out.write = write;
    out.first = first;
    static_cast<kernel::Layout&>(out.array) = layout;
    out.array.type = {static_cast<int>(layout.extents.size()), types};
    for (const ScalarType s : types) {
      const std::vector<std::byte> fill(static_cast<std::size_t>(elements) * size_of(s), std::byte{0xcd});
      const int slot = builder_.bytes(fill.data(), fill.size());
      if (out.array.first_buffer < 0) out.array.first_buffer = slot;
      written_.emplace_back(slot, s);
    }
  }

  struct Written {
    int slot;
    ScalarType type;
  };
  const std::vector<Written>& written() const { return written_; }
  std::span<std::byte> memory(int slot) {
    return {static_cast<std::byte*>(builder_.data(slot)), builder_.sizes()[static_cast<std::size_t>(slot)]};
  }
  /// The bytes of everything that is written.
  std::vector<std::vector<std::byte>> results() {
    std::vector<std::vector<std::byte>> out;
    for (const Written& w : written_) out.emplace_back(memory(w.slot).begin(), memory(w.slot).end());
    return out;
  }
  void forget_results() {
    for (const Written& w : written_) std::ranges::fill(memory(w.slot), std::byte{0xcd});
  }

 private:
  KernelBuilder builder_;
  std::vector<Written> written_;
};

/// Writes what a scan means into its outputs.
class ScanOracle : Oracle {
 public:
  explicit ScanOracle(ScanBuilder& scan) : Oracle(scan.builder()), form_(scan.scan()) {}

  /// Counts rows and elements.
  void measure() {
    each_row([](std::int64_t, std::int64_t) {});
  }
  void run() {
    each_row([&](std::int64_t item, std::int64_t local) { row(item, local); });
  }
  std::int64_t rows() const { return rows_; }
  std::int64_t elements() const { return elements_; }
  std::int64_t longest() const { return longest_; }

 private:
  template <class F>
  void each_row(F&& f) {
    for (std::int64_t item = 0; item < builder_.items(); ++item) {
      enter(item);
      std::int64_t size = 1;
      for (const auto& e : kernel_.domain.extents) size *= value(e, item);
      for (std::int64_t local = 0; local < size; ++local) {
        std::int64_t rest = local;
        for (std::size_t d = kernel_.domain.extents.size(); d-- > 0;) {
          const std::int64_t n = value(kernel_.domain.extents[d], item);
          bind(kernel_.index[d], rest % n);
          rest /= n;
        }
        const std::int64_t length = value(form_.row.length, item);
        ++rows_;
        elements_ += length;
        longest_ = std::max(longest_, length);
        f(item, local);
      }
    }
  }

  void row(std::int64_t item, std::int64_t local) {
    const std::int64_t length = value(form_.row.length, item);
    std::optional<Values> seed, total;
    const bool all = form_.kind.prefixes == kernel::Prefixes::all, from_right = form_.kind.from_right;
    if (!form_.reduction.seed.empty() && (length > 0 || all || writes_totals()))
      seed = evaluate(form_.reduction.seed);
    const auto at = [&](std::int64_t k) {
      bind(form_.row.index, from_right ? length - 1 - k : k);
      return evaluate(kernel_.body);
    };
    const auto join = [&](const Values& x, const Values& y) {
      for (std::size_t c = 0; c < x.size(); ++c) {
        bind(form_.reduction.left[c], Values{x[c]});
        bind(form_.reduction.right[c], Values{y[c]});
      }
      return evaluate(form_.reduction.combine);
    };
    const std::int64_t shift = form_.kind.prefixes == kernel::Prefixes::inclusive ? 0 : 1;
    const std::int64_t count = length + (all ? 1 : 0);
    const auto put_number = [&](std::int64_t number, const Values& v) {
      if (number < count) put(item, local, from_right ? count - 1 - number : number, count, v);
    };
    if (shift > 0 && count > 0) put_number(0, *seed);
    ir::scan_order::scan_row(length, seed, at, join, [&](std::int64_t k, const Values& v) {
      put_number(k + shift, v);
      if (k + 1 == length) total = v;
    });
    for (const kernel::KernelOutput& o : kernel_.outputs)
      if (o.write == kernel::KernelOutput::Write::position)
        store(o, base(o.array, item) + local, total ? *total : *seed);
  }

  bool writes_totals() const {
    return std::any_of(kernel_.outputs.begin(), kernel_.outputs.end(),
                       [](const auto& o) { return o.write == kernel::KernelOutput::Write::position; });
  }
  void put(std::int64_t item, std::int64_t local, std::int64_t k, std::int64_t length, const Values& v) {
    std::int64_t step = 1;
    for (auto d = static_cast<std::size_t>(form_.axis.value_or(INT_MAX)); d < kernel_.domain.extents.size();
         ++d)
      step *= value(kernel_.domain.extents[d], item);
    for (const kernel::KernelOutput& o : kernel_.outputs)
      if (o.write == kernel::KernelOutput::Write::element)
        store(o, base(o.array, item) + (local / step * length + k) * step + local % step, v);
  }
  void store(const kernel::KernelOutput& o, std::int64_t at, const Values& v) {
    for (std::size_t c = 0; c < o.array.type.scalars.size(); ++c)
      interp::store(o.array.type.scalars[c],
                    static_cast<std::byte*>(builder_.data(o.array.first_buffer + static_cast<int>(c))), at,
                    v[o.first + c]);
  }

  const kernel::Scan& form_;
  std::int64_t rows_ = 0, elements_ = 0, longest_ = 0;
};

/// One way to run a scan.
struct ScanWay {
  std::uint64_t seed = 0;
  int multiprocessors = 2;
  bool elements_known = true;
  bool longest_known = false;
  int entry = -1;  ///< instead of the first that the schedule chose, where that is one for rows
  std::string text() const {
    return "seed " + std::to_string(seed) + ", multiprocessors " + std::to_string(multiprocessors) +
           (elements_known ? "" : ", elements not known") + (longest_known ? ", longest known" : "") +
           (entry < 0 ? "" : ", entry " + std::to_string(entry));
  }
};

inline const std::vector<ScanWay> scan_ways{{},
                                            {7, 1},
                                            {8, 100},
                                            {1, 2, false},
                                            {2, 2, true, true},
                                            {3, 2, true, false, 0},
                                            {4, 1, true, false, 1},
                                            {5, 3, false, false, 0}};

/// Runs it once; what it writes is in the builder's memory.
inline cuda::ErrorRecord run_scan(ScanBuilder& scan, const ScanWay& way, const ScanOracle& sizes) {
  scan.forget_results();
  KernelBuilder& builder = scan.builder();
  const auto target = make_target(builder.kernel());
  std::vector<cuda::Address> buffers;
  for (std::size_t slot = 0; slot < builder.buffers().size(); ++slot)
    buffers.push_back(target->put(builder.buffers()[slot], builder.sizes()[slot]));
  cuda::Bindings bindings{buffers, builder.scalars(), builder.items()};
  bindings.positions = sizes.rows();
  if (way.elements_known) bindings.elements = sizes.elements();
  if (way.longest_known) bindings.longest = sizes.longest();
  cuda::Schedule schedule = cuda::schedule(builder.kernel(), bindings, way.multiprocessors);
  if (way.entry >= 0 && !schedule.launches.empty()) {
    cuda::Launch& first = schedule.launches[0];
    if (first.entry > 1) schedule.launches.resize(1);  // long rows of one length: a warp each
    const std::int64_t rows = way.entry == 0 ? 256 : 8;
    first = {way.entry,
             static_cast<unsigned>(std::clamp<std::int64_t>((sizes.rows() + rows - 1) / rows, 1, 9)), 256};
  }
  cuda::ErrorRecord record;
  std::vector<std::byte> fill(static_cast<std::size_t>(schedule.workspace), std::byte{0xcd});
  std::fill_n(fill.begin(), schedule.zeroed, std::byte{0});
  const GuardedMemory workspace(fill.data(), fill.size());
  const auto words = cuda::pack(builder.kernel(), bindings, target->put(&record, sizeof record),
                                target->put(workspace.data(), fill.size()));
  for (const auto& launch : schedule.launches) target->launch(launch, words, way.seed);
  target->finish();
  return record;
}

/// Equal bytes, except that any NaN equals any NaN.
inline bool same_numbers(ScalarType type, const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  if (a.size() != b.size()) return false;
  return anabranch::detail::with_scalar(type, [&]<class T>(std::type_identity<T>) {
    for (std::size_t at = 0; at < a.size(); at += sizeof(T)) {
      if (std::memcmp(&a[at], &b[at], sizeof(T)) == 0) continue;
      T x, y;
      std::memcpy(&x, &a[at], sizeof(T));
      std::memcpy(&y, &b[at], sizeof(T));
      if (x == x || y == y) return false;
    }
    return true;
  });
}

/// What the runs of a scan that fails have in common. Of an operator that fails in a long row each way may
/// meet another application first.
enum class SameFailure : std::uint8_t { whole_record, position };

/// Holds every way to run the scan against the oracle; where that fails so must they, at the same place.
inline std::string scan_disagreement(ScanBuilder& scan, SameFailure failures = SameFailure::whole_record) {
  scan.builder().find_checks();
  kernel::verify(scan.kernel());
  if (compiles_all()) {
    static std::set<std::string> seen;
    const cuda::Unit unit = cuda::generate(scan.kernel());
    if (seen.insert(unit.source).second)
      if (const std::string complaint = nvrtc_complaint(unit); !complaint.empty())
        return complaint + "\n" + unit.source;
  }
  scan.forget_results();
  ScanOracle oracle(scan);
  bool fails = false;
  std::int64_t failed_row = -1;
  try {
    oracle.run();
  } catch (const RunError&) {
    fails = true;
    failed_row = oracle.rows() - 1;
  }
  const auto expected = scan.results();
  std::optional<cuda::ErrorRecord> first;
  for (const ScanWay& way : scan_ways) {
    ScanOracle sizes(scan);
    sizes.measure();
    const cuda::ErrorRecord record = run_scan(scan, way, sizes);
    const bool failed = record.position != cuda::no_failure;
    if (failed != fails) return way.text() + (fails ? ": no error" : ": an error");
    if (fails) {
      if (!first) first = record;
      if (static_cast<std::int64_t>(record.position) != failed_row)
        return way.text() + ": row " + std::to_string(record.position) + ", not " +
               std::to_string(failed_row);
      if (failures == SameFailure::whole_record &&
          (record.failed != first->failed || record.value != first->value || record.bound != first->bound))
        return way.text() + ": another error";
      continue;
    }
    const auto got = scan.results();
    for (std::size_t i = 0; i < got.size(); ++i)
      if (!same_numbers(scan.written()[i].type, got[i], expected[i]))
        return way.text() + ": other values in output component " + std::to_string(i);
  }
  return "";
}

}  // namespace anabranch::test
