#include "support/catch.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>

#include "command.h"
#include "md5_files.h"
#include "refused.h"

// Files of digests: what may stand in them, where they come from, and the memory that they take.
using namespace cli_test;

TEST_CASE("md5: digests that arrive at a named pipe; one that nobody writes to") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "list", lines(suite));
  for (const char* name : {"digests", "words", "gone"}) REQUIRE(::mkfifo((dir / name).c_str(), 0600) == 0);
  {
    Process process({"md5", dir / "digests", dir / "list", "--repeat", "2"});
    std::ofstream(dir / "digests", std::ios::binary) << suite_digests[2] << "\r\n" << suite_digests[2];
    const Outcome o = process.finish();
    INFO(o.err);
    CHECK(o.status == 0);
    CHECK(o.out == suite_digests[2] + "  abc\n");
  }
  const auto of_list = [&](const std::string& words) {
    Process process({"md5", suite_digests[2], dir / "words"});
    std::ofstream(dir / "words", std::ios::binary) << words;
    return process.finish();
  };
  for (const char* words : {"", "\n", "ab\nabcd"}) {
    const Outcome o = of_list(words);
    INFO(o.err);
    CHECK(o.status == 1);
    CHECK(o.out.empty());
  }
  check_refused(md5({suite_digests[2], dir / "words", "--repeat", "2"}), 2,
                "--repeat: what comes from a pipe passes once");
  Process waits({"md5", dir / "gone", dir / "list"});
  wait_until([&] { return waits.blocks(SIGTERM); });
  waits.signal(SIGTERM);
  CHECK(waits.finish().status == 143);
}

TEST_CASE("md5: digests as md5sum writes them, rules with blanks between") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "list", "A\nABC\n");
  io_test::write_file(dir / "digests", suite_digests[1] + "  a file\n" + suite_digests[2] + " *-\n");
  const Outcome o = md5({dir / "digests", dir / "list", "--rules", "upper, lower"});
  INFO(o.err);
  CHECK(o.status == 0);
  CHECK(o.out == found_lines({suite_digests[1], suite_digests[2]}, {"a", "abc"}));
}

TEST_CASE("md5: digests that are none") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "list", "a\n");
  const auto refused = [&](const std::string& text, const std::string& message) {
    io_test::write_file(dir / "digests", text);
    const Outcome o = md5({dir / "digests", dir / "list"});
    INFO(text << o.err);
    CHECK(o.status == 3);
    CHECK(o.out.empty());
    CHECK(o.err.find((dir / "digests") + message) != std::string::npos);
  };
  const std::string good = suite_digests[1];
  refused("hello\n", ": line 1: 'hello' is no MD5 digest, 32 hexadecimal digits: character 1");
  refused(good + "\n\n" + good.substr(1) + "\n", ": line 3: ");
  refused(good + "\n" + good + "0\n", ": line 2: ");
  refused(good + "\n" + good + " " + good, ": line 2: ");
  refused(good + "\n" + good + "  " + good, ": line 2: ");  // no file's name
  refused(good.substr(0, 31) + "g",
          ": line 1: '" + good.substr(0, 31) + "g' is no MD5 digest, 32 hexadecimal digits: character 32");
  const std::string none = "'" + std::string(40, 'a') + "...' is no MD5 digest, 32 hexadecimal digits: ";
  refused(std::string(4096, 'a'), ": line 1: " + none + "it has 4096 characters");
  refused(std::string(4097, 'a'), ": line 1: " + none + "it has more than 4096 bytes");
  refused(good + "\n" + std::string(100'000, 'a') + "\n",
          ": line 2: " + none + "it has more than 4096 bytes");
  refused(std::string("\0\xff\x1b[2J", 6), ": line 1: '???[2J'");
  // As other programs write them, or in other encodings.
  refused("\xef\xbb\xbf" + good + "\n",
          ": line 1: '???" + good + "' is no MD5 digest, 32 hexadecimal digits: ");
  refused("0x" + good.substr(2), ": line 1: '0x" + good.substr(2) + "' is no MD5 digest");
  refused(good + ":salt", ": line 1: '" + good + ":salt' is no MD5 digest");
  refused("MD5 (f) = " + good, ": line 1: 'MD5 (f) = ");
  refused(good + "\r" + good + "\r", ": line 1: '" + good + "?0cc175b...' is no MD5 digest");
  refused(good + "\n" + good + std::string(1, '\0') + "\n", ": line 2: '" + good + "?' is no MD5 digest");
  refused("\\" + good + "  a\\nb", ": line 1: '\\" + good + "  a");
  refused("-" + good.substr(1), ": line 1: ");
  refused("", ": there is no digest in it");
  refused("\n \r\n\n", ": there is no digest in it");
}

