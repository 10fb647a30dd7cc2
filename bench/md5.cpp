#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <anabranch/io.h>

#include "apps/md5/program.h"
#include "support/contest.h"
#include "support/md5_peers.h"

/// A dictionary of 14 million words, from the file to those whose digests begin as ones that are looked for: the program of
/// `anabranch md5` beside the same by hand. The hash alone stands beside them: what hand-written code can reach.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

constexpr std::int64_t count = 14'000'000;

/// Words of some nine letters, the same on every machine, in a file without a name, which goes with the process.
class WordList {
 public:
  WordList() {
    const char* const folder = std::getenv("TMPDIR");
    std::string name = std::string(folder ? folder : "/var/tmp") + "/anabranch-bench-XXXXXX";
    const int descriptor = ::mkstemp(name.data());
    if (descriptor < 0) throw std::runtime_error(name + ": cannot be made");
    ::unlink(name.c_str());
    path_ = fmt::format("/proc/self/fd/{}", descriptor);
    const std::string letters = "aaaabcdeeeefghiiijklmnnnoooprrsssttuvwyzABCDEMS0011223345678999_.!";
    std::mt19937_64 random(1);
    std::ofstream file(path_, std::ios::binary);
    std::string text;
    for (std::int64_t i = 0; i < count; ++i) {
      // Four dice together: 3 to 15 letters, 9 on average.
      std::uint64_t bits = random();
      const std::uint64_t length = 3 + bits % 4 + bits / 4 % 4 + bits / 16 % 4 + bits / 64 % 4;
      bits >>= 8;
      for (std::uint64_t k = 0; k < length; ++k, bits /= letters.size()) {
        if (k % 8 == 7) bits = random();
        text += letters[bits % letters.size()];
      }
      text += '\n';
      if (text.size() > 1 << 20) {
        file << text;
        text.clear();
      }
    }
    file << text;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const WordList& words() {
  static const WordList list;
  return list;
}

/// As `anabranch md5` makes them: a bit for each of the low bits' values, and buckets of the high bits.
struct Wanted {
  std::vector<std::uint32_t> firsts;
  Vector<std::uint32_t> sorted, bits;
  Vector<std::int32_t> begins;

  explicit Wanted(std::int64_t digests) {
    std::mt19937 random(7);
    for (std::int64_t i = 0; i < digests; ++i) firsts.push_back(static_cast<std::uint32_t>(random()));
    std::sort(firsts.begin(), firsts.end());
    firsts.erase(std::unique(firsts.begin(), firsts.end()), firsts.end());
    const auto n = static_cast<std::int64_t>(firsts.size());
    const auto power = [](std::int64_t least) {
      std::int64_t p = 1;
      while (p < least) p *= 2;
      return p;
    };
    const std::int64_t all_bits = std::max<std::int64_t>(power(n * 64), 1 << 15), buckets = power(n);
    sorted = Vector<std::uint32_t>(n);
    bits = Vector<std::uint32_t>(all_bits / 32);
    begins = Vector<std::int32_t>(buckets + 1);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint32_t first = firsts[static_cast<std::size_t>(i)];
      sorted.set(i, first);
      const std::int64_t bit = first & (all_bits - 1);
      bits.set(bit / 32, bits[bit / 32] | (std::uint32_t{1} << (bit % 32)));
    }
    for (std::int64_t b = 0, i = 0; b <= buckets; ++b) {
      while (i < n && static_cast<std::int64_t>(sorted[i]) * buckets >> 32 < b) ++i;
      begins.set(b, static_cast<std::int32_t>(i));
    }
  }
};

/// Counts the suspects as they come.
class Counter final : public SinkBase {
 public:
  Counter() {
    info_.name = "counter";
    info_.arrays = {{{ScalarType::boolean}, 0}, {{ScalarType::uint8}, 1}};
  }
  const SinkInfo& info() const override { return info_; }
  std::unique_ptr<SinkPass> begin(const SinkStart&) override {
    found_ = 0;
    return std::make_unique<Pass>(*this);
  }
  std::int64_t found() const { return found_; }

 private:
  class Pass final : public SinkPass {
   public:
    explicit Pass(Counter& counter) : counter_(counter) {}
    void write(const SinkChunk& chunk) override {
      const auto* const flags = static_cast<const unsigned char*>(chunk.arrays[0].data[0].get());
      counter_.found_ += std::count(flags, flags + chunk.items, 1);
    }
    void finish() override {}
    void commit() override {}

   private:
    Counter& counter_;
  };
  SinkInfo info_;
  std::int64_t found_ = 0;
};

void add_dictionary(std::int64_t digests, int threads) {
  add_contest(fmt::format("md5/{} digest{}/{} thread{}", digests, digests == 1 ? "" : "s", threads,
                          threads == 1 ? "" : "s"),
              [=] {
                const auto wanted = std::make_shared<Wanted>(digests);
                const auto counter = std::make_shared<Counter>();
                using Suspects = std::tuple<Scalar<bool>, Vector<std::uint8_t>>;
                const apps::Targets targets{use(wanted->sorted), use(wanted->begins), use(wanted->bits)};
                const auto attack = [=] {
                  const auto source = stream_in(io::open_lines(words().path()));
                  return consume(write(apps::suspects(source, {{}}, targets), Sink<Suspects>(counter)));
                };
                const auto program = std::make_shared<decltype(compile(attack()))>(compile(attack()));
                const std::int64_t expected =
                    md5_matches(words().path(), wanted->firsts, Md5Way::scalar, threads);
                Contest contest;
                contest.unit = "Gword/s";
                contest.amount = static_cast<double>(count);
                contest.note = fmt::format("{} million words, {} MB", count / 1'000'000,
                                           std::filesystem::file_size(words().path()) / 1'000'000);
                contest.contenders.push_back({"anabranch", Role::library, threads,
                                              [=] { program->run({.threads = threads}); },
                                              [=] { return counter->found() == expected; }});
                const auto add_peer = [&](const char* name, Md5Way way) {
                  if (!has_md5_way(way)) return;
                  const auto found = std::make_shared<std::int64_t>(0);
                  contest.contenders.push_back(
                      {name, Role::peer, threads,
                       [=] { *found = md5_matches(words().path(), wanted->firsts, way, threads); },
                       [=] { return *found == expected; }});
                };
                add_peer("scalar loop", Md5Way::scalar);
                add_peer("AVX2, 8 lanes", Md5Way::avx2);
                add_peer("AVX-512, 16 lanes", Md5Way::avx512);
                add_peer("AVX-512, 4 x 16 lanes", Md5Way::avx512x4);
                const Md5Way best = has_md5_way(Md5Way::avx512x4) ? Md5Way::avx512x4 : Md5Way::avx2;
                contest.contenders.push_back({"the hash alone", Role::limit, threads,
                                              [=] { md5_hashes_a_second(best, threads, count / threads); }});
                return contest;
              });
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::int64_t digests : {1, 10'000, 1'000'000})
    for (const int threads : {1, 2}) add_dictionary(digests, threads);
  return run_all(argc, argv);
}
