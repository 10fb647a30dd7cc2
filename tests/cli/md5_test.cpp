#include "support/catch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "command.h"
#include "md5_files.h"
#include "run_json.h"
#include "support/page_file.h"

using namespace cli_test;
using namespace std::chrono_literals;

namespace {

/// By Python's library, which shares nothing with what is tested: a digest for each of the words.
Words md5sums(const Words& words) {
  const TemporaryDirectory dir;
  std::string list;
  for (const std::string& word : words) {
    for (const char byte : word) list += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    list += '\n';
  }
  io_test::write_file(dir / "list", list);
  const std::string program =
      "import hashlib, sys\n"
      "for line in sys.stdin: print(hashlib.md5(bytes.fromhex(line)).hexdigest())\n";
  std::FILE* const pipe = ::popen(("python3 -c '" + program + "' < " + (dir / "list")).c_str(), "r");
  REQUIRE(pipe != nullptr);
  Words digests;
  char line[4096];  // NOLINT(*-avoid-c-arrays)
  while (std::fgets(line, sizeof line, pipe)) digests.emplace_back(line, 32);
  REQUIRE(::pclose(pipe) == 0);
  REQUIRE(digests.size() == words.size());
  return digests;
}

/// Bytes of any kind but LF, and no CR at the end, which would belong to the line's.
Words random_words(std::size_t count, std::size_t longest, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::set<std::string> words;
  while (words.size() < count) {
    std::string word;
    for (std::size_t length = random() % (longest + 1); word.size() < length;) {
      const auto byte = static_cast<char>(random() % 256);
      if (byte != '\n') word += byte;
    }
    if (!word.ends_with('\r')) words.insert(word);
  }
  Words out(words.begin(), words.end());
  std::shuffle(out.begin(), out.end(), random);
  return out;
}

}  // namespace

