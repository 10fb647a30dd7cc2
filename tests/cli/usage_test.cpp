#include "support/catch.h"

#include "command.h"

using namespace cli_test;

namespace {
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("usage errors: exit code 2, a message, nothing on standard output") {
  const TemporaryDirectory dir;
  const std::string m = dir / "m.npz";
  io_test::write_file(m, io_test::npz(io_test::members(io_test::sample(10))));
  const std::vector<std::vector<std::string>> wrong{
      {},
      {"multiply"},
      {"smvm"},
      {"smvm", m, "more"},
      {"smvm", m, "--no-such-option"},
      {"smvm", m, "--threads", "0"},
      {"smvm", m, "--threads", "two"},
      {"smvm", m, "--memory", "64Q"},
      {"smvm", m, "--memory", "-1M"},
      {"smvm", m, "--memory", "0"},
      {"smvm", m, "--memory", "nan"},
      {"smvm", m, "--memory", "99999999999T"},
      {"smvm", m, "--scheduler", "fast"},
      {"smvm", m, "--scheduler", "fixed:0"},
      {"smvm", m, "--scheduler", "fixed:1x"},
      {"smvm", m, "--backend", "gpu"},
      {"smvm", m, "--repeat", "0"},
      {"smvm", m, "--out", m},
      {"smvm", m, "--vector", m, "--out", m},
      {"smvm", m, "--vector", ""},
      {"smvm", m, "--out", ""},
      {"smvm", m, "--trace", ""},
      {"smvm", m, "--trace", m},
      {"smvm", m, "--report", ""},
      {"smvm", m, "--report", dir / "r.txt"},
      {"smvm", m, "--report", dir / "r.html", "--trace", dir / "./r.html"},
      {"smvm", m, "--out", dir / "y", "--trace", dir / "y"},
      {"smvm", m, "--out", dir / "y", "--trace", dir / "./y"},
      {"smvm", m, "--out"},
      {"smvm", m, "--gpu-memory", "1G"},
      {"smvm", m, "--gpu-memory", "1G", "--backend", "interpreter"},
      {"smvm", m, "--threads", "2", "--backend", "interpreter"},
      {"smvm", m, "--memory", "1G", "--backend", "interpreter"},
      {"smvm", m, "--scheduler", "paper", "--backend", "interpreter"},
      {"smvm", m, "--scheduler", "adaptive", "--backend", "interpreter"},
      {"smvm", m, "--json=5"},
      {"smvm", m, "--progress", "--no-progress"},
      {"smvm", m, "--progress=never"},
      {"smvm", m, "--stats=1"},
      {"smvm", m, "--json=false"},
      {"smvm", m, "--out", dir / "y.txt"},
      {"smvm", m, "--out", dir / "y.npz"},
      {"smvm", m, "--memory", ""},
      {"smvm", m, "--scheduler", ""},
      {"smvm", m, "--backend", ""},
      {"smvm", m, "--threads", ""},
      {"smvm", ""},
      {"explain", "smvm", ""},
      {"generate", "banded", "--size", "9", "--points", "0", "--out", dir / "g.npz"},
      {"generate", "banded", "--size", "9", "--points", "", "--out", dir / "g.npz"},
      {"generate", "banded", "--size", "9", "--seed", "-1", "--out", dir / "g.npz"},
      {"generate", "laplacian2d", "--size", "9", "--seed", "1", "--out", dir / "g.npz"},
      {"generate", "banded", "--size", "9", "--out", dir / "g.txt"},
      {"generate", "banded", "--size", "9", "--out", dir / "g"},
      {"generate", "banded", "--size", "9", "--out", ""},
      {"generate", "laplacian2d", "--size", "4"},
      {"generate", "laplacian4d", "--size", "4", "--out", dir / "g.npz"},
      {"generate", "laplacian2d", "--size", "-4", "--out", dir / "g.npz"},
      {"generate", "laplacian2d", "--size", "4", "--points", "6", "--out", dir / "g.npz"},
      {"generate", "laplacian2d", "--size", "4", "--value", "int32", "--out", dir / "g.npz"},
      {"explain"},
      {"explain", "sort"},
      {"doctor", "who"},
  };
  for (const auto& arguments : wrong) {
    std::string shown;
    for (const std::string& a : arguments) shown += a + " ";
    INFO(shown);
    const Outcome o = command(arguments);
    CHECK(o.status == 2);
    CHECK(o.out.empty());
    CHECK(o.err.find("anabranch: ") == 0);
    CHECK(o.err.size() > 30);
  }
  CHECK(dir.files() == 1);
}

TEST_CASE("usage errors name what is wrong and where to read on") {
  const TemporaryDirectory dir;
  const Outcome bogus = command({"bogus"});
  CHECK(has(bogus.err, "bogus"));
  CHECK(has(bogus.err, "smvm"));
  CHECK(has(bogus.err, "(anabranch --help)"));
  CHECK(has(command({"smvm", "m.npz", "--threads", "0"}).err, "(anabranch smvm --help)"));
  CHECK(has(command({"generate", "banded", "--size", "9", "--out", dir / "g.txt"}).err,
            "(anabranch generate --help)"));
  CHECK(has(command({"smvm", "m.npz", "--vector", ""}).err, "--vector"));
  CHECK(has(command({"smvm", "m.npz", "--vector"}).err, "--vector: 1 required FILE missing"));
  CHECK(has(command({"generate", "band", "--size", "9", "--out", dir / "g.npz"}).err, "banded"));
  CHECK(has(command({"generate", "banded", "--size", "9", "--seed", "-1", "--out", dir / "g.npz"}).err,
            "--seed: '-1' is not from 0 to 18446744073709551615 (anabranch generate --help)"));
}

TEST_CASE("usage errors name the option whose value is none") {
  CHECK(
      has(command({"smvm", "m.npz", "--memory", "lots"}).err, "anabranch: --memory: 'lots' is not a size;"));
  CHECK(has(command({"md5", "a", "b", "--backend", "auto", "--gpu-memory", "lots"}).err,
            "anabranch: --gpu-memory: 'lots' is not a size;"));
}

TEST_CASE("usage errors tell what is no whole number from what is too large") {
  const auto says = [](const std::string& option, const std::string& value) {
    return command({"pagerank", "g.txt", option, value}).err;
  };
  CHECK(has(says("--iterations", "1e3"), "anabranch: --iterations: '1e3' is no whole number ("));
  CHECK(has(says("--threads", "two"), "anabranch: --threads: 'two' is no whole number ("));
  CHECK(has(says("--threads", "2.5"), "anabranch: --threads: '2.5' is no whole number ("));
  CHECK(has(says("--threads", "-1"), "anabranch: --threads: '-1' is not from 1 to 4096 ("));
  CHECK(has(says("--top", "99999999999999999999"), "'99999999999999999999' is not from 0 to 1000000 ("));
  CHECK(has(says("--first-node", "2"), "anabranch: --first-node: '2' is not from 0 to 1 ("));
}

TEST_CASE("whole numbers are decimal: a leading 0 says nothing, other notations are refused") {
  const TemporaryDirectory dir;
  const auto matrix = [&](const std::string& size, const std::string& seed) {
    const std::string file = dir / (size + "_" + seed + ".npz");
    REQUIRE(command({"generate", "banded", "--size", size, "--seed", seed, "--out", file}).status == 0);
    return io_test::read_file(file);
  };
  CHECK(matrix("010", "10") == matrix("10", "010"));
  CHECK(matrix("10", "10") == matrix("010", "010"));
  CHECK(matrix("10", "10") != matrix("10", "8"));
  const std::string m = dir / "10_10.npz";
  CHECK(command({"smvm", m, "--threads", "010", "--json"}).json()["threads"] == 10);
  CHECK(command({"smvm", m, "--threads", "08", "--json"}).json()["threads"] == 8);
  for (const char* text : {"0x8", "0b1", " 1", "1 ", "+1", "-", "--1"}) {
    const Outcome o = command({"smvm", m, "--threads", text});
    CHECK(o.status == 2);
    CHECK(has(o.err, "anabranch: --threads: '" + std::string(text) + "' is no whole number ("));
  }
}

TEST_CASE("generate: sizes and seeds beyond all are refused as they are given") {
  const TemporaryDirectory dir;
  const auto says = [&](const std::string& size, const std::string& seed) {
    const Outcome o = command({"generate", "banded", "--size", size, "--seed", seed, "--out", dir / "g.npz"});
    CHECK(o.status == 2);
    return o.err;
  };
  CHECK(has(says("99999999999999999999", "1"), "--size: '99999999999999999999' is not from 1 to "));
  CHECK(has(says("9", "18446744073709551616"), "--seed: '18446744073709551616' is not from 0 to "));
  CHECK(dir.files() == 0);
  CHECK(
      command({"generate", "banded", "--size", "9", "--seed", "18446744073709551615", "--out", dir / "g.npz"})
          .status == 0);
}

TEST_CASE("usage errors tell what is no number from what is out of range, and from what a double cannot be") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "g.txt", "0 1\n");
  const auto says = [&](const std::string& option, const std::string& value) {
    const Outcome o = command({"pagerank", dir / "g.txt", option, value});
    CHECK(o.status == 2);
    return o.err;
  };
  CHECK(has(says("--damping", "abc"), "anabranch: --damping: 'abc' is no number ("));
  CHECK(has(says("--damping", "0.5x"), "anabranch: --damping: '0.5x' is no number ("));
  CHECK(has(says("--damping", "1.5"), "anabranch: --damping: '1.5' is not from 0 to 1 ("));
  CHECK(has(says("--tolerance", "nan"), "anabranch: --tolerance: 'nan' is not from 0 to 2 ("));
  for (const char* value : {"1e-400", "1e400"})
    CHECK(has(says("--tolerance", value), "anabranch: --tolerance: '" + std::string(value) +
                                              "' is too large or too close to 0 for a double ("));
  const Outcome o = command({"audio", "a.wav", "--out", dir / "f.npz", "--fmin", "1e-400"});
  CHECK(o.status == 2);
  CHECK(has(o.err, "anabranch: --fmin: '1e-400' is too large or too close to 0 for a double ("));
}

