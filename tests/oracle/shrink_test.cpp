// The oracle finds faults, makes programs small, and writes them so that they can be read again.

#include "oracle/shrink.h"

#include <algorithm>
#include <set>

#include "interp/interpret.h"
#include "ir/walk.h"
#include "oracle/check.h"
#include "oracle/literals.h"
#include "oracle/program_text.h"
#include "support/host_arrays.h"
#include "support/random_values.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Primitive;
using ir::Ref;

namespace {

bool has_primitive(const std::vector<Ref>& program, Primitive primitive) {
  const auto nodes = ir::topological(program);
  return std::any_of(nodes.begin(), nodes.end(), [&](const ir::Node* node) {
    return node->op() == ir::Op::primitive && node->payload().primitive == primitive;
  });
}

}  // namespace

TEST_CASE("programs are made as small as what they show allows") {
  int shrunk_ones = 0;
  for (std::uint64_t seed = 1; seed < 40; ++seed) {
    const auto program = random_sequence_program(seed, 8).roots;
    if (!has_primitive(program, Primitive::multiply)) continue;
    const auto shows = [](const std::vector<Ref>& p) { return has_primitive(p, Primitive::multiply); };
    const auto small = shrunk(program, shows);
    INFO("seed " << seed << ": " << text_of(small, "{}", "small", ""));
    CHECK(has_primitive(small, Primitive::multiply));
    CHECK(small.size() == 1);
    CHECK(weight_of(small) < 192);
    ++shrunk_ones;
  }
  CHECK(shrunk_ones >= 10);
}

TEST_CASE("segments stay one after the other in what is made small, and are written so") {
  const auto shows = [](const std::vector<Ref>& program) {
    const auto nodes = ir::topological(program);
    return std::any_of(nodes.begin(), nodes.end(), [](const ir::Node* node) {
      return node->op() == ir::Op::part && node->payload().consecutive;
    });
  };
  int shrunk_ones = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto program = random_array_program(seed, 12).roots;
    if (!shows(program)) continue;
    const auto small = shrunk(program, shows);
    const std::string text = text_of(small, "{}", "small", "");
    INFO("seed " << seed << ": " << text);
    CHECK(text.find(", {}, {}, true);") != std::string::npos);
    CHECK(text.find("ir::scan(") != std::string::npos);
    CHECK(weight_of(small) < 256);
    ++shrunk_ones;
  }
  CHECK(shrunk_ones >= 5);
}

TEST_CASE("data is made small") {
  std::vector<Item> items;
  for (int i = 0; i < 50; ++i) items.push_back({vector_of<std::int32_t>({i, 7, i})});
  const Ref stream = stream_of({component({"int32"}, {std::nullopt}, 0, 64)}, items);
  const std::vector<Ref> program{ir::consume(ir::elements(stream))};
  // Item 31 has to be there.
  const auto small = shrunk(program, [](const std::vector<Ref>& p) {
    const auto elements = values<std::int32_t>(interp::run(p)[0]);
    return std::find(elements.begin(), elements.end(), 31) != elements.end();
  });
  CHECK(values<std::int32_t>(interp::run(small)[0]) == std::vector<std::int32_t>{31, 7, 31});
}

TEST_CASE("a program that does not end is a fault, and an end to what is made of it") {
  using enum Primitive;
  const ir::Type number = ir::Type::element({ScalarType::int64});
  const Ref x = ir::parameter(number), asked = ir::parameter(number), stepped = ir::parameter(number);
  const Ref more = ir::primitive(less, {asked, ir::int64(1)});
  const Ref next = ir::primitive(minimum, {ir::int64(0), ir::primitive(add, {stepped, ir::int64(1)})});
  const Ref loop = ir::while_loop(ir::lambda({asked}, {more}), ir::lambda({stepped}, {next}), x);
  const std::vector<Ref> program{
      ir::map(ir::lambda({x}, {loop}), {ir::use(host_array({"int64"}, {2}, {{0, 0}}))})};
  CHECK(wrong_with(program, {}, std::chrono::milliseconds(200)) == "it does not end");
}

