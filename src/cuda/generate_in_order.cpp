#include <fmt/format.h>

#include "cuda/generator.h"

/// Code that reads arrays in the order of positions (kernels/cuda/in_order.cuh), in maps and in folds.
namespace anabranch::cuda {

std::string Generator::buffer_of(const InOrder::Read& read) {
  const kernel::KernelArray& array = array_of(read);
  return buffer(array.first_buffer + static_cast<int>(read.component),
                memory_type_text(array.type.scalars[read.component]));
}

void Generator::read_in_order(const std::vector<std::string>& written) {
  out_.line("");
  for (std::size_t i = 0; i < in_order_.reads.size(); ++i) {
    const InOrder::Read& read = in_order_.reads[i];
    out_.line(fmt::format("{} fetched{}[ahead];",
                          memory_type_text(array_of(read).type.scalars[read.component]), i));
  }
  out_.open("ANABRANCH_DEVICE bool is_aligned([[maybe_unused]] i64 at) const {");
  std::string all;
  const auto also = [&](const std::string& array) {
    all += fmt::format("{}anabranch::is_aligned({}, at)", all.empty() ? "" : " && ", array);
  };
  for (const InOrder::Read& read : in_order_.reads) also(buffer_of(read));
  for (const std::string& array : written) also(array);
  out_.line(fmt::format("return {};", all.empty() ? "false" : all));
  out_.close();
  load_quad();
}

void Generator::load_quad() {
  out_.line("template <class Index>");
  out_.open(
      "ANABRANCH_DEVICE void load_quad([[maybe_unused]] int n, [[maybe_unused]] i64 origin, "
      "[[maybe_unused]] Index at, [[maybe_unused]] RangeOf<Index> range, [[maybe_unused]] bool even) {");
  if (!in_order_.reads.empty()) {
    out_.open("if (even && range.has_four(at)) {");
    for (std::size_t i = 0; i < in_order_.reads.size(); ++i)
      out_.line(fmt::format("load_four({} + origin, at, fetched{} + n);", buffer_of(in_order_.reads[i]), i));
    out_.reopen("} else {");
    out_.line("#pragma unroll");
    out_.open("for (int i = 0; i < four; ++i) {");
    for (std::size_t i = 0; i < in_order_.reads.size(); ++i)
      out_.line(fmt::format("fetched{}[n + i] = load({} + origin, range.nearest(at + i));", i,
                            buffer_of(in_order_.reads[i])));
    out_.close();
    out_.close();
  }
  out_.close();
}

void Generator::with_fetched(const std::function<void()>& texts) {
  for (const kernel::KernelArray& array : kernel_.arrays)
    scalar_.array(*array.parameter).fetched.resize(array.type.scalars.size());
  for (std::size_t i = 0; i < in_order_.reads.size(); ++i) {
    const InOrder::Read& read = in_order_.reads[i];
    scalar_.array(*array_of(read).parameter).fetched[read.component] = fmt::format("fetched{}[n]", i);
  }
  texts();
  for (const kernel::KernelArray& array : kernel_.arrays) scalar_.array(*array.parameter).fetched.clear();
}

void Generator::element_of_four(const kernel::Regions& body) {
  with_fetched([&] { element("element_of_four", "[[maybe_unused]] int n", body); });
}

}  // namespace anabranch::cuda