TEST_CASE("usage errors list what is not known in the order in which it is given") {
  CHECK(
      has(command({"smvm", "m.npz", "--bad"}).err, "anabranch: not expected: --bad (anabranch smvm --help)"));
  CHECK(has(command({"smvm", "m.npz", "--bad", "--worse=3", "4"}).err,
            "anabranch: these arguments are not expected: --bad --worse=3 4 (anabranch smvm --help)"));
}

TEST_CASE("usage errors name an option that is not known before what is missing") {
  CHECK(has(command({"--foo"}).err, "anabranch: not expected: --foo (anabranch --help)"));
  CHECK(has(command({"smvm", "--bad"}).err, "anabranch: not expected: --bad (anabranch smvm --help)"));
  CHECK(has(command({"smvm", "--"}).err, "MATRIX"));
}

TEST_CASE("usage errors: standard input is no file that is read at any position") {
  const TemporaryDirectory dir;
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& says) {
    const Outcome o = command(arguments);
    INFO(o.err);
    CHECK(o.status == 2);
    CHECK(has(o.err, "anabranch: " + says));
  };
  const std::string why = " -: standard input cannot be read at any position; a file of this name is ./- (";
  refused({"smvm", "-"}, "MATRIX" + why);
  refused({"explain", "smvm", "-"}, "MATRIX" + why);
  refused({"pagerank", "-"}, "GRAPH" + why);
  refused({"audio", "-", "--out", dir / "f.npz"}, "IN" + why);
  io_test::write_file(dir / "m.npz", io_test::npz(io_test::members(io_test::sample(10))));
  refused({"smvm", dir / "m.npz", "--vector", "-"}, "--vector" + why);
  refused({"smvm", dir / "m.npz", "--vectors", "-"}, "--vectors" + why);
  refused({"audio", dir / "a.wav", "--segments", "-", "--features", "rms", "--out", dir / "f.npz"},
          "--segments" + why);
  refused({"md5", "-", "-"}, "DIGESTS and WORDLIST: standard input, -, is there twice");
}

