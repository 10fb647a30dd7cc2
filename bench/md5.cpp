#include <unistd.h>

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <anabranch/io.h>

#include "apps/md5/digests.h"
#include "apps/md5/program.h"
#include "support/contest.h"
#include "support/md5_numbers.h"
#include "support/md5_peers.h"

/// A dictionary of 14 million words, from the file to those whose digests begin as ones that are looked for: the program of
/// `anabranch md5` beside the same by hand; and its hash beside one by hand where there are no words to read.
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

/// So many, of random bits.
apps::DigestTable random_digests(std::int64_t number) {
  std::mt19937 random(7);
  std::vector<apps::DigestWords> digests;
  for (std::int64_t i = 0; i < number; ++i) digests.push_back({static_cast<std::uint32_t>(random())});
  return apps::DigestTable(std::move(digests));
}

/// Counts the suspects as they come, found as the command finds them: items whose first array is a flag.
class Counter final : public SinkBase {
 public:
  explicit Counter(std::vector<SinkArray> arrays) {
    info_.name = "counter";
    info_.arrays = std::move(arrays);
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
      const auto* at = static_cast<const unsigned char*>(chunk.arrays[0].data[0].get());
      const auto* const end = at + chunk.items;
      while ((at = static_cast<const unsigned char*>(
                  std::memchr(at, 1, static_cast<std::size_t>(end - at)))) != nullptr) {
        ++counter_.found_;
        ++at;
      }
    }
    void finish() override {}
    void commit() override {}

   private:
    Counter& counter_;
  };
  SinkInfo info_;
  std::int64_t found_ = 0;
};

/// Words whose digests begin as so many random ones do, counted.
struct Attack {
  std::vector<std::uint32_t> wanted;
  std::function<void(const RunOptions&)> run;
  std::function<std::int64_t()> found;  ///< in the latest run
};

Attack attack_on(std::int64_t digests) {
  const apps::DigestTable table = random_digests(digests);
  const Vector<std::uint32_t> firsts = table.firsts();
  const auto counter =
      std::make_shared<Counter>(std::vector<SinkArray>{{{ScalarType::boolean}, 0}, {{ScalarType::uint8}, 1}});
  using Suspects = std::tuple<Scalar<bool>, Vector<std::uint8_t>>;
  const auto attack = [&] {
    const apps::Targets targets{use(firsts), use(table.begins()), use(table.bits())};
    const auto source = stream_in(io::open_lines(words().path()));
    return consume(write(apps::suspects(source, {{}}, targets), Sink<Suspects>(counter)));
  };
  const auto program = std::make_shared<decltype(compile(attack()))>(compile(attack()));
  return {{firsts.data(), firsts.data() + firsts.size()},
          [=](const RunOptions& options) { program->run(options); },
          [=] { return counter->found(); }};
}

void add_dictionary(std::int64_t digests, int threads) {
  add_contest(
      fmt::format("md5/{} digest{}/{} thread{}", digests, digests == 1 ? "" : "s", threads,
                  threads == 1 ? "" : "s"),
      [=] {
        const Attack attack = attack_on(digests);
        const std::vector<std::uint32_t>& wanted = attack.wanted;
        const std::int64_t expected = md5_matches(words().path(), wanted, Md5Way::scalar, threads);
        Contest contest;
        contest.unit = "Gword/s";
        contest.amount = static_cast<double>(count);
        contest.note = fmt::format("{} million words, {} MB", count / 1'000'000,
                                   std::filesystem::file_size(words().path()) / 1'000'000);
        contest.contenders.push_back({"anabranch", Role::library, threads,
                                      [=] { attack.run({.threads = threads}); },
                                      [=] { return attack.found() == expected; }});
        const auto add_peer = [&](const char* name, Md5Way way) {
          if (!has_md5_way(way)) return;
          const auto found = std::make_shared<std::int64_t>(0);
          contest.contenders.push_back({name, Role::peer, threads,
                                        [=] { *found = md5_matches(words().path(), wanted, way, threads); },
                                        [=] { return *found == expected; }});
        };
        add_peer("scalar loop", Md5Way::scalar);
        add_peer("AVX2, 8 lanes", Md5Way::avx2);
        add_peer("AVX-512, 16 lanes", Md5Way::avx512);
        add_peer("AVX-512, 4 x 16 lanes", Md5Way::avx512x4);
        return contest;
      });
}

