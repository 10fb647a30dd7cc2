#include "shapes.h"

// Every element type goes in, is moved about, and comes out; at every rank.
namespace anabranch::testing {
namespace {

template <class T>
void through() {
  const std::vector rows{numbers<T>(100, 1), Vector<T>{}, numbers<T>(1, 2), numbers<T>(33, 3)};
  const auto values = everywhere([](auto row) { return map([](auto x) { return x; }, row); }, rows);
  for (std::size_t r = 0; r < rows.size(); ++r) require_same(values[r], rows[r]);
  everywhere([](auto row) { return row; }, rows);
  everywhere([](auto row) { return map([](auto x) { return pack(x, x); }, row); }, rows);
}

TEST_CASE("arrays of bool") { through<bool>(); }
TEST_CASE("arrays of uint8") { through<std::uint8_t>(); }
TEST_CASE("arrays of uint16") { through<std::uint16_t>(); }
TEST_CASE("arrays of int8") { through<std::int8_t>(); }
TEST_CASE("arrays of int16") { through<std::int16_t>(); }
TEST_CASE("arrays of uint32") { through<std::uint32_t>(); }
TEST_CASE("arrays of uint64") { through<std::uint64_t>(); }
TEST_CASE("arrays of int32") { through<std::int32_t>(); }
TEST_CASE("arrays of int64") { through<std::int64_t>(); }
TEST_CASE("arrays of half") { through<half>(); }
TEST_CASE("arrays of float") { through<float>(); }
TEST_CASE("arrays of double") { through<double>(); }
TEST_CASE("arrays of tuples") {
  using T = std::tuple<std::uint8_t, double, bool>;
  const auto item = [](std::int64_t i) {
    const auto at = static_cast<std::uint64_t>(i);
    return T(number<std::uint8_t>(at), number<double>(at), number<bool>(at));
  };
  everywhere([](auto row) { return map([](auto x) { return x; }, row); },
             std::vector{vector_of(70, item), Vector<T>{}, vector_of(3, item)});
}

}  // namespace
}  // namespace anabranch::testing
