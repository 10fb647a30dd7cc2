#include <anabranch/anabranch.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "support/contest.h"
#include "support/programs.h"
#include "support/rearrange_peers.h"

/// Elements sorted, chosen, counted and grouped, in memory.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9ull;
  return x ^ (x >> 32);
}

template <class T, class F>
std::shared_ptr<Vector<T>> filled(std::int64_t n, F f) {
  std::vector<T> values(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = f(i);
  return std::make_shared<Vector<T>>(values);
}

/// Numbers at random, of [0, below); all 32 bits if that is 0.
std::shared_ptr<Vector<std::int32_t>> random_numbers(std::int64_t n, std::uint64_t below) {
  return filled<std::int32_t>(n, [=](std::int64_t i) {
    const std::uint64_t bits = mixed(static_cast<std::uint64_t>(i) + 1) >> 16;
    return static_cast<std::int32_t>(below ? bits % below : bits);
  });
}

void add_sort(const std::string& name, std::int64_t n) {
  add_contest("rearrange/sort of int32, " + name, [=] {
    const auto from = random_numbers(n, 0);
    auto expected = std::make_shared<std::vector<std::int32_t>>(from->data(), from->data() + n);
    parallel_sort(*expected, 2);
    auto to = std::make_shared<Vector<std::int32_t>>(Index{n});
    auto values = std::make_shared<std::vector<std::int32_t>>(static_cast<std::size_t>(n));
    auto buffer = std::make_shared<std::vector<std::int32_t>>(static_cast<std::size_t>(n));
    auto program = std::make_shared<Program<Acc<Vector<std::int32_t>>, Vector<std::int32_t>>>(
        compile<Vector<std::int32_t>>([](auto a) { return sort(a); }));
    Contest contest;
    contest.amount = 8.0 * static_cast<double>(n);
    const auto sorted = [=] { return *values == *expected; };
    for (const int threads : thread_counts()) {
      contest.contenders.push_back(
          {"anabranch", Role::library, threads, [=] { program->run_into(*to, {.threads = threads}, *from); },
           [=] { return std::equal(expected->begin(), expected->end(), to->data()); }, 1});
      contest.contenders.push_back({"tbb::parallel_sort", Role::peer, threads,
                                    [=] {
                                      std::copy_n(from->data(), n, values->data());
                                      parallel_sort(*values, threads);
                                    },
                                    sorted, 1});
    }
    contest.contenders.push_back({"radix sort by hand", Role::peer, 1,
                                  [=] {
                                    std::copy_n(from->data(), n, values->data());
                                    radix_sort(*values, *buffer);
                                  },
                                  sorted, 1});
    return contest;
  });
}

void add_histogram(const std::string& name, std::int64_t n, std::int64_t bins) {
  add_contest("rearrange/histogram, " + name, [=] {
    const auto from = random_numbers(n, static_cast<std::uint64_t>(bins));
    const auto counts = [=] {
      return std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(bins));
    };
    auto expected = counts(), other = counts();
    histogram_loop(from->data(), n, expected->data(), bins);
    auto to = std::make_shared<Vector<std::int64_t>>(Index{bins});
    auto program = std::make_shared<Program<Acc<Vector<std::int64_t>>, Vector<std::int32_t>>>(
        compile<Vector<std::int32_t>>([=](auto a) { return histogram(bins, a); }));
    Contest contest;
    contest.amount = 4.0 * static_cast<double>(n) + 8.0 * static_cast<double>(bins);
    for (const int threads : thread_counts()) {
      contest.contenders.push_back(
          {"anabranch", Role::library, threads, [=] { program->run_into(*to, {.threads = threads}, *from); },
           [=] { return std::equal(expected->begin(), expected->end(), to->data()); }, 1});
      contest.contenders.push_back({threads == 1 ? "loop" : "TBB", Role::peer, threads,
                                    [=] {
                                      if (threads == 1)
                                        histogram_loop(from->data(), n, other->data(), bins);
                                      else
                                        histogram_by_tbb(from->data(), n, other->data(), bins, threads);
                                    },
                                    [=] { return *other == *expected; }, 1});
    }
    return contest;
  });
}

/// Sums of integers by the place that each goes to.
void add_permute(const std::string& name, std::int64_t n, std::int64_t bins) {
  add_contest("rearrange/permute of int64, " + name, [=] {
    const auto places = random_numbers(n, static_cast<std::uint64_t>(bins));
    const auto values = filled<std::int64_t>(n, [](std::int64_t i) { return i % 1000; });
    const auto sums = [=] {
      return std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(bins));
    };
    auto expected = sums(), other = sums();
    sums_at_loop(places->data(), values->data(), n, expected->data(), bins);
    auto to = std::make_shared<Vector<std::int64_t>>(Index{bins});
    auto program = compile<Vector<std::int32_t>, Vector<std::int64_t>>(
        [=](auto to_places, auto v) { return sums_at(bins, to_places, v); });
    auto shared = std::make_shared<decltype(program)>(std::move(program));
    Contest contest;
    contest.amount = 12.0 * static_cast<double>(n) + 8.0 * static_cast<double>(bins);
    for (const int threads : thread_counts()) {
      contest.contenders.push_back(
          {"anabranch", Role::library, threads,
           [=] { shared->run_into(*to, {.threads = threads}, *places, *values); },
           [=] { return std::equal(expected->begin(), expected->end(), to->data()); }, 1});
      contest.contenders.push_back({threads == 1 ? "loop" : "TBB", Role::peer, threads,
                                    [=] {
                                      if (threads == 1)
                                        sums_at_loop(places->data(), values->data(), n, other->data(), bins);
                                      else
                                        sums_at_by_tbb(places->data(), values->data(), n, other->data(), bins,
                                                       threads);
                                    },
                                    [=] { return *other == *expected; }, 1});
    }
    return contest;
  });
}