TEST_CASE("md5: the suite of RFC 1321") {
  CHECK(md5sums(suite) == suite_digests);
  const Words too_long{"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                       "12345678901234567890123456789012345678901234567890123456789012345678901234567890"};
  const Files files(
      lines(suite_digests) + "d174ab98d277d9f5a5611c2c9f419d9f\n57edf4a22be3c955ac49da2e2107b67a\n",
      lines(suite) + lines(too_long));
  for (const char* backend : {"cpu", "interpreter"}) {
    const Outcome o = files.run({"--backend", backend});
    INFO(o.err);
    CHECK(o.status == 0);
    CHECK(o.out == found_lines(suite_digests, suite));
    CHECK(o.err.find("2 longer than 55 bytes") != std::string::npos);
    CHECK(o.err.find("5 of 7 found") != std::string::npos);
  }
}

TEST_CASE("md5: words of all bytes and lengths, however the stream is cut") {
  const Words words = random_words(3000, 55, 1);
  Words digests = md5sums(words);
  const std::string expected = found_lines(digests, words);
  std::shuffle(digests.begin(), digests.end(), std::mt19937(2));
  const Files files(lines(digests), lines(words));
  const auto check = [&](const Words& more) {
    const Outcome o = files.run(more);
    INFO((more.empty() ? "" : more.back()) << " " << o.err);
    CHECK(o.status == 0);
    CHECK(o.out == expected);
  };
  for (const char* threads : {"1", "2"})
    for (const char* scheduler : {"adaptive", "paper", "fixed:7", "fixed:1000"})
      check({"--threads", threads, "--scheduler", scheduler});
  check({"--backend", "interpreter"});
  check({"--memory", "2M"});
  check({"--repeat", "3"});
}

TEST_CASE("md5: each length up to the longest, and one more") {
  Words words;
  for (std::size_t length = 0; length <= 60; ++length) words.emplace_back(length, 'x');
  const Words digests = md5sums(words);
  const Words hashed(words.begin(), words.begin() + 56);
  const Files files(lines(digests), lines(words));
  CHECK(files.run().out == found_lines(digests, hashed));
  const auto report = files.run({"--json"}).json();
  CHECK(report["words"] == 61);
  CHECK(report["too_long"] == 5);
  CHECK(report["candidates"] == 56);
}

TEST_CASE("md5: what ends a line") {
  const Words words{"one", "", "two\r", "\xff\xfe", std::string("nul\0nul", 7), "last"};
  const Words digests = md5sums(words);
  // CR LF ends a line, another CR belongs to it; a last line without an end is one.
  const Files files(lines(digests), "one\r\n\r\ntwo\r\r\n\xff\xfe\n" + words[4] + "\r\nlast");
  CHECK(files.run().out == found_lines(digests, words));
  const Files bare(lines(digests), "last\r");
  CHECK(bare.run().status == 1);
  const Files none(lines(digests), "");
  CHECK(none.run().status == 1);
  CHECK(none.run({"--json"}).json()["words"] == 0);
  const Files empty_word(lines(digests), "\n");
  CHECK(empty_word.run().out == digests[1] + "  \n");
}

TEST_CASE("md5: digests and words that are there twice") {
  const Words words{"a", "b", "a", "c", "b"};
  const Words digests = md5sums(words);
  std::string upper = digests[0];
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  const Files files(digests[1] + "\n" + upper + "\r\n\n  " + digests[0] + " \t\n" + digests[1], lines(words));
  const Outcome o = files.run();
  CHECK(o.status == 0);
  CHECK(o.out == digests[0] + "  a\n" + digests[1] + "  b\n");
  CHECK(o.err.find("2 of 2 found (4 given)") != std::string::npos);
  const auto report = files.run({"--json"}).json();
  CHECK(report["digests"] == nlohmann::json{{"given", 4}, {"distinct", 2}, {"found", 2}});
}

TEST_CASE("md5: one digest on the command line") {
  const Files files("", lines(suite));
  const Outcome o = md5({suite_digests[2], files.list});
  CHECK(o.status == 0);
  CHECK(o.out == suite_digests[2] + "  abc\n");
  const Outcome other = md5({std::string(32, '0'), files.list});
  CHECK(other.status == 1);
  CHECK(other.out.empty());
}

TEST_CASE("md5: many digests, some of which are there") {
  const Words words = random_words(500, 20, 5);
  const Words right = md5sums(words);
  std::mt19937 random(6);
  Words digests = right;
  for (int i = 0; i < 30'000; ++i) {
    // Many begin as those of words do, and go on otherwise.
    std::string digest = i % 3 == 0 ? right[static_cast<std::size_t>(i) % right.size()].substr(0, 8) : "";
    while (digest.size() < 32) digest += "0123456789abcdef"[random() % 16];
    digests.push_back(digest);
  }
  std::shuffle(digests.begin(), digests.end(), random);
  const Files files(lines(digests), lines(words));
  CHECK(files.run().out == found_lines(right, words));
}

namespace {

/// Rules by plain loops.
std::string changed(const std::string& step, std::string word) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const std::map<char, char> digits{{'a', '4'}, {'e', '3'}, {'i', '1'}, {'o', '0'}, {'s', '5'}, {'t', '7'}};
  for (std::size_t i = 0; i < word.size(); ++i) {
    char& c = word[i];
    const bool up = step == "upper" || (step == "capitalize" && i == 0) || (step == "toggle" && is_lower(c));
    const bool down = step == "lower" || (step == "capitalize" && i > 0) || (step == "toggle" && is_upper(c));
    if (step == "leet") {
      const auto digit = digits.find(is_upper(c) ? static_cast<char>(c + 32) : c);
      if (digit != digits.end()) c = digit->second;
    } else if (up && is_lower(c)) {
      c = static_cast<char>(c - 32);
    } else if (down && is_upper(c)) {
      c = static_cast<char>(c + 32);
    }
  }
  return word;
}

Words candidates(const std::string& rules, const std::string& word) {
  Words out{word};
  std::istringstream chains(rules);
  for (std::string chain; std::getline(chains, chain, ',');) {
    std::string now = word;
    std::istringstream steps(chain);
    int digits = 0, first = 0, count = 1;
    for (std::string step; std::getline(steps, step, '+');) {
      if (step == "append-year") {
        digits = 4;
        first = 1940;
        count = 100;
      } else if (step.starts_with("append-")) {
        digits = step == "append-digit" ? 1 : step[7] - '0';
        for (int d = 0; d < digits; ++d) count *= 10;
      } else {
        now = changed(step, now);
      }
    }
    for (int n = first; n < first + count; ++n) {
      std::string number = digits > 0 ? std::to_string(n) : "";
      number.insert(0, static_cast<std::size_t>(digits) - number.size(), '0');
      out.push_back(now + number);
    }
  }
  return out;
}

/// All candidates of the words are looked for: each is found where it is the first that has its bytes, and in order.
void check_rules(const std::string& rules, const Words& words) {
  INFO(rules);
  Words all, expected;
  std::set<std::string> seen;
  std::int64_t tried = 0;
  for (const std::string& word : words)
    for (const std::string& candidate : candidates(rules, word)) {
      if (word.size() > 55 || candidate.size() > 55) continue;
      ++tried;
      if (seen.insert(candidate).second) expected.push_back(candidate);
    }
  const Words digests = md5sums(expected);
  const Files files(lines(digests), lines(words));
  const Outcome o = files.run({"--rules", rules});
  INFO(o.err);
  CHECK(o.status == 0);
  CHECK(o.out == found_lines(digests, expected));
  // One more, so that nothing stops before the end.
  io_test::write_file(files.digests, lines(digests) + std::string(32, '0') + "\n");
  CHECK(files.run({"--rules", rules, "--json"}).json()["candidates"] == tried);
}

}  // namespace