TEST_CASE("usage errors: standard output is no place for files") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "m.npz", io_test::npz(io_test::members(io_test::sample(10))));
  const std::string m = dir / "m.npz", digest(32, '0');
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& option) {
    const Outcome o = command(arguments);
    INFO(o.err);
    CHECK(o.status == 2);
    CHECK(o.out.empty());
    CHECK(has(o.err, "anabranch: " + option +
                         " -: standard output is not supported here; a file of this name is ./- ("));
  };
  refused({"smvm", m, "--out", "-"}, "--out");
  refused({"pagerank", m, "--out", "-"}, "--out");
  refused({"audio", m, "--out", "-"}, "--out");
  refused({"generate", "banded", "--size", "4", "--out", "-"}, "--out");
  refused({"smvm", m, "--trace", "-"}, "--trace");
  refused({"md5", digest, m, "--report", "-"}, "--report");
}

TEST_CASE("usage errors: options that have no effect beside the others are refused, with the reason") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "m.npz", io_test::npz(io_test::members(io_test::sample(10))));
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& sentence) {
    const Outcome o = command(arguments);
    INFO(o.err);
    CHECK(o.status == 2);
    CHECK(o.out.empty());
    CHECK(has(o.err, "anabranch: " + sentence));
  };
  const std::string why = ": nothing is run with --explain";
  const std::string m = dir / "m.npz", digest(32, '0');
  refused({"smvm", m, "--explain", "--out", dir / "y.npy"}, "--out" + why);
  refused({"smvm", m, "--explain", "--stats", "--trace", dir / "t.json"}, "--stats, --trace" + why);
  refused({"smvm", m, "--explain", "--backend", "auto", "--threads", "1"}, "--backend, --threads" + why);
  refused({"pagerank", m, "--explain", "--top", "3"}, "--top" + why);
  refused({"md5", digest, m, "--explain", "--repeat", "2"}, "--repeat" + why);
  refused({"generate", "banded", "--size", "4", "--index", "int64", "--out", dir / "g.mtx"},
          "--index: a Matrix Market file says nothing of the type of indices");
  CHECK(command({"smvm", m, "--explain", "--memory", "64M"}).status == 0);
  CHECK(dir.files() == 1);
}

