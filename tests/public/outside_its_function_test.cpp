#include <optional>

#include "agree.h"

// Parameters that leave the function they belong to: a mistake of the program, said as such, wherever it
// shows.
namespace anabranch::testing {
namespace {

std::string at_line(int below = 0, Loc at = Loc::current()) {
  return "outside_its_function_test.cpp:" + std::to_string(static_cast<int>(at.line()) + below);
}

/// What of `parts` the ProgramError does not say.
template <class F>
std::string refused(F&& f, const std::vector<std::string>& parts) {
  try {
    f();
  } catch (const ProgramError& e) {
    for (const std::string& part : parts)
      if (std::string(e.what()).find(part) == std::string::npos)
        return "'" + part + "' is not in: " + e.what();
    return "";
  } catch (const std::exception& e) {
    return std::string("another exception: ") + e.what();
  }
  return "no exception";
}

const std::vector rows_of_two{Vector<double>{1, 2}, Vector<double>{3}};

TEST_CASE("an item's array outside of map_seq") {
  std::optional<Acc<Vector<double>>> leaked;
  auto s = map_seq(
      [&](auto row) {
        leaked = row;
        return row;
      },
      stream_in(rows_of_two));
  const std::vector<std::string> words{"an Acc is used outside the function whose parameter it depends on",
                                       "stands for one item", at_line(-7)};
  REQUIRE(refused([&] { run(*leaked); }, words) == "");
  REQUIRE(refused([&] { run(sum(*leaked)); }, words) == "");
  REQUIRE(refused([&] { compile(std::tuple(consume(elements(s)), sum(*leaked))); }, words) == "");
  REQUIRE(refused([&] { run(*leaked, {.backend = Backend::interpreter}); }, words) == "");
  // Inside the function of another sequence.
  auto other = map_seq([&](auto row) { return zip_with(plus, row, *leaked); }, stream_in(rows_of_two));
  REQUIRE(refused([&] { run(consume(elements(other))); }, words) == "");
  REQUIRE(refused([&] { stream_out(other); }, words) == "");
  require_same(run(consume(elements(s))), Vector<double>{1, 2, 3});
}

TEST_CASE("a parameter of a compiled function outside of it") {
  std::optional<Acc<Vector<double>>> leaked;
  const auto program = compile<Vector<double>>([&](auto x) {
    leaked = x;
    return sum(x);
  });
  REQUIRE(refused([&] { run(*leaked); }, {"an Acc is used outside the function"}) == "");
  REQUIRE(program(Vector<double>{1, 2})[0] == 3);
}

TEST_CASE("a run inside the function of map_seq") {
  const auto total = [](auto row) { return unit(Exp(run(sum(row))[0])); };
  REQUIRE(refused([&] { map_seq(total, stream_in(rows_of_two)); },
                  {"sum", at_line(-1), "run inside the function",
                   "Let the function return the computation"}) == "");
}

TEST_CASE("an element outside of map") {
  std::optional<Exp<double>> leaked;
  auto v = use(Vector<double>{1, 2});
  map(
      [&](auto x) {
        leaked = x * 2;
        return x;
      },
      v);
  const std::vector<std::string> words{"an Exp is used outside the function whose parameter it depends on",
                                       "stands for one element", at_line(-7)};
  REQUIRE(refused([&] { unit(*leaked); }, words) == "");
  REQUIRE(refused([&] { map([&](auto y) { return y + *leaked; }, v); }, words) == "");
  REQUIRE(refused([&] { fill(3, *leaked); }, words) == "");
  REQUIRE(
      refused([&] { map_seq([&](auto row) { return fill(size(row), *leaked); }, stream_in(rows_of_two)); },
              words) == "");
}

TEST_CASE("the state of a while_loop outside of it") {
  std::optional<Exp<double>> leaked;
  const auto body = [&](auto x) {
    while_loop([](auto y) { return y < 10; },
               [&](auto y) {
                 leaked = y;
                 return y * 2;
               },
               x);
    return *leaked;
  };
  REQUIRE(refused([&] { map(body, use(Vector<double>{1, 2})); },
                  {"map", "an Exp is used outside the function"}) == "");
}

TEST_CASE("nested parallelism keeps its own words") {
  auto v = use(Vector<double>{1, 2});
  REQUIRE(refused([&] { map([&](auto x) { return the(sum(fill(3, x))); }, v); },
                  {"fill", "nested parallelism inside scalar code"}) == "");
}

}  // namespace
}  // namespace anabranch::testing