TEST_CASE("md5: rules that change letters") {
  // All bytes, at all places of the four that are changed together.
  Words words{"Password", "STREET@[`{\x80\xc1\xe1\xff", "oOaAeEiIsStTzZ"};
  for (int first = 0; first < 256; first += 16)
    for (int shift = 0; shift < 4; ++shift) {
      std::string word(static_cast<std::size_t>(shift), 'q');
      for (int c = first; c < first + 16; ++c)
        if (c != '\n') word += static_cast<char>(c);
      if (!word.ends_with('\r')) words.push_back(word);
    }
  for (const std::string& word : random_words(100, 55, 7)) words.push_back(word);
  for (const char* rules :
       {"lower", "upper", "capitalize", "toggle", "leet", "lower,upper,capitalize,toggle,leet",
        "upper+leet,leet+upper", "capitalize+leet,toggle+toggle"})
    check_rules(rules, words);
}

TEST_CASE("md5: rules that append digits") {
  Words words{"", "x", "abc", "abcd", "longer than that"};
  for (std::size_t length = 50; length <= 56; ++length) words.emplace_back(length, 'y');
  for (const char* rules : {"append-digit", "append-2-digits", "append-year", "append-3-digits",
                            "upper,append-digit,capitalize+append-2-digits", "leet+append-year,append-digit"})
    check_rules(rules, words);
  check_rules("append-4-digits", {"abc"});
}

TEST_CASE("md5: rules give what the interpreter says, and their number is reported") {
  const Files files(suite_digests[2], "ABC\nABD\n");
  const Words rules{"--rules", "lower,capitalize+append-year"};
  for (const char* backend : {"cpu", "interpreter"}) {
    const Outcome o = files.run({"--rules", rules[1], "--backend", backend});
    CHECK(o.out == suite_digests[2] + "  abc\n");
    CHECK(o.err.find("102 candidates a word") != std::string::npos);
  }
  const auto report = files.run({"--rules", rules[1], "--json"}).json();
  CHECK(report["candidates_per_word"] == 102);
  CHECK(report["rules"] == nlohmann::json{{{"name", "as-is"}, {"candidates", 1}},
                                          {{"name", "lower"}, {"candidates", 1}},
                                          {{"name", "capitalize+append-year"}, {"candidates", 100}}});
}

TEST_CASE("md5: several lists, one after the other") {
  const Files files(lines(suite_digests), "abc\n");
  io_test::write_file(files.dir / "second", "a");
  io_test::write_file(files.dir / "empty", "");
  io_test::write_file(files.dir / "third", "\nmessage digest\n");
  const Outcome o = files.run({files.dir / "second", files.dir / "empty", files.dir / "third"});
  CHECK(o.out == found_lines({suite_digests[2], suite_digests[1], suite_digests[0], suite_digests[3]},
                             {"abc", "a", "", "message digest"}));
  CHECK(o.err.find("Words     4\n") != std::string::npos);
}

