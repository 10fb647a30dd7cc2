#include <regex>

#include "support/catch.h"
#include "tests/cpu/support/map_kernels.h"

using namespace anabranch;
using namespace anabranch::test;
using ir::Primitive;
using ir::Ref;

namespace {

/// The most elements that code for such a processor, with vectors of 64 or 32 bytes, reads at once.
int lanes_of(const kernel::Kernel& kernel, bool wide) {
  std::string text;
  cpu::CompileOptions options;
  options.cpu = wide ? "skylake-avx512" : "haswell";
  options.features = wide ? "+avx2,+fma,+f16c,+avx512f,+avx512vl,+avx512bw,+avx512dq" : "+avx2,+fma,+f16c";
  options.ir = &text;
  cpu::compile(kernel, options);
  const std::string code = text.substr(0, text.find("; after the passes"));
  const std::regex load("load(?: <|\\.v)([0-9]+)(?: x )?i32");
  int most = 1;
  for (std::sregex_iterator found(code.begin(), code.end(), load), end; found != end; ++found)
    most = std::max(most, std::stoi((*found)[1]));
  return most;
}

/// A map of a vector of int32 in which each element goes through `chains` chains of so many operations, each of which waits
/// for the one before.
kernel::Kernel map_of_chains(int chains, int length) {
  KernelBuilder k{kernel::Map{}};
  const auto n = k.uniform_extent(100);
  const Ref a =
      k.array(kernel::Form::avoided, {ScalarType::int32}, {n}, k.buffer(std::vector<std::int32_t>(100)));
  k.output(kernel::Form::avoided, {ScalarType::int32}, {n}, 100);
  const Ref x = ir::index(a, k.kernel().index[0], {}, true);
  Ref all = x;
  for (int c = 0; c < chains; ++c) {
    Ref chain = x;
    for (int step = 0; step < length; ++step) {
      const Ref by = ir::literal(std::int32_t{1000 * c + 3 * step + 1});
      chain = step % 2 == 0 ? plus(chain, by) : ir::primitive(Primitive::bit_xor, {chain, by});
    }
    all = ir::primitive(Primitive::bit_or, {all, chain});
  }
  k.kernel().body = {all};
  return k.kernel();
}

}  // namespace

TEST_CASE("maps whose operations wait for each other all along compute several registers side by side") {
  for (const bool wide : {true, false}) {
    INFO((wide ? "64" : "32") << " bytes");
    const int lanes = wide ? 16 : 8, of_long_chains = wide ? 64 : 16;
    CHECK(lanes_of(map_of_chains(1, 4), wide) == lanes);
    CHECK(lanes_of(map_of_chains(1, 100), wide) == lanes);
    CHECK(lanes_of(map_of_chains(1, 140), wide) == of_long_chains);
    CHECK(lanes_of(map_of_chains(2, 140), wide) == of_long_chains);
    // There is enough to do beside.
    CHECK(lanes_of(map_of_chains(5, 140), wide) == lanes);
  }
}
