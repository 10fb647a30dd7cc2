// docs/language.md against the headers of scalar code and of arrays: what they declare, and every primitive,
// has its row there.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "ir/primitive.h"
#include "support/catch.h"

using namespace anabranch;
using ir::Primitive;

namespace {

using Words = std::set<std::string>;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class F>
void for_all_matches(const std::string& text, const std::regex& pattern, F&& f) {
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) f(*at);
}

/// What is named in the first column of a table: names and operators.
Words rows_of_the_page() {
  static const std::regex row(R"((?:^|\n)\| ((?:[^|\\\n]|\\.)*) \|)"), code("`([^`]*)`");
  static const std::regex word(R"([A-Za-z_]\w*|[^\w\s(),<>]+|<<|>>|<=|>=|<|>)");
  Words words;
  for_all_matches(text_of(ANABRANCH_LANGUAGE_MD), row, [&](const std::smatch& cell) {
    const std::string names = std::regex_replace(cell.str(1), std::regex(R"(\\\|)"), "|");
    for_all_matches(names, code, [&](const std::smatch& span) {
      for_all_matches(span.str(1), word, [&](const std::smatch& found) { words.insert(found.str()); });
    });
  });
  return words;
}

/// Functions, function objects and operators that a header declares for users: those outside of namespace
/// detail, whose declarations begin a line.
Words declared_in(const std::filesystem::path& header) {
  static const std::regex function(
      R"(\n(?!template|using|class|struct|#|//| )[^\n]*?[^:\w\n]([a-z_]\w*)\((?:const |(?:\w+::)*\w+ \w))");
  static const std::regex object(R"(\ninline constexpr [\w:<>, ]+ (\w+)(?: =|\{))");
  static const std::regex op(R"(\n  friend [^\n]*operator([^\s\w(]+)\()");
  std::string text = text_of(header);
  const std::string close = "\n}  // namespace detail";
  for (std::size_t from = 0; (from = text.find("\nnamespace detail {", from)) != std::string::npos;)
    text.erase(from, text.find(close, from) + close.size() - from);
  Words names;
  for (const std::regex* pattern : {&function, &object, &op})
    for_all_matches(text, *pattern, [&](const std::smatch& found) { names.insert(found.str(1)); });
  return names;
}

/// Includes exp.h. (How programs are run is prose on the page.)
bool speaks_of_computations(const std::filesystem::path& header) {
  if (header.filename() == "run.h") return false;
  if (header.filename() == "exp.h") return true;
  static const std::regex include("#include <anabranch/([a-z_/]+\\.h)>");
  bool speaks = false;
  for_all_matches(text_of(header), include, [&](const std::smatch& found) {
    speaks = speaks || speaks_of_computations(std::filesystem::path(ANABRANCH_HEADERS) / found.str(1));
  });
  return speaks;
}

const char* documented(Primitive primitive) {
  switch (primitive) {
    case Primitive::add:
      return "+";
    case Primitive::subtract:
    case Primitive::negate:
      return "-";
    case Primitive::multiply:
      return "*";
    case Primitive::divide:
      return "/";
    case Primitive::remainder:
      return "%";
    case Primitive::absolute:
      return "abs";
    case Primitive::minimum:
      return "min";
    case Primitive::maximum:
      return "max";
    case Primitive::equal:
      return "==";
    case Primitive::not_equal:
      return "!=";
    case Primitive::less:
      return "<";
    case Primitive::less_equal:
      return "<=";
    case Primitive::logical_not:
      return "!";
    case Primitive::bit_and:
      return "&";
    case Primitive::bit_or:
      return "|";
    case Primitive::bit_xor:
      return "^";
    case Primitive::shift_left:
      return "<<";
    case Primitive::shift_right:
      return ">>";
    case Primitive::rotate_left:
      return "rotl";
    case Primitive::count_ones:
      return "popcount";
    case Primitive::leading_zeros:
      return "clz";
    case Primitive::trailing_zeros:
      return "ctz";
    case Primitive::fma:
    case Primitive::floor:
    case Primitive::ceiling:
    case Primitive::round:
    case Primitive::truncate:
    case Primitive::copy_sign:
    case Primitive::bitcast:
    case Primitive::square_root:
    case Primitive::exp:
    case Primitive::exp2:
    case Primitive::log:
    case Primitive::log2:
    case Primitive::log10:
    case Primitive::sin:
    case Primitive::cos:
    case Primitive::tan:
    case Primitive::asin:
    case Primitive::acos:
    case Primitive::atan:
    case Primitive::sinh:
    case Primitive::cosh:
    case Primitive::tanh:
    case Primitive::asinh:
    case Primitive::acosh:
    case Primitive::atanh:
    case Primitive::erf:
    case Primitive::cbrt:
    case Primitive::rsqrt:
    case Primitive::pow:
    case Primitive::atan2:
    case Primitive::hypot:
    case Primitive::cast:
      break;
  }
  return ir::info(primitive).name.data();  // users write its name
}

}  // namespace