TEST_CASE("md5: stops when all digests have been found") {
  std::string text = "abc\n";
  for (int i = 0; i < 3'000'000; ++i) text += std::to_string(i) + "\n";
  const Files files(suite_digests[2], text);
  const auto report = files.run({"--json", "--threads", "1"}).json();
  CHECK(report["stopped_early"] == true);
  CHECK(report["words"].get<int>() < 3'000'000);
  CHECK(report["found"] ==
        nlohmann::json{{{"digest", suite_digests[2]}, {"word", "abc"}, {"bytes", "616263"}}});
  const Outcome o = files.run();
  CHECK(o.status == 0);
  CHECK(o.err.find("then all digests were found") != std::string::npos);
  // It has done what it was asked for.
  const std::filesystem::path page = files.dir / "page.html";
  CHECK(files.run({"--stats", "--report", page}).err.find("ancelled") == std::string::npos);
  CHECK(io_test::read_file(page).find("\"cancelled\":false") != std::string::npos);
}

TEST_CASE("md5: words that arrive at a pipe, and what is found while it waits") {
  const TemporaryDirectory dir;
  const std::string fifo = dir / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  io_test::write_file(dir / "digests", lines(suite_digests));
  io_test::write_file(dir / "out", "");
  Process process({"md5", dir / "digests", fifo}, {.stdout_to = dir / "out"});
  std::ofstream to(fifo, std::ios::binary);
  to << "abc\n" << std::flush;
  // It is there before the next word.
  std::string out;
  for (int i = 0; i < 1000 && out.empty(); ++i) {
    std::this_thread::sleep_for(20ms);
    out = io_test::read_file(dir / "out");
  }
  CHECK(out == suite_digests[2] + "  abc\n");
  to << "xyz\na";
  to.close();
  CHECK(process.finish().status == 0);
  CHECK(io_test::read_file(dir / "out") == found_lines({suite_digests[2], suite_digests[1]}, {"abc", "a"}));
}

TEST_CASE("md5: pipes that are written one after the other") {
  const TemporaryDirectory dir;
  const std::string first = dir / "first", second = dir / "second";
  REQUIRE((::mkfifo(first.c_str(), 0600) == 0 && ::mkfifo(second.c_str(), 0600) == 0));
  io_test::write_file(dir / "digests", lines(suite_digests));
  Process process({"md5", dir / "digests", first, second});
  // More than a pipe holds.
  std::string words;
  for (int i = 0; i < 100'000; ++i) words += "word\n";
  std::ofstream(first, std::ios::binary) << words << "abc\n";
  std::ofstream(second, std::ios::binary) << words << "a\n";
  const Outcome o = process.finish();
  INFO(o.err);
  CHECK(o.status == 0);
  CHECK(o.out == found_lines({suite_digests[2], suite_digests[1]}, {"abc", "a"}));
}

TEST_CASE("md5: a list whose name is in brackets is one") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "[old,new]", "abc\n");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  const Outcome o = md5({suite_digests[2], "[old,new]"});
  std::filesystem::current_path(before);
  INFO(o.err);
  CHECK(o.out == suite_digests[2] + "  abc\n");
}

TEST_CASE("md5: progress says 100 % at the end, and not before") {
  for (const char* end : {"\n", "\r\n"}) {
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += std::to_string(10'000'000 + i) + end;
    const Files files(std::string(32, '0'), text);
    const auto shares = [&](const Words& more, const Start& start) {
      Words run{"--threads", "1", "--scheduler", "fixed:1000"};
      run.insert(run.end(), more.begin(), more.end());
      const Outcome o = files.run(run, start);
      INFO(o.err);
      CHECK(o.status == 1);
      std::vector<int> out;
      for (std::size_t at = o.err.find(" %, "); at != std::string::npos; at = o.err.find(" %, ", at + 1))
        out.push_back(std::stoi(o.err.substr(at - 3, 3)));
      CHECK(std::is_sorted(out.begin(), out.end()));
      return out;
    };
    const std::vector<int> lines = shares({"--progress"}, {});  // one, unless the machine is slow
    REQUIRE(!lines.empty());
    CHECK(lines.back() == 100);
    CHECK(std::count(lines.begin(), lines.end(), 100) == 1);
    // Written again each tenth of a second, for so long that there are some.
    const std::vector<int> rewritten =
        shares({"--rules", "append-4-digits"}, {.environment = {"NO_COLOR=1"}, .stderr_terminal = true});
    REQUIRE(rewritten.size() >= 2);
    CHECK(rewritten.front() < 60);
    CHECK(std::count(rewritten.begin(), rewritten.end() - 1, 100) == 0);
  }
}

