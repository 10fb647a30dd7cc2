// What `explain` says of random programs: it names what it mentions, and every kernel of the plan is in it.

#include <set>

#include <nlohmann/json.hpp>

#include "explain.h"
#include "report/expect.h"
#include "support/catch.h"
#include "support/random_program.h"

using namespace anabranch;
using namespace anabranch::testing;
using Json = nlohmann::json;

namespace {

void check(const RandomProgram& program, const CompileOptions& options) {
  INFO(describe(program));
  const Compiled compiled = compile_program(program.roots, {}, options);
  const Json report = Json::parse(explain(compiled, Explain::json));
  std::set<std::string> operations, arrays;
  std::size_t kernels = 0, steps = 0;
  plan::each_group(compiled.plan, [&](const plan::Group& group) {
    for (const plan::Step& step : group.steps)
      if (std::holds_alternative<plan::KernelStep>(step)) ++kernels;
  });
  REQUIRE(report.at("kernels").size() == kernels);
  for (const Json& part : report.at("parts")) {
    for (const Json& o : part.at("operations")) operations.insert(o.at("name"));
    for (const Json& step : part.at("steps")) steps += step.at("kind") == "kernel";
  }
  REQUIRE(steps == kernels);
  for (const Json& array : report.at("arrays")) arrays.insert(array.at("name"));
  bool good = true;
  const auto in = [&](const std::set<std::string>& names, const Json& name) {
    INFO(name);
    CHECK(names.contains(name));
    good = good && names.contains(name);
  };
  for (const Json& part : report.at("parts"))
    for (const Json& o : part.at("operations"))
      for (const Json& read : o.at("reads")) in(operations, read);
  for (const Json& kernel : report.at("kernels")) {
    for (const Json& fused : kernel.at("fused")) in(operations, fused);
    for (const Json& computed : kernel.at("computes")) in(arrays, computed);
    for (const Json& read : kernel.at("reads")) in(arrays, read.at("array"));
  }
  // Of every array that a kernel makes it is known which, and of every graph every end of an edge.
  for (const Json& array : report.at("arrays"))
    if (array.at("maker") == "kernel") CHECK(!array.at("made_by").is_null());
  CHECK(explain(compiled, Explain::dot).starts_with("digraph program {"));
  CHECK(explain(compiled, Explain::text).find("arrays in memory") != std::string::npos);
  // An expectation is met or not, but never an accident.
  for (const Expect one : {Expect::no_intermediates, Expect::regular, Expect::one_pass, Expect::streaming}) {
    try {
      require(compiled, one);
    } catch (const ProgramError& e) {
      CHECK(std::string(e.what()).starts_with("require "));
    }
  }
  REQUIRE(good);
}

}  // namespace

TEST_CASE("explain: random array programs") {
  for (std::uint64_t seed = 0; seed < 120; ++seed)
    check(random_array_program(seed, 1 + static_cast<int>(seed % 20)), {.fusion = seed % 4 != 0});
}

TEST_CASE("explain: random sequence programs") {
  for (std::uint64_t seed = 0; seed < 80; ++seed)
    check(random_sequence_program(seed, 1 + static_cast<int>(seed % 12)), {.fusion = seed % 4 != 0});
}