/// The candidate of a number, as support/md5_numbers.h describes it, with the bit that ends a message behind it.
apps::Message message_of_number(const Exp<std::uint32_t>& number) {
  const auto letters = [](const Exp<std::uint32_t>& bits) {
    const Exp<std::uint32_t> pairs = (bits | (bits << 8)) & 0x00ff00ffu;
    return ((pairs | (pairs << 4)) & 0x0f0f0f0fu) + 0x61616161u;
  };
  const Exp<std::uint32_t> end = 0x80u, none = 0u;
  return {{letters(number & 0xffffu), letters(number >> 16), end, none, none, none, none, none, none, none,
           none, none, none, none},
          8};
}

/// Nothing is read but the table of bits: the hash and the search of `anabranch md5`, of candidates made of numbers.
void add_compute_only(int threads) {
  add_contest(fmt::format("md5/compute only/{} thread{}", threads, threads == 1 ? "" : "s"), [=] {
    constexpr std::int64_t candidates = 1 << 25;
    std::vector<apps::DigestWords> digests;
    for (const std::uint32_t number : {0u, 1u, 65'535u, 65'536u, 1'234'567u, 7'654'321u, 33'554'431u})
      digests.push_back({md5_of_number(number)});
    const apps::DigestTable table(std::move(digests));
    const Vector<std::uint32_t> firsts = table.firsts();
    const auto counter = std::make_shared<Counter>(std::vector<SinkArray>{{{ScalarType::boolean}, 0}});
    const auto attack = [&] {
      const apps::Targets targets{use(firsts), use(table.begins()), use(table.bits())};
      const auto is_wanted = [&](const Exp<std::int64_t>& i) {
        const auto message = message_of_number(cast<std::uint32_t>(i));
        return unit(apps::contains(targets, apps::md5(message)[0]));
      };
      return consume(write(produce(candidates, is_wanted), Sink<Scalar<bool>>(counter)));
    };
    const auto program = std::make_shared<decltype(compile(attack()))>(compile(attack()));
    const std::vector<std::uint32_t> wanted(firsts.data(), firsts.data() + firsts.size());
    const std::int64_t expected = md5_number_matches(candidates, wanted, Md5NumbersWay::scalar, threads);
    Contest contest;
    contest.unit = "Ghash/s";
    contest.amount = static_cast<double>(candidates);
    contest.note =
        fmt::format("{} million candidates of 8 letters, {} digests", candidates / 1'000'000, wanted.size());
    const auto add = [&](const char* name, Role role, const std::function<std::int64_t()>& count_matches) {
      const auto found = std::make_shared<std::int64_t>(0);
      contest.contenders.push_back(
          {name, role, threads, [=] { *found = count_matches(); }, [=] { return *found == expected; }});
    };
    add("anabranch", Role::library, [=] {
      program->run({.threads = threads});
      return counter->found();
    });
    const auto add_peer = [&](const char* name, Md5NumbersWay way) {
      if (has_md5_numbers_way(way))
        add(name, Role::peer, [=] { return md5_number_matches(candidates, wanted, way, threads); });
    };
    add_peer("AVX2 by hand, 2 x 8 lanes", Md5NumbersWay::avx2);
    add_peer("AVX-512 by hand, 4 x 16 lanes", Md5NumbersWay::avx512x4);
    add_peer("AVX-512 by hand, 5 x 16 lanes", Md5NumbersWay::avx512x5);
    return contest;
  });
}

/// From a file, in memory for an eighth of it: chunk sizes that are found, those of the paper's scheduler, fixed ones.
void add_schedulers(std::int64_t digests, int threads) {
  add_contest(fmt::format("md5/schedulers/{} thread{}", threads, threads == 1 ? "" : "s"), [=] {
    const Attack attack = attack_on(digests);
    const std::int64_t expected = md5_matches(words().path(), attack.wanted, Md5Way::scalar, threads);
    const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(words().path()));
    Contest contest;
    contest.unit = "Gword/s";
    contest.amount = static_cast<double>(count);
    contest.note = fmt::format("{} million words, in memory for an eighth of their bytes", count / 1'000'000);
    for (const std::string scheduler :
         {"adaptive", "paper", "fixed:10000", "fixed:30000", "fixed:100000", "fixed:300000"})
      contest.contenders.push_back(
          {scheduler, scheduler == "adaptive" ? Role::library : Role::shown, threads,
           [=] { attack.run({.threads = threads, .memory = bytes / 8, .scheduler = scheduler}); },
           [=] { return attack.found() == expected; }});
    return contest;
  });
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::int64_t digests : {1, 10'000, 1'000'000})
    for (const int threads : {1, 2}) add_dictionary(digests, threads);
  for (const int threads : {1, 2}) add_compute_only(threads);
  for (const int threads : {1, 2}) add_schedulers(10'000, threads);
  return run_all(argc, argv);
}