void add_filter(std::int64_t n, float limit, const std::string& name) {
  add_contest("rearrange/filter, " + name, [=] {
    const auto from = filled<float>(
        n, [](std::int64_t i) { return static_cast<float>(mixed(static_cast<std::uint64_t>(i)) % 1000); });
    auto expected = std::make_shared<std::vector<float>>(static_cast<std::size_t>(n));
    const std::int64_t kept = filter_loop(from->data(), n, limit, expected->data());
    auto other = std::make_shared<std::vector<float>>(static_cast<std::size_t>(n));
    auto to = std::make_shared<Vector<float>>(Index{n});
    auto program = std::make_shared<Program<Acc<Vector<float>>, Vector<float>>>(
        compile<Vector<float>>([=](auto a) { return above(limit, a); }));
    Contest contest;
    contest.amount = 4.0 * static_cast<double>(n + kept);
    for (const int threads : thread_counts()) {
      contest.contenders.push_back(
          {"anabranch", Role::library, threads, [=] { program->run_into(*to, {.threads = threads}, *from); },
           [=] { return to->size() == kept && std::equal(to->data(), to->data() + kept, expected->data()); },
           1});
      contest.contenders.push_back(
          {threads == 1 ? "std::copy_if" : "TBB", Role::peer, threads,
           [=] {
             if (threads == 1)
               filter_loop(from->data(), n, limit, other->data());
             else
               filter_by_tbb(from->data(), n, limit, other->data(), threads);
           },
           [=] { return std::equal(expected->begin(), expected->begin() + kept, other->begin()); }, 1});
    }
    return contest;
  });
}

void add_fold_by_key(const std::string& name, std::int64_t n, std::int64_t distinct) {
  add_contest("rearrange/fold_by_key, " + name, [=] {
    const auto keys = random_numbers(n, static_cast<std::uint64_t>(distinct));
    const auto values = filled<float>(n, [](std::int64_t i) { return static_cast<float>(i % 8); });
    using Sums = std::vector<std::pair<std::int32_t, float>>;
    auto expected = std::make_shared<Sums>(sums_by_hash(keys->data(), values->data(), n));
    auto other = std::make_shared<Sums>();
    using Result = std::tuple<Vector<std::int32_t>, Vector<float>>;
    auto result = std::make_shared<Result>();
    auto program = compile<Vector<std::int32_t>, Vector<float>>(
        [](auto k, auto v) { return fold_by_key(plus, 0.0f, k, v); });
    auto shared = std::make_shared<decltype(program)>(std::move(program));
    Contest contest;
    contest.amount = 8.0 * static_cast<double>(n);
    const auto same = [=](const auto& key_at, const auto& sum_at, std::size_t size) {
      if (size != expected->size()) return false;
      for (std::size_t i = 0; i < size; ++i)
        if (key_at(i) != (*expected)[i].first || sum_at(i) != (*expected)[i].second) return false;
      return true;
    };
    for (const int threads : thread_counts())
      contest.contenders.push_back({"anabranch", Role::library, threads,
                                    [=] { *result = shared->run({.threads = threads}, *keys, *values); },
                                    [=] {
                                      const auto& [k, v] = *result;
                                      return same([&](std::size_t i) { return k.data()[i]; },
                                                  [&](std::size_t i) { return v.data()[i]; },
                                                  static_cast<std::size_t>(k.size()));
                                    },
                                    1});
    const auto right = [=] {
      return same([&](std::size_t i) { return (*other)[i].first; },
                  [&](std::size_t i) { return (*other)[i].second; }, other->size());
    };
    contest.contenders.push_back({"std::unordered_map", Role::peer, 1,
                                  [=] { *other = sums_by_hash(keys->data(), values->data(), n); }, right, 1});
    contest.contenders.push_back({"std::stable_sort", Role::peer, 1,
                                  [=] { *other = sums_by_sort(keys->data(), values->data(), n); }, right, 1});
    return contest;
  });
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::int64_t many = 100'000'000;
  add_sort("4 M", 4'000'000);
  add_sort("100 M", many);
  add_histogram("100 M into 256", many, 256);
  add_histogram("100 M into 64 Ki", many, 1 << 16);
  add_histogram("100 M into 4 Mi", many, 1 << 22);
  add_permute("50 M into 256", many / 2, 256);
  add_permute("50 M into 64 Ki", many / 2, 1 << 16);
  add_permute("50 M into 4 Mi", many / 2, 1 << 22);
  add_filter(many, 499.5f, "100 M, half of them");
  add_filter(many, 989.5f, "100 M, one in a hundred");
  add_fold_by_key("100 M elements, 1 M keys", many, 1'000'000);
  return run_all(argc, argv);
}
