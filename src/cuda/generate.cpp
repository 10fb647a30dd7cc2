#include "cuda/generator.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cuda/words.h"

namespace anabranch::cuda {

using Kind = kernel::KernelExtent::Kind;

namespace {

std::string product(const std::vector<std::string>& factors) {
  std::string out;
  for (const auto& f : factors) out = out.empty() ? f : fmt::format("multiply({}, {})", out, f);
  return out.empty() ? "1ll" : out;
}

}  // namespace

Generator::Generator(const kernel::Kernel& kernel, IsOwn own, bool flat)
    : kernel_(kernel),
      name_(identifier(kernel.name)),
      segmented_(kernel.domain.form == kernel::Form::segmented),
      flat_(flat),
      in_order_(cuda::in_order(kernel, kernel::ComponentUse(kernel))),
      own_(std::move(own)),
      body_(kernel.body, own_),
      epilogue_(kernel.epilogue.body),
      types_(kernel::result_types(kernel)),
      stored_types_(kernel::stored_types(kernel)),
      scalar_(out_, kernel) {
  scalar_.is_pointwise = own_;
  scalar_.own_position = "out_at";
}

Unit Generator::make(int only) {
  name_slots();
  name_values();
  head();
  arguments();
  kernel_text();
  Unit unit;
  unit.entries = entries(only);
  unit.source = out_.str();
  return unit;
}

// Slots -----------------------------------------------------------------------------------------------------

void Generator::name_slots() {
  slots_.resize(static_cast<std::size_t>(kernel_.buffer_slots));
  const auto give = [&](int slot, const std::string& type, const std::string& name, bool written) {
    Slot& s = slots_[static_cast<std::size_t>(slot)];
    if (s.name.empty()) s = {type, name, written};
    s.written = s.written || written;
  };
  const auto array = [&](const kernel::KernelArray& a, const std::string& name, bool written) {
    const auto& scalars = a.type.scalars;
    for (std::size_t c = 0; c < scalars.size(); ++c)
      give(a.first_buffer + static_cast<int>(c), memory_type_text(scalars[c]),
           scalars.size() == 1 ? name : fmt::format("{}_{}", name, c), written);
    if (a.offsets >= 0)
      give(a.offsets, offset_type(a.offset_type), fmt::format("offsets{}", a.offsets), false);
  };
  const std::vector<kernel::KernelOutput>& outputs = kernel_.outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    array(outputs[i].array, outputs.size() == 1 ? "out" : fmt::format("out{}", i), true);
  for (std::size_t i = 0; i < kernel_.arrays.size(); ++i)
    array(kernel_.arrays[i], fmt::format("in{}", i), kernel_.arrays[i].overwritten);
  if (kernel_.domain.offsets >= 0)
    give(kernel_.domain.offsets, offset_type(kernel_.domain.offset_type),
         fmt::format("offsets{}", kernel_.domain.offsets), false);
  for (const kernel::KernelExtent& e : all_extents()) {
    if (e.kind == Kind::per_item) give(e.slot, "i64", fmt::format("extents{}", e.slot), false);
    if (e.kind == Kind::ragged) give(e.slot, offset_type(e.offsets), fmt::format("offsets{}", e.slot), false);
  }
}

std::vector<kernel::KernelExtent> Generator::all_extents() const {
  std::vector<kernel::KernelExtent> all = kernel_.domain.extents;
  const auto add = [&](const std::vector<kernel::KernelExtent>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  for (const auto& a : kernel_.arrays) add(a.extents);
  for (const auto& s : kernel_.scalars) all.push_back(s.value);
  add(own_extents());
  return all;
}

std::string Generator::buffer(int slot, const std::string& type) {
  const Slot& s = slots_[static_cast<std::size_t>(slot)];
  if (s.type == type) return "a." + s.name;
  return fmt::format("reinterpret_cast<{}{}*>(a.{})", s.written ? "" : "const ", type, s.name);
}

std::string Generator::offset_at(int slot, OffsetType type, const std::string& item) {
  return fmt::format("i64(load({}, {}))", buffer(slot, offset_type(type)), item);
}

std::string Generator::extent(const kernel::KernelExtent& e) {
  if (e.kind == Kind::constant) return literal_text(e.value);
  if (e.kind == Kind::uniform) return fmt::format("a.s{}", e.slot);
  for (std::size_t i = 0; i < item_extents_.size(); ++i)
    if (item_extents_[i] == e) return fmt::format("n{}", i);
  item_extents_.push_back(e);
  return fmt::format("n{}", item_extents_.size() - 1);
}

std::string Generator::extent_of_item(const kernel::KernelExtent& e) {
  if (e.kind == Kind::per_item) return fmt::format("load({}, item)", buffer(e.slot, "i64"));
  if (e.kind == Kind::number) return fmt::format("a.s{} + item", e.slot);
  return fmt::format(
      "ragged({}, item, {})", buffer(e.slot, offset_type(e.offsets)),
      e.divisor_kind == Kind::constant ? literal_text(e.divisor) : fmt::format("a.s{}", e.divisor));
}

std::vector<std::string> Generator::extents(const std::vector<kernel::KernelExtent>& all) {
  std::vector<std::string> out;
  for (const auto& e : all) out.push_back(extent(e));
  return out;
}

void Generator::name_values() {
  for (std::size_t i = 0; i < kernel_.arrays.size(); ++i) {
    const auto& array = kernel_.arrays[i];
    ArrayText text;
    if (array.form != kernel::Form::avoided) text.base = fmt::format("in{}_base", i);
    text.extents = extents(array.extents);
    for (std::size_t c = 0; c < array.type.scalars.size(); ++c)
      text.buffers.push_back(
          buffer(array.first_buffer + static_cast<int>(c), memory_type_text(array.type.scalars[c])));
    scalar_.set_array(*array.parameter, std::move(text));
  }
  for (const auto& s : kernel_.scalars) scalar_.bind(*s.parameter, {extent(s.value)});
  constexpr const char* names[] = {"i", "j", "k", "l"};
  for (std::size_t d = 0; d < kernel_.index.size(); ++d) {
    index_.push_back(d < 4 ? names[d] : fmt::format("i{}", d));
    scalar_.bind(*kernel_.index[d], {index_.back()});
  }
  domain_ = extents(kernel_.domain.extents);
  name_own_values();
}

// The text --------------------------------------------------------------------------------------------------

void Generator::head() {
  const std::string listing = kernel::to_string(kernel_);
  for (std::size_t at = 0; at < listing.size();) {
    const std::size_t end = std::min(listing.find('\n', at), listing.size());
    std::string line = "// " + listing.substr(at, end - at);
    if (line.back() == '\\') line += '.';
    out_.line(line);
    at = end + 1;
  }
  for (const char* header : included()) out_.line(fmt::format("#include \"{}\"", header));
  for (const auto& header : mathematics()) out_.line(fmt::format("#include \"{}\"", header));
  out_.line("");
  out_.line("namespace anabranch {");
  out_.line("");
  assertions();
  if (in_order_) out_.line(fmt::format("static_assert(four == {});", four));
  out_.line(fmt::format("static_assert(sizeof(ErrorRecord) == {});", sizeof(ErrorRecord)));
  out_.line("");
}

void Generator::arguments() {
  out_.open("struct Args {");
  for (int slot = 0; slot < kernel_.buffer_slots; ++slot) {
    const Slot& s = slots_[static_cast<std::size_t>(slot)];
    if (s.name.empty())
      out_.line(fmt::format("const void* unused{};", slot));
    else
      out_.line(fmt::format("{}{}* {};", s.written ? "" : "const ", s.type, s.name));
  }
  for (int slot = 0; slot < kernel_.scalar_slots; ++slot) out_.line(fmt::format("i64 s{};", slot));
  for (const char* number : {"items", "positions", "row_blocks", "long_rows"})
    out_.line(fmt::format("i64 {};", number));
  out_.line("ErrorRecord* error;");
  out_.line("u8* workspace;");
  out_.line("const u32* stop;");
  out_.close("};");
  out_.line("");
}

void Generator::kernel_text() {
  out_.open("struct Kernel {");
  out_.line(fmt::format("static constexpr bool segmented = {};", segmented_));
  if (has_plain_element()) out_.line(fmt::format("static constexpr int unroll = {};", unroll()));
  out_.line(fmt::format("static constexpr bool checked = {};", checked()));
  if (in_order_) out_.line(fmt::format("static constexpr int ahead = {};", in_order_.ahead));
  value_type();
  constants();
  out_.line("");
  out_.line("const Args& a;");
  out_.line("bool good = true;  // no element failed");
  out_.line("Failure failure;");
  if (loops()) out_.line("StopWord stop;");
  out_.line("i64 item = 0;");
  for (std::size_t i = 0; i < item_extents_.size(); ++i) out_.line(fmt::format("i64 n{} = 0;", i));
  for (std::size_t i = 0; i < kernel_.arrays.size(); ++i)
    if (kernel_.arrays[i].form != kernel::Form::avoided) out_.line(fmt::format("i64 in{}_base = 0;", i));
  for (const auto& i : index_) out_.line(fmt::format("i64 {} = 0;", i));
  out_.line("i64 out_at = 0;  // in the buffers");
  out_.line("");
  out_.line(fmt::format("explicit ANABRANCH_DEVICE Kernel(const Args& args) : a(args){} {{}}",
                        loops() ? ", stop(args.stop)" : ""));
  places();
  parts();
  out_.close("};");
  out_.line("");
  out_.line("}  // namespace anabranch");
  out_.line("");
}

void Generator::places() {
  const bool ranked = !kernel_.domain.extents.empty();
  out_.line("");
  out_.open("ANABRANCH_DEVICE i64 start([[maybe_unused]] i64 number) const {");
  if (segmented_)
    out_.line(fmt::format("return {} - {};",
                          offset_at(kernel_.domain.offsets, kernel_.domain.offset_type, "number"),
                          offset_at(kernel_.domain.offsets, kernel_.domain.offset_type, "0")));
  else
    out_.line("return 0;");
  out_.close();
  out_.open("ANABRANCH_DEVICE i64 item_of([[maybe_unused]] i64 position) const {");
  if (!kernel_.domain.over_items || flat_)
    out_.line("return 0;");
  else if (segmented_)
    out_.line("return search_item(*this, 0, a.items, position);");
  else if (!ranked)
    out_.line("return position;");
  else
    out_.line(fmt::format("return quotient(position, {});", product(domain_)));
  out_.close();

  out_.open("ANABRANCH_DEVICE void enter(i64 item_number, i64 position) {");
  out_.line("item = item_number;");
  for (std::size_t i = 0; i < item_extents_.size(); ++i)
    out_.line(fmt::format("n{} = {};", i, extent_of_item(item_extents_[i])));
  for (std::size_t i = 0; i < kernel_.arrays.size(); ++i) {
    const auto& array = kernel_.arrays[i];
    if (array.form == kernel::Form::segmented)
      out_.line(fmt::format("in{}_base = {};", i, offset_at(array.offsets, array.offset_type, "item")));
    else if (array.form == kernel::Form::regular)
      out_.line(array.extents.empty()
                    ? fmt::format("in{}_base = item;", i)
                    : fmt::format("in{}_base = multiply(item, {});", i, product(extents(array.extents))));
  }
  if (segmented_)
    out_.line(fmt::format("out_at = position + {};",
                          offset_at(kernel_.domain.offsets, kernel_.domain.offset_type, "0")));
  else
    out_.line("out_at = position;");
  if (ranked && !flat_) decode();
  out_.close();
}

void Generator::decode() {
  std::string before;
  if (segmented_)
    before = " - start(item)";
  else if (kernel_.domain.over_items)
    before = fmt::format(" - item * {}", product(domain_));
  if (index_.size() == 1) {
    out_.line(fmt::format("{} = position{};", index_[0], before));
    return;
  }
  out_.line(fmt::format("i64 rest = position{};", before));
  for (std::size_t d = index_.size(); d-- > 1;) {
    out_.line(fmt::format("const i64 above_{} = quotient(rest, {});", index_[d], domain_[d]));
    out_.line(fmt::format("{0} = rest - above_{0} * {1};", index_[d], domain_[d]));
    out_.line(fmt::format("rest = above_{};", index_[d]));
  }
  out_.line(fmt::format("{} = rest;", index_[0]));
}

/// Where an output of positions has its element.
std::string Generator::position_of(const kernel::KernelOutput& output) {
  if (output.of == 1) return "out_at";
  return fmt::format("out_at * {} + {}", output.of, output.which);
}

std::vector<Generator::Stored> Generator::stored() {
  std::vector<Stored> all;
  for (const kernel::KernelOutput& output : kernel_.outputs)
    for (std::size_t c = 0; c < output.array.type.scalars.size(); ++c)
      all.push_back({buffer(output.array.first_buffer + static_cast<int>(c),
                            memory_type_text(output.array.type.scalars[c])),
                     output.first + c, position_of(output)});
  return all;
}

std::string Generator::in_memory(std::size_t c, const std::string& value) const {
  return stored_types_[c] == ScalarType::boolean ? "u8(" + value + ")" : value;
}

ExprTexts Generator::stored_values() {
  ExprTexts results;
  for (std::size_t c = 0; c < components(); ++c) results.push_back(fmt::format("v.c{}", c));
  if (kernel_.epilogue.body.empty()) return results;
  for (std::size_t c = 0; c < components(); ++c) scalar_.bind(*kernel_.epilogue.results[c], {results[c]});
  scalar_.emit_region(epilogue_, 0);
  end_of_user_lines();
  return scalar_.results(kernel_.epilogue.body);
}

void Generator::value_type() {
  out_.open("struct Value {");
  for (std::size_t c = 0; c < components(); ++c) out_.line(fmt::format("{} c{};", type_text(type(c)), c));
  out_.close("};");
}

void Generator::give(const ExprTexts& values) {
  end_of_user_lines();
  out_.line(fmt::format("return {{{}}};", fmt::join(values, ", ")));
}

void Generator::store_parts() {
  out_.open("ANABRANCH_DEVICE void store(Value v) {");
  const auto before = scalar_.mark();
  const ExprTexts values = stored_values();
  for (const Stored& s : stored())
    out_.line(fmt::format("{}[{}] = {};", s.buffer, s.at, in_memory(s.component, values[s.component])));
  out_.close();
  scalar_.undo(before);
}

bool Generator::checked() const {
  return std::any_of(kernel_.checks.begin(), kernel_.checks.end(), [](const kernel::Check& check) {
    return check.kind != kernel::Check::Kind::empty_fold;
  });
}

std::vector<const ir::Node*> Generator::nodes() const {
  std::vector<const ir::Node*> all = kernel::reachable(kernel_.body);
  for (const auto* body : kernel::other_bodies(kernel_)) {
    const auto more = kernel::reachable(*body);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

bool Generator::loops() const {
  const auto all = nodes();
  return std::any_of(all.begin(), all.end(),
                     [](const ir::Node* node) { return node->op() == ir::Op::while_loop; });
}

std::set<std::string> Generator::mathematics() const {
  std::set<std::string> headers;
  for (const ir::Node* node : nodes())
    if (node->op() == ir::Op::primitive)
      if (const char* header = header_of(node->payload().primitive)) headers.insert(header);
  return headers;
}

void Generator::element(const char* name, const std::string& parameter, const kernel::Regions& body) {
  const auto before = scalar_.mark();
  out_.open(fmt::format("ANABRANCH_DEVICE Value {}({}) {{", name, parameter));
  scalar_.emit_region(body, 0);
  give(scalar_.results(kernel_.body));
  out_.close();
  scalar_.undo(before);
}

std::vector<std::string> Generator::entries(int only) {
  std::vector<std::string> names;
  const std::vector<Entry> all = all_entries();
  for (std::size_t e = 0; e < all.size(); ++e) {
    if (only >= 0 && static_cast<std::size_t>(only) != e) continue;
    names.push_back(name_ + "_" + all[e].what);
    out_.line(fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}(anabranch::Args args) {{",
                          launch_bounds(all[e]), names.back()));
    out_.line(fmt::format("  anabranch::{}(args);", all[e].call));
    out_.line("}");
  }
  return names;
}

Unit generate(const kernel::Kernel& kernel) { return generate(kernel, -1); }
Unit generate(const kernel::Kernel& kernel, int entry) {
  return std::visit(
      kernel::overloaded{[&](const kernel::Map&) { return generate_map(kernel, entry); },
                         [&](const kernel::Reduce&) { return generate_fold(kernel, entry); },
                         [&](const kernel::Scan&) { return generate_scan(kernel, entry); },
                         [&](const kernel::Recurrence&) { return generate_recurrence(kernel, entry); }},
      kernel.form);
}

}  // namespace anabranch::cuda
