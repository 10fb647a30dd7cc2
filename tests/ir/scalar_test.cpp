// The table of scalar types: facts that follow from the C++ types, and names.

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "ir/make.h"
#include "ir/type.h"
#include "support/catch.h"

using namespace anabranch;
using detail::bits_of;
using detail::scalar_facts;
using detail::ScalarInfo;
using detail::ScalarKind;
using detail::ScalarRow;
using detail::value_of;

namespace {

template <class F>
void for_each_type(F&& f) {
  std::apply([&](const auto&... row) { (f(row), ...); }, detail::scalar_rows);
}

template <class T>
std::vector<T> some() {
  using L = std::numeric_limits<T>;
  std::vector<T> out{T(0), T(1), static_cast<T>(-1), T(100), L::lowest(), L::max(), L::min()};
  if constexpr (detail::FloatValue<T>)
    for (const T x : {L::infinity(), static_cast<T>(-L::infinity()), static_cast<T>(-0.0), L::denorm_min()})
      out.push_back(x);
  return out;
}

template <class T>
void check_identities(const ScalarInfo& facts) {
  const auto same = [](T x, T y) { return bits_of(x) == bits_of(y); };
  const auto add = value_of<T>(facts.identities.add), one = value_of<T>(facts.identities.multiply);
  const auto low = value_of<T>(facts.identities.maximum), high = value_of<T>(facts.identities.minimum);
  for (const T x : some<T>()) {
    INFO("on " << +x);
    CHECK(same(static_cast<T>(x + add), x));
    CHECK(same(static_cast<T>(add + x), x));
    CHECK(same(static_cast<T>(x * one), x));
    CHECK(low <= x);
    CHECK(x <= high);
    if constexpr (detail::IntegerValue<T>) {
      const auto ones = value_of<T>(facts.identities.bit_and);
      CHECK(same(static_cast<T>(x & ones), x));
      CHECK(same(static_cast<T>(x | value_of<T>(facts.identities.bit_or)), x));
      CHECK(same(static_cast<T>(x ^ value_of<T>(facts.identities.bit_xor)), x));
    }
  }
}

}  // namespace

TEST_CASE("facts of scalar types: width, kind, limits") {
  for_each_type([]<class T>(const ScalarRow<T>& row) {
    const ScalarInfo facts = scalar_facts(row);
    INFO(sizeof(T) << " bytes, signed: " << std::is_signed_v<T>);
    CHECK(facts.bytes == sizeof(T));
    CHECK((facts.kind == ScalarKind::floating) == (std::is_floating_point_v<T> || std::is_same_v<T, half>));
    CHECK((facts.kind == ScalarKind::boolean) == std::is_same_v<T, bool>);
    if constexpr (std::is_integral_v<T>) {
      CHECK((facts.kind == ScalarKind::signed_integer) == std::is_signed_v<T>);
      CHECK(facts.bits == std::numeric_limits<T>::digits + (std::is_signed_v<T> ? 1 : 0));
      CHECK(value_of<T>(facts.least) == std::numeric_limits<T>::min());
      CHECK(value_of<T>(facts.greatest) == std::numeric_limits<T>::max());
    } else {
      CHECK(std::isinf(value_of<T>(facts.least)));
      CHECK(value_of<T>(facts.least) < value_of<T>(facts.greatest));
    }
    // Bits are zero-extended: a negative number of a narrow type is no negative int64.
    if (facts.bits < 64) {
      CHECK(facts.least >> facts.bits == 0);
      CHECK(facts.identities.maximum >> facts.bits == 0);
      CHECK(facts.identities.bit_and >> facts.bits == 0);
    }
  });
}

TEST_CASE("an identity changes nothing, bit for bit") {
  for_each_type([]<class T>(const ScalarRow<T>& row) {
    INFO(sizeof(T) << " bytes, signed: " << std::is_signed_v<T>);
    if constexpr (!std::is_same_v<T, bool>) check_identities<T>(scalar_facts(row));
  });
  CHECK(detail::scalar_info(ScalarType::boolean).identities.bit_and == 1);
  CHECK(scalar_facts(ScalarRow<std::int16_t>{}).identities.minimum == 0x7fff);
  CHECK(scalar_facts(ScalarRow<std::int16_t>{}).identities.maximum == 0x8000);
}

TEST_CASE("every scalar type has a row, and every row its names") {
  std::set<std::string> names, cpp, cuda, numpy, arrow;
  const std::string listed = ANABRANCH_SCALAR_TYPES;
  for (const ScalarInfo& facts : detail::scalar_table) {
    INFO(facts.name);
    names.insert(facts.name);
    cpp.insert(facts.cpp);
    cuda.insert(facts.cuda);
    numpy.insert(facts.numpy);
    arrow.insert(facts.arrow);
    CHECK(listed.find(facts.cpp) != std::string::npos);
    const char letter = facts.kind == ScalarKind::boolean            ? 'b'
                        : facts.kind == ScalarKind::unsigned_integer ? 'u'
                        : facts.kind == ScalarKind::signed_integer   ? 'i'
                                                                     : 'f';
    CHECK(facts.numpy ==
          (facts.bytes == 1 ? "|" : "<") + std::string(1, letter) + std::to_string(facts.bytes));
    CHECK(&detail::scalar_info(facts.type) == &facts);
    CHECK(name_of(facts.type) == std::string(facts.name));
    CHECK(size_of(facts.type) == facts.bytes);
  }
  for (const auto& all : {names, cpp, cuda, numpy, arrow}) CHECK(all.size() == detail::scalar_count);
}

TEST_CASE("docs/language.md lists every scalar type") {
  std::ifstream file(ANABRANCH_LANGUAGE_MD);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::string table = page.substr(page.find("| scalar in C++ |"), 2000);
  for (const ScalarInfo& facts : detail::scalar_table) {
    INFO(facts.name);
    std::string dtype = facts.numpy;
    if (dtype.front() == '|') dtype.insert(0, "\\");  // in a table
    CHECK(table.find("`" + std::string(facts.name) + "`") != std::string::npos);
    CHECK(table.find(std::string(facts.cpp) + "`") != std::string::npos);
    CHECK(table.find("`" + dtype + "`") != std::string::npos);
  }
}

TEST_CASE("integers from their bits") {
  for (const ScalarInfo& facts : detail::scalar_table)
    detail::with_scalar(facts.type, [&]<class T>(std::type_identity<T>) {
      if constexpr (detail::IntegerValue<T>)
        for (const T x : some<T>()) {
          INFO(facts.name << " " << +x);
          CHECK(ir::integer_of(facts.type, bits_of(x)) == static_cast<std::int64_t>(x));
        }
    });
}

TEST_CASE("a scalar type is found by its C++ type, and the other way round") {
  for (const ScalarInfo& facts : detail::scalar_table) {
    const bool found = detail::with_scalar(facts.type, [&]<class T>(std::type_identity<T>) {
      static_assert(IsScalar<T>);
      return detail::scalar_type<T> == facts.type && ir::literal(T(1))->type().is(facts.type);
    });
    CHECK(found);
  }
}