TEST_CASE("every function of scalar code and of arrays has a row in the description of the language") {
  const Words rows = rows_of_the_page();
  std::size_t headers = 0, functions = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ANABRANCH_HEADERS)) {
    if (entry.path().extension() != ".h" || !speaks_of_computations(entry.path())) continue;
    ++headers;
    for (const std::string& name : declared_in(entry.path())) {
      ++functions;
      INFO(name << " of " << entry.path().filename().string());
      CHECK(rows.contains(name));
    }
  }
  // That what declarations look like was understood.
  CHECK(headers >= 8);
  CHECK(functions >= 90);
  const Words of_exp = declared_in(std::filesystem::path(ANABRANCH_HEADERS) / "exp.h");
  for (const char* name : {"+", "<<", "&&", "~", "cond", "while_loop", "cast", "plus", "index_of", "get"}) {
    INFO(name);
    CHECK(of_exp.contains(name));
  }
  CHECK(declared_in(std::filesystem::path(ANABRANCH_HEADERS) / "optional.h").contains("none"));
  CHECK(declared_in(std::filesystem::path(ANABRANCH_HEADERS) / "product.h").contains("make"));
  CHECK(declared_in(std::filesystem::path(ANABRANCH_HEADERS) / "switch.h").contains("case_"));
  CHECK(declared_in(std::filesystem::path(ANABRANCH_HEADERS) / "control.h").contains("awhile"));
  CHECK(declared_in(std::filesystem::path(ANABRANCH_HEADERS) / "complex_mathematics.h").contains("polar"));
  CHECK(text_of(ANABRANCH_LANGUAGE_MD).find("ANABRANCH_AGGREGATE") != std::string::npos);
}

TEST_CASE("every type of elements has its place in the description of the language") {
  const std::string page = text_of(ANABRANCH_LANGUAGE_MD);
  for (const auto& scalar : detail::scalar_table) {
    INFO(scalar.name);
    CHECK(page.find("`" + std::string(scalar.name) + "`") != std::string::npos);
  }
  for (const char* type : {"std::pair", "std::tuple", "Index<N>", "std::complex<float>", "std::optional<T>",
                           "std::variant<Ts...>", "std::monostate"}) {
    INFO(type);
    CHECK(page.find(type) != std::string::npos);
  }
}

TEST_CASE("every header that declares computations is named at the beginning of the page") {
  const std::string page = text_of(ANABRANCH_LANGUAGE_MD);
  const std::string beginning = page.substr(0, page.find("| type |"));
  for (const auto& entry : std::filesystem::directory_iterator(ANABRANCH_HEADERS)) {
    if (entry.path().extension() != ".h" || !speaks_of_computations(entry.path())) continue;
    const std::string name = entry.path().filename().string();
    INFO(name);
    CHECK(beginning.find("[" + name + "]") != std::string::npos);
  }
}

TEST_CASE("every primitive has a row in the description of the language") {
  const Words rows = rows_of_the_page();
  for (int i = 0; i < ir::primitive_count; ++i) {
    INFO(documented(static_cast<Primitive>(i)));
    CHECK(rows.contains(documented(static_cast<Primitive>(i))));
  }
}
