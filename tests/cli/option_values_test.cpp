#include "support/catch.h"

#include "command.h"
#include "refused.h"

// Numbers and sizes on the command line that are none, or beyond what can be. No file is looked at before.
using namespace cli_test;

namespace {

struct Option {
  std::vector<std::string> line;  ///< a command that takes it
  std::vector<std::string> names;
};

const std::vector<Option> whole_numbers_from_1{
    {{"smvm", "none.npz"}, {"--threads", "--repeat"}},
    {{"md5", "none", "none"}, {"--threads", "--repeat"}},
    {{"pagerank", "none.txt"}, {"--iterations", "--nodes", "--threads", "--repeat"}},
    {{"audio", "none.wav", "--features", "all", "--out", "f.npz"},
     {"--frame-length", "--hop-length", "--win-length", "--n-mels", "--n-mfcc", "--max-size", "--lpc-order",
      "--threads", "--repeat"}},
    {{"generate", "banded", "--out", "g.npz"}, {"--size"}}};
const std::vector<Option> whole_numbers_from_0{{{"pagerank", "none.txt"}, {"--top", "--first-node"}}};
const std::vector<Option> numbers{
    {{"pagerank", "none.txt"}, {"--damping", "--tolerance"}},
    {{"audio", "none.wav", "--features", "mfcc", "--out", "f.npz"}, {"--fmin", "--fmax"}}};
const std::vector<Option> sizes{{{"smvm", "none.npz", "--backend", "auto"}, {"--memory", "--gpu-memory"}},
                                {{"md5", "none", "none"}, {"--memory"}},
                                {{"pagerank", "none.txt"}, {"--memory"}},
                                {{"audio", "none.wav", "--out", "f.npz"}, {"--memory"}}};

void refuses_values(const std::vector<Option>& options, const std::vector<std::string>& values,
                    const std::string& why) {
  const TemporaryDirectory dir;
  for (const Option& option : options)
    for (const std::string& name : option.names)
      for (const std::string& value : values) {
        std::vector<std::string> line = option.line;
        line.insert(line.end(), {name, value});
        refuses(dir, line, 2, "anabranch: " + name + ": '" + value + "' is " + why);
      }
}

}  // namespace

TEST_CASE("option values: whole numbers") {
  for (const auto* options : {&whole_numbers_from_1, &whole_numbers_from_0}) {
    refuses_values(*options, {"", "nan", "1e3", "0x10"}, "no whole number (");
    refuses_values(*options, {"-1", "99999999999999999999"}, "not from ");
  }
  refuses_values(whole_numbers_from_1, {"0"}, "not from 1 to ");
}

TEST_CASE("option values: numbers") {
  refuses_values(numbers, {"", "abc", "0,5", "0x1p-1"}, "no number (");
  refuses_values(numbers, {"-1e400", "1e-400"}, "too large or too close to 0 for a double (");
  refuses_values({numbers[0]}, {"-nan", "inf", "-1e-300", "3"}, "not from 0 to ");
}

TEST_CASE("option values: sizes") {
  refuses_values(sizes, {"", "0", "0.2", "-1", "nan", "inf", "1e3", "M"},
                 "not a size; sizes are written like 4096, 64KiB, 256M, 1.5G (");
  refuses_values(sizes, {"99999999999T"}, "more than there can be (");
}

TEST_CASE("option values: an option that takes one value is given once") {
  const TemporaryDirectory dir;
  const auto twice = [&](std::vector<std::string> line, const std::string& option, const std::string& value) {
    line.insert(line.end(), {option, value, option, value});
    refuses(dir, line, 2, "anabranch: " + option + " is given 2 times (anabranch " + line[0] + " --help)\n");
  };
  twice({"smvm", "none.npz"}, "--threads", "1");
  twice({"smvm", "none.npz"}, "--vector", "x.npy");
  twice({"pagerank", "none.txt"}, "--out", "r.npy");
  twice({"md5", "none", "none"}, "--rules", "lower");
  twice({"audio", "none.wav", "--out", "f.npz"}, "--features", "rms");
  twice({"generate", "banded", "--out", "g.npz"}, "--size", "9");
}