TEST_CASE("the ends of the names of output files: one rule, one sentence, letters of either case") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "m.npz", io_test::npz(io_test::members(io_test::sample(10))));
  const std::string m = dir / "m.npz", digest(32, '0');
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& sentence) {
    const Outcome o = command(arguments);
    INFO(o.err);
    CHECK(o.status == 2);
    CHECK(has(o.err, "anabranch: " + sentence));
  };
  refused({"smvm", m, "--out", "y.TXT"}, "--out y.TXT: y is written as .npy, not as .TXT");
  refused({"pagerank", m, "--out", "y.csv"}, "--out y.csv: ranks are written as .npy, not as .csv");
  refused({"md5", digest, m, "--report", "r.pdf"},
          "--report r.pdf: a report is written as .html, not as .pdf");
  refused({"audio", m, "--out", "f.mp3"}, "--out f.mp3: features are written as .npz or .csv, not as .mp3");
  refused({"generate", "banded", "--size", "4", "--out", "g.csv"},
          "--out g.csv: a matrix is written as .npz or .mtx, not as .csv");
  refused({"generate", "banded", "--size", "4", "--out", "g"},
          "--out g: a matrix is written as .npz or .mtx, which the end of the name has to say");
  CHECK(command({"smvm", m, "--out", dir / "y.NPY", "--report", dir / "r.HTML"}).status == 0);
  CHECK(npy_vector<double>(dir / "y.NPY").size() == 10);
  CHECK(command({"generate", "banded", "--size", "4", "--out", dir / "g.MTX"}).status == 0);
  CHECK(io_test::read_file(dir / "g.MTX").starts_with("%%MatrixMarket"));
  CHECK(command({"generate", "banded", "--size", "4", "--out", dir / "g.Npz"}).status == 0);
  CHECK(command({"smvm", dir / "g.Npz"}).status == 0);
}