TEST_CASE("md5: what the command line may not say") {
  const TemporaryDirectory dir;
  const std::string list = dir / "list", digest = suite_digests[1];
  io_test::write_file(list, "a\n");
  const auto fails = [&](int status, const Words& arguments, const std::string& message) {
    const Outcome o = md5(arguments);
    INFO(o.err);
    CHECK(o.status == status);
    CHECK(o.out.empty());
    CHECK(o.err.find(message) != std::string::npos);
  };
  fails(2, {}, "DIGESTS is required");
  const auto chain = [](std::size_t length, const std::string& first) {
    std::string all = first;
    for (std::size_t i = 1; i < length; ++i) all += i % 2 == 0 ? "+leet" : "+toggle";
    return all;
  };
  fails(2, {digest, list, "--rules", chain(17, "lower")}, "a rule of 17 changes; 16 are the most");
  std::string rules;
  for (std::size_t length = 1; length <= 16; ++length)
    for (const char* first : {"lower", "upper", "leet"})
      rules += (rules.empty() ? "" : ",") + chain(length, first);
  fails(2, {digest, list, "--rules", rules}, "more than 256 changes in all rules together");
  fails(2, {digest}, "WORDLIST is required");
  fails(2, {digest.substr(1), list}, "neither a file nor an MD5 digest");
  fails(2, {digest + "0", list}, "it has 33 characters");
  fails(2, {dir / "missing", list}, "neither a file nor an MD5 digest");
  for (const std::size_t length : {300, 5000})  // longer than names of files, and than paths
    fails(2, {std::string(length, 'a'), list}, "(it has " + std::to_string(length) + " characters)");
  std::filesystem::create_symlink("loop", dir / "loop");
  fails(4, {dir / "loop", list}, "loop: Too many levels");
  fails(4, {dir.path(), list}, "directory");
  fails(4, {digest, dir / "missing"}, "missing");
  fails(4, {digest, list, dir.path()}, dir.path());
  fails(2, {digest, "-", "-"}, "standard input");
  fails(2, {digest, "-", "--repeat", "2"}, "--repeat");
  fails(2, {digest, list, "--rules", "lowr"}, "'lowr' is no rule; there are lower, upper");
  fails(2, {digest, list, "--rules", "lower,"}, "'' is no rule");
  fails(2, {digest, list, "--rules", "lower+"}, "'' is no rule");
  fails(2, {digest, list, "--rules", ""}, "--rules");
  fails(2, {digest, list, "--rules", "lower,upper,lower"}, "'lower' is there twice");
  fails(2, {digest, list, "--rules", "as-is"}, "always comes first");
  fails(2, {digest, list, "--rules", "append-digit+lower"}, "nothing comes behind digits");
  std::string rules_of_many = "append-4-digits";
  const std::vector<std::string> steps{"lower", "upper", "capitalize", "toggle", "leet"};
  for (const std::string& first : steps)
    for (const std::string& second : steps)
      for (const std::string third : {"", "leet+"})
        rules_of_many += "," + first + "+" + second + "+" + third + "append-4-digits";
  fails(2, {digest, list, "--rules", rules_of_many}, "more than 500000 candidates");
  fails(2, {digest, list, "--report", "r.txt"}, ".html");
  fails(2, {digest, list, "--trace", list}, "this is a word list itself");
  fails(5, {digest, list, "--memory", "1K"}, "memory");
}

TEST_CASE("md5: a line that is no word") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "list", "a\n" + std::string(17 << 20, 'x') + "\n");
  const Outcome o = md5({suite_digests[2], dir / "list"});
  CHECK(o.status == 3);
  CHECK(o.err ==
        "anabranch: " + dir / "list" + ": line 2 is longer than 16777216 bytes, the most that is read\n");
  CHECK(command({"md5", "--help"}).out.find("3 bad digests, or a word list's line of more than 16 MiB;") !=
        std::string::npos);
}

