#include "erased_smvm.h"

#include <array>

// Nothing else of the library is included: no templates of it, no types but its handles.
namespace anabranch::testing {
namespace {

using detail::Handle;
using detail::Primitive;

/// The lines of a file of the other language.
class Script {
 public:
  explicit Script(const std::string& file) : file_(std::string_view(file)) {}
  Place line(std::uint32_t number) const { return {file_, Symbol(std::string_view("smvm")), number}; }
  static Symbol name(const std::string& operation) { return Symbol(std::string_view(operation)); }

 private:
  Symbol file_;
};

constexpr std::array entry{ScalarType::int32, ScalarType::float64};
constexpr std::array index{ScalarType::int32};
constexpr std::array real{ScalarType::float64};

/// \x -> x.component
Handle part(int component, Place at) {
  const Handle x = detail::element_parameter(entry, at);
  return detail::lambda({x}, {detail::project(x, component, 1, at)}, at, {});
}

/// \x y -> x `op` y
Handle operation(Primitive op, Place at) {
  const Handle x = detail::element_parameter(real, at), y = detail::element_parameter(real, at);
  return detail::lambda({x, y}, {detail::primitive(op, {x, y}, at)}, at, {});
}

Handle zero(Place at) { return detail::constant(ScalarType::float64, 0, at); }

Handle sum(const Handle& row, Place at) {
  return detail::fold(operation(Primitive::add, at), zero(at), row, 0, at, Script::name("py_sum"));
}

}  // namespace

Handle erased_smvm(std::shared_ptr<SourceBase> rows, std::shared_ptr<detail::ArrayData> x,
                   const std::string& file) {
  const Script script(file);
  const Handle vector = detail::use(std::move(x), script.line(2));
  const Handle row = detail::array_parameter(1, entry, script.line(3));
  const Handle columns = detail::map(part(0, script.line(4)), {row}, script.line(4), {});
  const Handle values = detail::map(part(1, script.line(5)), {row}, script.line(5), {});

  const Handle column = detail::element_parameter(index, script.line(6));
  const Handle read = detail::index(vector, detail::cast(ScalarType::int64, column, script.line(6)),
                                    script.line(6), Script::name("py_take"));
  const Handle gather = detail::lambda({column}, {read}, script.line(6), {});
  const Handle gathered = detail::map(gather, {columns}, script.line(6), Script::name("py_take"));

  const Handle products =
      detail::map(operation(Primitive::multiply, script.line(7)), {values, gathered}, script.line(7), {});
  const Handle dot_row = detail::lambda({row}, {sum(products, script.line(8))}, script.line(8), {});
  const Handle sums =
      detail::map_seq(dot_row, {detail::stream_in(std::move(rows), script.line(9))}, script.line(9), {});
  return detail::consume(detail::elements(sums, script.line(10)), script.line(10));
}

Handle erased_row_sums(std::shared_ptr<SourceBase> rows, const std::string& file) {
  const Script script(file);
  const Handle row = detail::array_parameter(1, entry, script.line(20));
  const Handle values = detail::map(part(1, script.line(21)), {row}, script.line(21), {});
  const Handle function = detail::lambda({row}, {sum(values, script.line(22))}, script.line(22), {});
  return detail::map_seq(function, {detail::stream_in(std::move(rows), script.line(23))}, script.line(23),
                         {});
}

}  // namespace anabranch::testing