TEST_CASE("the result does not replace the vector") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "m.npz", io_test::npz(io_test::members(io_test::sample(10))));
  io_test::write_file(dir / "x.npy", "whatever");
  const Outcome o = command({"smvm", dir / "m.npz", "--vector", dir / "x.npy", "--out", dir / "x.npy"});
  CHECK(o.status == 2);
  CHECK(has(o.err, "vector"));
  CHECK(io_test::read_file(dir / "x.npy") == "whatever");
}

TEST_CASE("names in ANABRANCH_DUMP and ANABRANCH_OFF that nobody knows are said once") {
  const Outcome o =
      command({"explain", "smvm"}, {.environment = {"ANABRANCH_DUMP=lft", "ANABRANCH_OFF=fuse"}});
  CHECK(o.status == 0);
  CHECK(has(o.err,
            "ANABRANCH_DUMP names 'lft'; it knows share, contract, sequences, lift, fuse, plan, llvm, asm, "
            "cuda\n"));
  CHECK(has(o.err,
            "ANABRANCH_OFF names 'fuse'; it knows share, contract, components, shapes, ranges, fusion, "
            "in_place, caches, avx512\n"));
  CHECK(command({"explain", "smvm"}, {.environment = {"ANABRANCH_OFF=shapes", "ANABRANCH_DUMP=cuda"}})
            .err.empty());
}

TEST_CASE("explain prints every operation once") {
  const std::string all = command({"explain", "smvm"}).out;
  const std::size_t begin = all.find("\nonce per run\n");
  REQUIRE(begin != std::string::npos);
  const std::string text = all.substr(begin, all.find("\nkernels\n") - begin);
  std::size_t uses = 0;
  for (std::size_t at = 0; (at = text.find(" use ", at)) != std::string::npos; ++at) ++uses;
  CHECK(uses == 1);
  CHECK(has(text, " stream_in "));
  CHECK_FALSE(has(text, "parameter"));
}

TEST_CASE("sizes: binary and decimal units") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "m.npz", io_test::npz(io_test::members(io_test::sample(10))));
  const std::vector<std::pair<std::string, std::int64_t>> sizes{
      {"3000000", 3000000},     {"4096K", 4 << 20},
      {"8192KiB", 8 << 20},     {"9000kB", 9000000},
      {"256M", 256 << 20},      {"64mib", 64 << 20},
      {"5MB", 5000000},         {"1.5G", 3 * (std::int64_t{1} << 29)},
      {"2GB", 2'000'000'000ll}, {"1T", std::int64_t{1} << 40}};
  for (const auto& [text, bytes] : sizes) {
    INFO(text);
    const Outcome o = command({"smvm", dir / "m.npz", "--memory", text, "--json"});
    REQUIRE(o.status == 0);
    CHECK(o.json()["memory"] == bytes);
  }
}

TEST_CASE("with the interpreter every option acts or is refused") {
  const TemporaryDirectory dir;
  const std::string m = dir / "m.npz";
  io_test::write_file(m, io_test::npz(io_test::members(io_test::sample(10))));
  const auto refused = [&](std::vector<std::string> more, const std::string& sentence) {
    more.insert(more.begin(), {"smvm", m, "--backend", "interpreter"});
    const Outcome o = command(more);
    CHECK(o.status == 2);
    INFO(o.err);
    CHECK(has(o.err, sentence));
  };
  refused({"--threads", "2"}, "--threads: the interpreter runs on one thread");
  refused({"--memory", "1G"}, "--memory: the interpreter keeps no memory bound");
  refused({"--scheduler", "fixed:7"}, "--scheduler: the interpreter takes rows one by one");
  refused({"--gpu-memory", "1G"}, "--gpu-memory bounds what lies on a GPU");
  const Outcome o = command({"smvm", m, "--backend", "interpreter", "--threads", "1", "--repeat", "2",
                             "--trace", dir / "t.json", "--out", dir / "y.npy", "--json"});
  REQUIRE(o.status == 0);
  CHECK(o.json()["threads"] == 1);
  CHECK(o.json()["memory"].is_null());
  CHECK(o.json()["scheduler"].is_null());
  CHECK(dir.files() == 3);
}