TEST_CASE("a program that fails is written for tests/regress") {
  const Ref data = ir::use(host_array({"int32", "double"}, {2}, {{1, 2}, {0x3ff8000000000000, 0}}));
  const Ref x = ir::parameter(element_type({"int32", "double"}));
  const Ref first = ir::component(x, 0);
  const Ref twice = ir::primitive(Primitive::add, {first, first});
  const std::string text = text_of({ir::map(ir::lambda({x}, {twice}), {data})},
                                   code_of({.off = "fusion", .memory = 7}), "name", "comment");
  for (const char* part :
       {"// comment\n", "TEST_CASE(\"name\")",
        "n0 = ir::use(host_array({\"int32\", \"double\"}, {2}, {{0x1, 0x2}, {0x3ff8000000000000, 0x0}}))",
        "n1 = ir::parameter(element_type({\"int32\", \"double\"}))", "n2 = ir::project(n1, 0, 1)",
        "n3 = ir::primitive(primitive_named(\"add\"), {n2, n2})", "n4 = ir::lambda({n1}, {n3})",
        "n5 = ir::map(n4, {n0})",
        "check_everywhere({n5}, {.backend = Backend::cpu, .scheduler = \"adaptive\", .threads = 2, .off = "
        "\"fusion\", .contract = false, .memory = 7, .pieces = false, "
        ".item_by_item = false, .once = false, .live = false});"}) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("every primitive is written as what makes it") {
  for (int i = 0; i < ir::primitive_count; ++i) {
    const auto op = static_cast<Primitive>(i);
    const ir::PrimitiveInfo& info = ir::info(op);
    ScalarType type = ScalarType::float64;
    if (!accepts(info.operands, type)) type = ScalarType::int64;
    if (!accepts(info.operands, type)) type = ScalarType::boolean;
    const Ref x = ir::parameter(ir::Type::element(type));
    const bool is_cast = op == Primitive::cast, is_bitcast = op == Primitive::bitcast;
    const Ref value = is_cast      ? ir::cast(ScalarType::int8, x)
                      : is_bitcast ? ir::bitcast(ScalarType::uint64, x)
                                   : ir::primitive(op, std::vector(static_cast<std::size_t>(info.arity), x));
    const std::string maker = is_cast ? "ir::cast(type_named(\"int8\"), n"
                              : is_bitcast
                                  ? "ir::bitcast(type_named(\"uint64\"), n"
                                  : fmt::format("ir::primitive(primitive_named(\"{}\"), {{n", info.name);
    const Ref data = ir::use(host_array({name_of(type)}, {1}, {{0}}));
    const std::string text = text_of({ir::map(ir::lambda({x}, {value}), {data})}, "{}", "name", "");
    INFO(text);
    CHECK(text.find(maker) != std::string::npos);
  }
}

TEST_CASE("every configuration of the matrix is drawn") {
  std::set<std::string> seen;
  Dice dice(1);
  for (int i = 0; i < 200; ++i) {
    const Configuration c = drawn_configuration(dice, Backend::cpu);
    seen.insert(c.scheduler);
    seen.insert(std::to_string(c.threads) + " threads");
    if (c.memory > 0) seen.insert("tight memory");
    if (c.contract) seen.insert("contract");
    if (c.item_by_item) seen.insert("item by item");
    if (c.once) seen.insert("once");
    if (c.live) seen.insert("live");
    for (const char* pass :
         {"fusion", "share", "components", "shapes", "ranges", "in_place", "caches", "avx512"})
      if (c.off.find(pass) != std::string::npos) seen.insert(pass);
  }
  CHECK(seen.size() == 7 + 3 + 1 + 1 + 1 + 2 + 8);
}
