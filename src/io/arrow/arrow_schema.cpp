#include "io/arrow/arrow_schema.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include <anabranch/error.h>

#include <fmt/format.h>

namespace anabranch::io::detail {

namespace {

constexpr std::pair<ScalarType, const char*> formats[] = {
    {ScalarType::boolean, "b"}, {ScalarType::int8, "c"},    {ScalarType::uint8, "C"},
    {ScalarType::int16, "s"},   {ScalarType::uint16, "S"},  {ScalarType::int32, "i"},
    {ScalarType::uint32, "I"},  {ScalarType::int64, "l"},   {ScalarType::uint64, "L"},
    {ScalarType::float16, "e"}, {ScalarType::float32, "f"}, {ScalarType::float64, "g"}};

std::optional<ScalarType> scalar_of(std::string_view format) {
  for (const auto& [type, text] : formats)
    if (format == text) return type;
  return std::nullopt;
}

/// Those who made it may have left it out.
std::string_view format_of(const ArrowSchema& schema) { return schema.format ? schema.format : ""; }

/// As messages name it.
std::string type_text(const ArrowSchema& schema) {
  const std::string_view format = format_of(schema);
  const auto part = [&](std::int64_t i) {
    return i < schema.n_children ? type_text(*schema.children[i]) : std::string("?");
  };
  if (schema.dictionary) return fmt::format("dictionary of {}", type_text(*schema.dictionary));
  if (const auto scalar = scalar_of(format)) return name_of(*scalar);
  if (format == "+l") return fmt::format("list of {}", part(0));
  if (format == "+L") return fmt::format("large_list of {}", part(0));
  if (format.starts_with("+w:")) return fmt::format("fixed_size_list[{}] of {}", format.substr(3), part(0));
  if (format == "u") return "string";
  if (format == "U") return "large_string";
  if (format == "z") return "binary";
  if (format == "Z") return "large_binary";
  if (format == "+s") {
    std::string parts;
    for (std::int64_t i = 0; i < schema.n_children; ++i) parts += (i > 0 ? ", " : "") + part(i);
    return fmt::format("struct({})", parts);
  }
  if (format == "+vl" || format == "+vL") return fmt::format("list_view of {}", part(0));
  // What is not read here, and is met nevertheless.
  constexpr std::pair<std::string_view, std::string_view> others[] = {
      {"vu", "string_view"}, {"vz", "binary_view"}, {"ts", "timestamp"},
      {"td", "date"},        {"tt", "time"},        {"tD", "duration"},
      {"ti", "interval"},    {"d:", "decimal"},     {"w:", "fixed_size_binary"},
      {"+m", "map"},         {"+u", "union"},       {"+r", "run_end_encoded"}};
  for (const auto& [begin, name] : others)
    if (format.starts_with(begin)) return fmt::format("{} ('{}')", name, format);
  return fmt::format("'{}'", format);
}

std::string array_text(const SinkArray& array) {
  std::string scalars;
  for (const ScalarType s : array.scalars) scalars += (scalars.empty() ? "" : ", ") + std::string(name_of(s));
  if (array.scalars.size() != 1) scalars = "(" + scalars + ")";
  return fmt::format("rank {} of {}", array.rank, scalars);
}

/// Whether a column has the form of an array of items.
class Matcher {
 public:
  Matcher(const SinkArray& array, ArrowColumn& column) : array_(array), column_(column) {}

  bool matches(const ArrowSchema& schema) {
    const ArrowSchema* at = &schema;
    for (int d = 0; d < array_.rank; ++d) {
      if (at->dictionary) return false;
      const std::string_view format = format_of(*at);
      if (format == "u" || format == "z" || format == "U" || format == "Z") {
        column_.bytes = true;
        add_list(format == "u" || format == "z" ? ArrowList::Kind::offsets32 : ArrowList::Kind::offsets64, 0);
        return d == 0 && array_.rank == 1 && array_.scalars == std::vector{ScalarType::uint8} && add_path({});
      }
      if (at->n_children != 1 || !take_list(format, d)) return false;
      at = at->children[0];
    }
    column_.structs = format_of(*at) == "+s";
    return element(*at, {}) && column_.paths.size() == array_.scalars.size();
  }