TEST_CASE("md5: digests from standard input, from where it is, be it a file or a socket") {
  const Files files(lines(suite_digests), lines(suite));
  const int file = ::open(files.digests.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(::lseek(file, 33 * 3, SEEK_SET) == 33 * 3);
  Outcome o = md5({"-", files.list}, {.stdin_from = file});
  ::close(file);
  INFO(o.err);
  CHECK(o.out ==
        found_lines({suite_digests.begin() + 3, suite_digests.end()}, {suite.begin() + 3, suite.end()}));
  CHECK(o.err.find("Unchecked -, " + files.list + ":") != std::string::npos);

  const auto from_socket = [&](const std::string& text) {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    REQUIRE(::write(ends[1], text.data(), text.size()) == std::ssize(text));
    ::close(ends[1]);
    Outcome out = md5({"-", files.list}, {.stdin_from = ends[0]});
    ::close(ends[0]);
    return out;
  };
  CHECK(from_socket(lines(suite_digests)).out == found_lines(suite_digests, suite));
  for (const auto& [text, message] :
       {std::pair("\nhello\n", "standard input: line 2: 'hello' is no MD5 digest"),
        std::pair("\n", "standard input: there is no digest in it")}) {
    o = from_socket(text);
    INFO(o.err);
    CHECK(o.status == 3);
    CHECK(o.err.find(message) != std::string::npos);
  }
  o = from_socket(std::string(5000, 'a'));
  CHECK(o.status == 3);
  CHECK(o.err.find("standard input: line 1") != std::string::npos);
}

TEST_CASE("md5: digests on lines of any length that is allowed") {
  const Files files("", lines(suite));
  const std::string space(4096 - 32, ' ');
  for (const std::string& text : {space + suite_digests[2] + "\n", suite_digests[2] + space}) {
    io_test::write_file(files.digests, text + (text.ends_with('\n') ? suite_digests[1] : ""));
    const Outcome o = files.run();
    INFO(o.err);
    CHECK(o.status == 0);
    CHECK(o.out.find(suite_digests[2] + "  abc\n") != std::string::npos);
  }
}

TEST_CASE("md5: a file of digests that is one endless line takes no memory") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "list", "a\n");
  io_test::write_file(dir / "digests", "");
  std::filesystem::resize_file(dir / "digests", std::uintmax_t{1} << 30);  // without blocks on the disk
  for (const std::string& file : {dir / "digests", std::string("/dev/zero")}) {
    const Outcome o = md5({file, dir / "list", "--memory", "64M"});
    INFO(o.err);
    CHECK(o.status == 3);
    CHECK(o.err.find(file + ": line 1: ") != std::string::npos);
    if (!sanitized) CHECK(o.peak_resident_bytes < 100 << 20);
  }
}

TEST_CASE("md5: of digests memory is counted once") {
  std::mt19937 random(11);
  std::string many;
  for (int i = 0; i < 100'000; ++i) {
    for (int k = 0; k < 32; ++k) many += "0123456789abcdef"[random() % 16];
    many += "\n";
  }
  const Files files(suite_digests[2], "x\ny\n");
  const auto peak = [&] {
    const Words alike{"--json", "--threads", "1", "--scheduler", "fixed:1", "--memory", "16M"};
    return files.run(alike).json()["peak_bytes"].get<std::int64_t>();
  };
  const std::int64_t of_one = peak();
  io_test::write_file(files.digests, many);
  const std::int64_t of_many = peak();
  // Each digest, whether it was found, its first word; 2^23 bits; 2^17 beginnings of buckets. And little chunks.
  const std::int64_t digests = 100'000 * (16 + 1 + 4) + (1 << 23) / 8 + (1 << 17) * 4;
  CHECK(of_many - of_one > digests - 100'000);
  CHECK(of_many - of_one < digests + 100'000);
  // Where each is there many times, what they took while they were read is given back.
  std::string same;
  for (int i = 0; i < 100'000; ++i) same += suite_digests[2] + "\n";
  io_test::write_file(files.digests, same);
  CHECK(peak() < of_one + 100'000);
}

TEST_CASE("md5: memory that digests do not fit into") {
  const Files files(suite_digests[2] + "\n", "x\ny\n");
  const auto refused = [&](const std::string& digests, const std::string& memory) {
    const Outcome o = md5({digests, files.list, "--memory", memory});
    CHECK(o.status == 5);
    return o.err;
  };
  CHECK(refused(suite_digests[2], "1K") ==
        "anabranch: 1 digest and the tables to look it up in take 4125 bytes, which leaves nothing of a "
        "memory bound of "
        "1024 bytes\n");
  CHECK(refused(files.digests, "8K") == "anabranch: " + files.digests +
                                            ": line 1: the tables to look digests up in take 4104 bytes, "
                                            "more than the 4096 that they may, half of the "
                                            "memory bound\n");
  io_test::write_file(files.digests, lines(suite_digests));
  CHECK(refused(files.digests, "8298") ==
        "anabranch: " + files.digests +
            ": line 3: the digests up to here and the tables to look them up in take 4150 bytes, more than "
            "the 4149 that they may, half of the memory bound\n");
}