TEST_CASE("md5 --json: the schema of docs/md5.md") {
  const Files files(lines(suite_digests), "abc\n\xff\n" + std::string(60, 'x') + "\n");
  const auto r = files.run({"--json", "--threads", "2", "--memory", "16M", "--scheduler", "fixed:2"}).json();
  Words keys;
  for (const auto& [key, value] : r.items()) keys.push_back(key);
  CHECK(keys == Words{"backend",
                      "candidates",
                      "candidates_per_second",
                      "candidates_per_word",
                      "chunk_items",
                      "chunks",
                      "digests",
                      "found",
                      "kernels",
                      "lists",
                      "memory",
                      "peak_bytes",
                      "peak_resident_bytes",
                      "repeats",
                      "result",
                      "rules",
                      "scheduler",
                      "seconds",
                      "stages",
                      "stopped_early",
                      "threads",
                      "too_long",
                      "unchecked",
                      "utilisation",
                      "words",
                      "words_per_second"});
  CHECK(r["lists"] == nlohmann::json{files.list});
  CHECK(r["unchecked"] == nlohmann::json{files.digests, files.list});
  CHECK(md5({suite_digests[2], files.list, "--json"}).json()["unchecked"] == nlohmann::json{files.list});
  CHECK(r["result"].is_null());
  CHECK(r["words"] == 3);
  CHECK(r["too_long"] == 1);
  CHECK(r["candidates"] == 2);
  CHECK(r["stopped_early"] == false);
  CHECK(r["chunks"] == 2);
  check_run(r, {.threads = 2, .scheduler = "fixed:2", .memory = 16 << 20});
  CHECK(r["stages"].size() == 1);
  const auto interpreted = files.run({"--json", "--backend", "interpreter"}).json();
  CHECK(interpreted["words"] == 3);
  check_interpreted(interpreted);
}

TEST_CASE("md5: bytes that are no UTF-8 are told exactly") {
  const Words words{"\xff\x00z", "\xc3\xa4"};
  const Files files(lines(md5sums(words)), lines(words));
  const auto found = files.run({"--json"}).json()["found"];
  REQUIRE(found.size() == 2);
  CHECK(found[0]["bytes"] == "ff");  // the literal ends with its NUL
  CHECK(found[1]["bytes"] == "c3a4");
  CHECK(found[1]["word"] == "\xc3\xa4");
}

TEST_CASE("md5: what it says to people, trace, report, explanation") {
  using anabranch::testing::PageFile;
  const Files files(lines(suite_digests), lines(suite) + "other\n");
  const std::string trace = files.dir / "t.json", page = files.dir / "r.html";
  const Outcome o = files.run({"--stats", "--progress", "--trace", trace, "--report", page, "--repeat", "2"});
  CHECK(o.status == 0);
  CHECK(o.out == found_lines(suite_digests, suite));  // once, however often it runs
  for (const char* part : {"Digests", "Words", "Rules", "Run", "Time", "Speed", " words/s", "Memory", "Trace",
                           "Report", "The last run", "Stream 0", "Unchecked"}) {
    INFO(part);
    CHECK(o.err.find(part) != std::string::npos);
  }
  CHECK(!PageFile(page).data.empty());
  CHECK(nlohmann::json::parse(io_test::read_file(trace)).contains("traceEvents"));
  const Outcome explained = files.run({"--explain"});
  CHECK(explained.status == 0);
  CHECK(explained.out.find("kernel") != std::string::npos);
  CHECK(explained.out.find(suite_digests[0]) == std::string::npos);
}

TEST_CASE("md5: standard output that takes nothing") {
  const Files files(lines(suite_digests), lines(suite));
  CHECK(files.run({}, {.stdout_to = "/dev/full"}).status == 4);
  CHECK(files.run({}, {.stdout_closed = true}).status == 4);
}

TEST_CASE("md5: signals end it") {
  const Files files(suite_digests[2], lines(random_words(2000, 40, 9)));
  for (const auto& [signal, status] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}}) {
    Process process({"md5", files.digests, files.list, "--repeat", "1000000"});
    wait_until([&] { return process.blocks(signal); });
    std::this_thread::sleep_for(500ms);
    process.signal(signal);
    CHECK(process.finish().status == status);
  }
}

TEST_CASE("md5: memory stays flat") {
  if (sanitized) return;
  const Files files(suite_digests[2], "");
  std::mt19937 random(3);
  {
    std::ofstream to(files.list, std::ios::binary);
    std::string text;
    for (int i = 0; i < 2'000'000; ++i) text += std::to_string(random()) + std::to_string(random()) + "\n";
    for (int k = 0; k < 4; ++k) to << text;
  }
  const Outcome o = files.run({"--memory", "4M"});
  CHECK(o.status == 1);
  CHECK(o.peak_resident_bytes <= (4 + 160) << 20);
  CHECK(o.err.find("Words     8000000\n") != std::string::npos);
}