 private:
  void add_list(ArrowList::Kind kind, std::int64_t size) {
    column_.lists.push_back({kind, size});
    column_.info.extents.push_back(kind == ArrowList::Kind::fixed ? std::optional(size) : std::nullopt);
    // Those of lists of fixed-size lists are computed.
    column_.info.offsets = kind == ArrowList::Kind::offsets32 ? OffsetType::int32 : OffsetType::int64;
  }
  /// Only the outermost lists may differ in length.
  bool take_list(std::string_view format, int dimension) {
    if (format == "+l" || format == "+L") {
      add_list(format == "+l" ? ArrowList::Kind::offsets32 : ArrowList::Kind::offsets64, 0);
      return dimension == 0;
    }
    if (!format.starts_with("+w:")) return false;
    std::int64_t size = -1;
    const auto [end, error] = std::from_chars(format.data() + 3, format.data() + format.size(), size);
    add_list(ArrowList::Kind::fixed, size);
    return error == std::errc{} && end == format.data() + format.size() && size >= 0;
  }
  bool element(const ArrowSchema& schema, const std::vector<std::int64_t>& path) {
    if (schema.dictionary) return false;
    if (format_of(schema) == "+s") {
      for (std::int64_t i = 0; i < schema.n_children; ++i) {
        std::vector<std::int64_t> further = path;
        further.push_back(i);
        if (!element(*schema.children[i], further)) return false;
      }
      return true;
    }
    const auto scalar = scalar_of(format_of(schema));
    return scalar && column_.paths.size() < array_.scalars.size() &&
           array_.scalars[column_.paths.size()] == *scalar && add_path(path);
  }
  bool add_path(std::vector<std::int64_t> path) {
    column_.paths.push_back(std::move(path));
    return true;
  }

  const SinkArray& array_;
  ArrowColumn& column_;
};

std::optional<ArrowColumn> matched(const ArrowSchema& schema, const SinkArray& array, std::int64_t child) {
  ArrowColumn column;
  column.name = schema.name ? schema.name : "";
  column.child = child;
  column.info.scalars = array.scalars;
  if (!Matcher(array, column).matches(schema)) return std::nullopt;
  return column;
}

std::string column_text(const ArrowSchema& schema) {
  return schema.name && *schema.name ? fmt::format("column '{}'", schema.name) : std::string("the column");
}

/// Numbers of the children that are columns.
std::vector<std::int64_t> chosen(const std::string& name, const ArrowSchema& schema,
                                 const std::vector<std::string>& columns) {
  std::vector<std::int64_t> out;
  if (columns.empty())
    for (std::int64_t i = 0; i < schema.n_children; ++i) out.push_back(i);
  for (const std::string& column : columns) {
    std::int64_t at = 0;
    while (at < schema.n_children && (!schema.children[at]->name || column != schema.children[at]->name))
      ++at;
    if (at == schema.n_children) throw DataError(fmt::format("{}: there is no column '{}'", name, column));
    out.push_back(at);
  }
  return out;
}

}  // namespace

const char* arrow_format(ScalarType type) {
  const auto* found =
      std::find_if(std::begin(formats), std::end(formats), [&](const auto& f) { return f.first == type; });
  return found->second;
}

std::vector<ArrowColumn> match_columns(const std::string& name, const ArrowSchema& schema,
                                       const std::vector<SinkArray>& arrays,
                                       const std::vector<std::string>& columns) {
  const bool batches = format_of(schema) == "+s";
  std::vector<ArrowColumn> out;
  // A stream of one array, or whose batches are structs for elements.
  if (arrays.size() == 1 && columns.empty())
    if (auto column = matched(schema, arrays[0], -1); column && !(batches && schema.n_children == 1))
      return {*column};
  if (!batches)
    throw DataError(fmt::format("{}: its rows are {}, but {} arrays were asked for, the first of {}", name,
                                type_text(schema), arrays.size(), array_text(arrays[0])));
  const std::vector<std::int64_t> children = chosen(name, schema, columns);
  if (children.size() != arrays.size())
    throw DataError(fmt::format("{}: {} columns, but {} arrays were asked for (ArrowOptions::columns)", name,
                                children.size(), arrays.size()));
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const ArrowSchema& child = *schema.children[children[i]];
    auto column = matched(child, arrays[i], children[i]);
    if (!column)
      throw DataError(fmt::format("{}: {} is {}, but {} was asked for", name, column_text(child),
                                  type_text(child), array_text(arrays[i])));
    out.push_back(std::move(*column));
  }
  return out;
}

}  // namespace anabranch::io::detail
