#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <anabranch/anabranch.h>

#include "support/memory_source.h"

namespace anabranch::testing {

struct Damaged : std::domain_error {
  using std::domain_error::domain_error;
};

/// Rows of 0 to 40 numbers in chunks of at most 50 items; the row `fails` throws.
class SomeRows : public SourceBase {
 public:
  explicit SomeRows(std::int64_t count, std::int64_t fails = -1) : count_(count), fails_(fails) {
    info_.name = "some rows";
    info_.arrays = {array_info({ScalarType::float64}, {std::nullopt}, 0)};
    info_.rewindable = true;
    info_.live = false;
  }
  const SourceInfo& info() const override { return info_; }
  static std::int64_t length(std::int64_t row) { return row * 7919 % 41; }
  bool next(const Limit& limit, SourceChunk& chunk) override {
    if (at_ == count_) return false;
    auto values = std::make_shared<std::vector<double>>();
    auto offsets = std::make_shared<std::vector<std::int64_t>>(1, 0);
    std::int64_t items = 0;
    const std::int64_t most = std::min<std::int64_t>({limit.items, 50, count_ - at_});
    do {
      if (at_ == fails_) throw Damaged("row " + std::to_string(at_) + " is damaged");
      for (std::int64_t i = 0; i < length(at_); ++i) values->push_back(static_cast<double>(at_ % 1000 + i));
      offsets->push_back(std::ssize(*values));
      ++at_;
    } while (++items < most && std::ssize(*values) < limit.work);
    chunk = {items, std::max(items, std::ssize(*values)), 8 * (std::ssize(*values) + items + 1), {}, 0};
    chunk.arrays.resize(1);
    chunk.arrays[0].data.emplace_back(values, values->data());
    chunk.arrays[0].offsets = {offsets, offsets->data()};
    return true;
  }
  void rewind() override { at_ = 0; }

 private:
  SourceInfo info_;
  std::int64_t count_, fails_, at_ = 0;
};

inline Seq<Vector<double>> some_rows(std::int64_t count, std::int64_t fails = -1) {
  return stream_in(Source<Vector<double>>(std::make_shared<SomeRows>(count, fails)));
}

inline const auto total = [](auto row) { return sum(row); };
inline const auto is_long = [](auto row) { return size(row) > 20; };
inline const auto add = [](auto x, auto y) { return unit(the(x) + the(y)); };

/// Programs over a stream that use each of the runtime's ways, each giving a vector.
struct Way {
  const char* name;
  std::function<Acc<Vector<double>>(const Seq<Vector<double>>&)> program;
};
inline std::vector<Way> ways() {
  return {
      {"sums", [](const auto& s) { return consume(elements(map_seq(total, s))); }},
      {"rows as they are", [](const auto& s) { return consume(elements(s)); }},
      {"a filter", [](const auto& s) { return consume(elements(map_seq(total, filter_seq(is_long, s)))); }},
      {"neighbours",
       [](const auto& s) {
         return consume(elements(zip_with_seq([](auto x, auto y) { return unit(the(sum(x)) - the(sum(y))); },
                                              s, drop_seq(1, s))));
       }},
      {"windows", [](const auto& s) { return consume(elements(map_seq(total, windows(s, 100, 30)))); }},
      {"elements one by one",
       [](const auto& s) { return consume(elements(flat_map_seq([](auto row) { return rows(row); }, s))); }},
      {"running sums",
       [](const auto& s) { return consume(elements(scan_seq(add, unit(0.0), map_seq(total, s)))); }},
      {"a tree of sums",
       [](const auto& s) { return replicate(consume(fold_seq(add, unit(0.0), map_seq(total, s))), 1); }},
      {"sums of batches",
       [](const auto& s) {
         return replicate(
             consume(fold_batch([](auto batch) { return unit(the(sum(consume(elements(batch))))); }, add,
                                unit(0.0), s)),
             1);
       }},
  };
}

}  // namespace anabranch::testing
