#include <algorithm>

#include <fmt/format.h>

#include "cuda/in_order.h"
#include "cuda/scalar_text.h"
#include "cuda/words.h"
#include "ir/views.h"
#include "kernel/fold_operator.h"
#include "kernel/pointwise.h"

/// The text of a unit: a structure of parameters, and one
/// `Kernel` of which the skeletons in kernels/cuda are instances.
namespace anabranch::cuda {
namespace {

using Kind = kernel::KernelExtent::Kind;

class Generator {
 public:
  explicit Generator(const kernel::Kernel& kernel)
      : kernel_(kernel),
        name_(identifier(kernel.name)),
        fold_(kernel.skeleton == kernel::Skeleton::fold),
        segmented_(kernel.output.form == kernel::Form::segmented),
        flat_(!fold_ && kernel::is_flat(kernel)),
        in_order_(cuda::in_order(kernel, kernel::ComponentUse(kernel))),
        own_(fold_ ? std::function<bool(const ir::Node&)>()
                   : [this](const ir::Node& node) { return kernel::is_pointwise(kernel_, node); }),
        body_(kernel.body, own_),
        combine_(kernel.combine),
        seed_(kernel.seed),
        scalar_(out_, kernel) {
    scalar_.is_pointwise = own_;
    scalar_.own_position = "out_at";
  }

  /// `only`: one of the entries; -1: all.
  Unit make(int only) {
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

 private:
  // Slots ---------------------------------------------------------------------------------------------------

  struct Slot {
    std::string type;  ///< of what the buffer holds
    std::string name;
    bool written = false;
  };

  void name_slots() {
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
    array(kernel_.output, "out", true);
    for (std::size_t i = 0; i < kernel_.arrays.size(); ++i)
      array(kernel_.arrays[i], fmt::format("in{}", i), false);
    for_extents([&](const kernel::KernelExtent& e) {
      if (e.kind == Kind::per_item) give(e.slot, "i64", fmt::format("extents{}", e.slot), false);
      if (e.kind == Kind::ragged)
        give(e.slot, offset_type(e.offsets), fmt::format("offsets{}", e.slot), false);
    });
  }

  static const char* offset_type(OffsetType type) { return type == OffsetType::int32 ? "i32" : "i64"; }

  template <class F>
  void for_extents(F&& f) {
    for (const auto& e : kernel_.output.extents) f(e);
    for (const auto& a : kernel_.arrays)
      for (const auto& e : a.extents) f(e);
    for (const auto& s : kernel_.scalars) f(s.value);
    if (fold_) f(kernel_.length);
  }

  /// A buffer, as a pointer to these.
  std::string buffer(int slot, const std::string& type) {
    const Slot& s = slots_[static_cast<std::size_t>(slot)];
    if (s.type == type) return "a." + s.name;
    return fmt::format("reinterpret_cast<{}{}*>(a.{})", s.written ? "" : "const ", type, s.name);
  }
  std::string offset_at(int slot, OffsetType type, const std::string& item) {
    return fmt::format("i64(load({}, {}))", buffer(slot, offset_type(type)), item);
  }

  /// An extent: the text that has it once the item was entered. What differs from item to item is a member.
  std::string extent(const kernel::KernelExtent& e) {
    if (e.kind == Kind::constant) return literal_text(e.value);
    if (e.kind == Kind::uniform) return fmt::format("a.s{}", e.slot);
    for (std::size_t i = 0; i < item_extents_.size(); ++i)
      if (item_extents_[i] == e) return fmt::format("n{}", i);
    item_extents_.push_back(e);
    return fmt::format("n{}", item_extents_.size() - 1);
  }
  std::string extent_of_item(const kernel::KernelExtent& e) {
    if (e.kind == Kind::per_item) return fmt::format("load({}, item)", buffer(e.slot, "i64"));
    return fmt::format(
        "ragged({}, item, {})", buffer(e.slot, offset_type(e.offsets)),
        e.divisor_kind == Kind::constant ? literal_text(e.divisor) : fmt::format("a.s{}", e.divisor));
  }

  static std::string product(const std::vector<std::string>& factors) {
    std::string out;
    for (const auto& f : factors) out = out.empty() ? f : fmt::format("multiply({}, {})", out, f);
    return out.empty() ? "1ll" : out;
  }

  std::vector<std::string> extents(const std::vector<kernel::KernelExtent>& all) {
    std::vector<std::string> out;
    for (const auto& e : all) out.push_back(extent(e));
    return out;
  }

  // What parameters are called ------------------------------------------------------------------------------

  void name_values() {
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
    if (kernel_.reduction) scalar_.bind(*kernel_.reduction, {"r"});
    for (std::size_t c = 0; c < kernel_.left.size(); ++c) {
      scalar_.bind(*kernel_.left[c], {fmt::format("x.c{}", c)});
      scalar_.bind(*kernel_.right[c], {fmt::format("y.c{}", c)});
    }
    domain_ = extents(kernel_.output.extents);
    if (fold_) length_ = extent(kernel_.length);
  }

  // The text ------------------------------------------------------------------------------------------------

  void head() {
    const std::string listing = kernel::to_string(kernel_);
    for (std::size_t at = 0; at < listing.size();) {
      const std::size_t end = std::min(listing.find('\n', at), listing.size());
      std::string line = "// " + listing.substr(at, end - at);
      if (line.back() == '\\') line += '.';
      out_.line(line);
      at = end + 1;
    }
    out_.line(!fold_      ? "#include \"map.cuh\""
              : in_order_ ? "#include \"fold_tiles.cuh\""
                          : "#include \"fold.cuh\"");
    out_.line("");
    out_.line("namespace anabranch {");
    out_.line("");
    // What src/cuda/schedule.cpp counts with.
    if (fold_)
      out_.line(
          fmt::format("static_assert(fold_threads == {} && LongRows::header == {} && sizeof(LongRow) == {});",
                      block_threads, workspace_header, long_row_bytes));
    else
      out_.line(fmt::format("static_assert(map_threads == {} && map_tile == {});", block_threads, map_tile));
    if (fold_ && in_order_)
      out_.line(fmt::format("static_assert(tile_elements == {} && row_work == {} && longest_ordered == {});",
                            tile_elements, row_work, eight_rows));
    if (in_order_) out_.line(fmt::format("static_assert(four == {});", four));
    out_.line(fmt::format("static_assert(sizeof(ErrorRecord) == {});", sizeof(ErrorRecord)));
    out_.line("");
  }

  void arguments() {
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

  void kernel_text() {
    out_.open("struct Kernel {");
    out_.line(fmt::format("static constexpr bool segmented = {};", segmented_));
    if (fold_ || !in_order_)
      out_.line(fmt::format("static constexpr int unroll = {};", body_[0].cost > unroll_cost ? 1 : 4));
    out_.line(fmt::format("static constexpr bool checked = {};", checked()));
    if (in_order_) out_.line(fmt::format("static constexpr int ahead = {};", in_order_.ahead));
    value_type();
    if (fold_) constants();
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
    if (fold_)
      fold_parts();
    else
      map_parts();
    if (in_order_) in_order_parts();
    out_.close("};");
    out_.line("");
    out_.line("}  // namespace anabranch");
    out_.line("");
  }

  /// Where items begin, and what a position decides.
  void places() {
    const bool ranked = !kernel_.output.extents.empty();
    out_.line("");
    out_.open("ANABRANCH_DEVICE i64 start([[maybe_unused]] i64 number) const {");
    if (segmented_)
      out_.line(fmt::format("return {} - {};",
                            offset_at(kernel_.output.offsets, kernel_.output.offset_type, "number"),
                            offset_at(kernel_.output.offsets, kernel_.output.offset_type, "0")));
    else
      out_.line("return 0;");
    out_.close();
    out_.open("ANABRANCH_DEVICE i64 item_of([[maybe_unused]] i64 position) const {");
    if (!kernel_.over_items || flat_)
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
                            offset_at(kernel_.output.offsets, kernel_.output.offset_type, "0")));
    else
      out_.line("out_at = position;");
    if (ranked && !flat_) decode();
    out_.close();
  }

  void decode() {
    std::string before;
    if (segmented_)
      before = " - start(item)";
    else if (kernel_.over_items)
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

  void end_of_user_lines() { out_.own_lines(name_ + ".cu"); }

  std::string output_buffer(std::size_t c) {
    return buffer(kernel_.output.first_buffer + static_cast<int>(c),
                  memory_type_text(kernel_.output.type.scalars[c]));
  }
  std::string in_memory(std::size_t c, const std::string& value) const {
    return type(c) == ScalarType::boolean ? "u8(" + value + ")" : value;
  }

  void value_type() {
    out_.open("struct Value {");
    for (std::size_t c = 0; c < components(); ++c) out_.line(fmt::format("{} c{};", type_text(type(c)), c));
    out_.close("};");
    if (fold_ && in_order_)
      out_.line(fmt::format("static_assert(sizeof(Value) == {});", value_bytes(kernel_)));
  }

  void give(const ExprTexts& values) {
    end_of_user_lines();
    out_.line(fmt::format("return {{{}}};", fmt::join(values, ", ")));
  }

  void store_parts() {
    out_.open("ANABRANCH_DEVICE void store(Value v) {");
    for (std::size_t c = 0; c < components(); ++c)
      out_.line(fmt::format("{}[out_at] = {};", output_buffer(c), in_memory(c, fmt::format("v.c{}", c))));
    out_.close();
  }

  /// Can an element fail?
  bool checked() const {
    return std::any_of(kernel_.checks.begin(), kernel_.checks.end(), [](const kernel::Check& check) {
      return check.kind != kernel::Check::Kind::empty_fold;
    });
  }

  /// Is there a loop that may never end?
  bool loops() const {
    const auto loop_in = [](const std::vector<ir::Ref>& roots) {
      const auto nodes = kernel::reachable(roots);
      return std::any_of(nodes.begin(), nodes.end(),
                         [](const ir::Node* node) { return node->op() == ir::Op::while_loop; });
    };
    return loop_in(kernel_.body) || loop_in(kernel_.combine) || loop_in(kernel_.seed);
  }

  /// A function that computes an element: all of them say in `good` whether it failed, but for the one that
  /// says in `failure` why, and is called then.
  void element(const char* name, const std::string& parameter, const kernel::Regions& body) {
    const auto before = scalar_.mark();
    out_.open(fmt::format("ANABRANCH_DEVICE Value {}({}) {{", name, parameter));
    scalar_.emit_region(body, 0);
    give(scalar_.results(kernel_.body));
    out_.close();
    scalar_.undo(before);
  }
  void elements(const std::string& parameter) {
    scalar_.brief = true;
    if (fold_ || !in_order_) element("element", parameter, body_);
    if (in_order_) element_of_four();
    scalar_.brief = false;
    if (checked()) element("examine", parameter, body_);
  }

  void map_parts() {
    store_parts();
    out_.line("");
    elements("");
  }

  // Positions in order --------------------------------------------------------------------------------------

  const kernel::KernelArray& array_of(const InOrder::Read& read) const { return kernel_.arrays[read.array]; }
  std::string buffer_of(const InOrder::Read& read) {
    const kernel::KernelArray& array = array_of(read);
    return buffer(array.first_buffer + static_cast<int>(read.component),
                  memory_type_text(array.type.scalars[read.component]));
  }

  void in_order_parts() {
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
    for (std::size_t c = 0; !fold_ && c < components(); ++c) also(output_buffer(c));
    out_.line(fmt::format("return {};", all.empty() ? "false" : all));
    out_.close();
    load_quad();
    if (fold_)
      row_start();
    else
      store_four();
  }

  void load_quad() {
    out_.open(
        "ANABRANCH_DEVICE void load_quad([[maybe_unused]] int n, [[maybe_unused]] i64 at, "
        "[[maybe_unused]] Range range, [[maybe_unused]] bool even) {");
    if (!in_order_.reads.empty()) {
      out_.open("if (even && range.has_four(at)) {");
      for (std::size_t i = 0; i < in_order_.reads.size(); ++i)
        out_.line(fmt::format("load_four({}, at, fetched{} + n);", buffer_of(in_order_.reads[i]), i));
      out_.reopen("} else {");
      out_.line("#pragma unroll");
      out_.open("for (int i = 0; i < four; ++i) {");
      for (std::size_t i = 0; i < in_order_.reads.size(); ++i)
        out_.line(fmt::format("fetched{}[n + i] = load({}, range.nearest(at + i));", i,
                              buffer_of(in_order_.reads[i])));
      out_.close();
      out_.close();
    }
    out_.close();
  }

  void element_of_four() {
    for (const kernel::KernelArray& array : kernel_.arrays)
      scalar_.array(*array.parameter).fetched.resize(array.type.scalars.size());
    for (std::size_t i = 0; i < in_order_.reads.size(); ++i) {
      const InOrder::Read& read = in_order_.reads[i];
      scalar_.array(*array_of(read).parameter).fetched[read.component] = fmt::format("fetched{}[n]", i);
    }
    const std::string of_four = "[[maybe_unused]] int n";
    if (fold_) {
      scalar_.is_pointwise = [this](const ir::Node& node) { return kernel::at_own_element(kernel_, node); };
      // Not `body_`: its regions hold the operands of these reads.
      element("element_of_four", of_four, kernel::Regions(kernel_.body, scalar_.is_pointwise));
      scalar_.is_pointwise = own_;
    } else {
      element("element_of_four", of_four, body_);
    }
    for (const kernel::KernelArray& array : kernel_.arrays) scalar_.array(*array.parameter).fetched.clear();
  }

  void row_start() {
    out_.open("ANABRANCH_DEVICE i64 row_start(i64 position) const {");
    if (kernel_.length.kind == Kind::ragged)
      out_.line(
          fmt::format("return {};", offset_at(kernel_.length.slot, kernel_.length.offsets, "position")));
    else
      out_.line(fmt::format("return multiply(position, {});", length_));
    out_.close();
  }

  void store_four() {
    out_.open("ANABRANCH_DEVICE void store_four(const Value* v, i64 at, Range range, bool even) {");
    out_.open("if (even && range.has_four(at)) {");
    for (std::size_t c = 0; c < components(); ++c) {
      std::string values;
      for (int i = 0; i < four; ++i) values += ", " + in_memory(c, fmt::format("v[{}].c{}", i, c));
      out_.line(fmt::format("anabranch::store_four({}, at{});", output_buffer(c), values));
    }
    out_.line("return;");
    out_.close();
    out_.line("#pragma unroll");
    out_.open("for (int i = 0; i < four; ++i) {");
    out_.line("out_at = at + i;");
    out_.line("if (range.has(out_at)) store(v[i]);");
    out_.close();
    out_.close();
  }

  // Folds ---------------------------------------------------------------------------------------------------

  std::size_t components() const { return kernel_.output.type.scalars.size(); }
  ScalarType type(std::size_t c) const { return kernel_.output.type.scalars[c]; }
  bool commutative() const { return kernel_.order == ir::fold_order::OperatorClass::commutative; }

  void constants() {
    out_.line(fmt::format("static constexpr bool commutative = {};", commutative()));
    out_.line(fmt::format("static constexpr bool seeded = {};", !kernel_.seed.empty()));
    out_.line(fmt::format("static constexpr int components = {};", components()));
    std::int64_t empty = 0;
    for (std::size_t i = 0; i < kernel_.checks.size(); ++i)
      if (kernel_.checks[i].kind == kernel::Check::Kind::empty_fold) empty = static_cast<std::int64_t>(i);
    out_.line(fmt::format("static constexpr i32 empty_check = {};", empty));
  }

  bool depends_on_element(const ir::Node& node) const {
    const auto& free = node.free();
    return std::find(free.begin(), free.end(), kernel_.reduction.get()) != free.end();
  }

  /// "{f(v.c0), f(v.c1)}" with `part` giving f.
  template <class F>
  std::string each_component(F&& part) {
    std::string out;
    for (std::size_t c = 0; c < components(); ++c) out += (c ? ", " : "") + part(c);
    return "{" + out + "}";
  }

  void fold_parts() {
    out_.line("");
    out_.line(fmt::format("ANABRANCH_DEVICE i64 length() const {{ return {}; }}", length_));

    // What the elements of a row share is kept in members.
    const auto before = scalar_.mark();
    std::vector<std::pair<std::string, ScalarType>> kept;
    out_.line("");
    out_.open("ANABRANCH_DEVICE void begin_row() {");
    scalar_.emit_region(body_, 0, [&](const ir::Node& node) { return !depends_on_element(node); });
    end_of_user_lines();
    for (const ir::Node* node : body_[0].nodes) {
      if (depends_on_element(*node) || node->op() == ir::Op::constant || node->op() == ir::Op::tuple ||
          node->op() == ir::Op::project)
        continue;
      ExprTexts words = scalar_.words(*node);
      for (std::size_t c = 0; c < words.size(); ++c) {
        const std::string member = "row_" + words[c];
        out_.line(fmt::format("{} = {};", member, words[c]));
        kept.emplace_back(member, node->type().scalars[c]);
        words[c] = member;
      }
      scalar_.bind(*node, std::move(words));
    }
    out_.close();
    for (const auto& [member, type] : kept) out_.line(fmt::format("{} {} = {{}};", type_text(type), member));
    // Tuples and projections name the members, too.
    for (const ir::Node* node : body_[0].nodes) {
      if (depends_on_element(*node)) continue;
      if (node->op() == ir::Op::tuple) {
        ExprTexts all;
        for (const auto& child : node->children())
          for (const auto& word : scalar_.words(*child)) all.push_back(word);
        scalar_.bind(*node, std::move(all));
      } else if (node->op() == ir::Op::project) {
        const ExprTexts& all = scalar_.words(*ir::Project(*node).value());
        const auto first = all.begin() + node->payload().first;
        scalar_.bind(*node, ExprTexts(first, first + node->payload().count));
      }
    }

    out_.line("");
    scalar_.element = "u64(r)";
    elements("[[maybe_unused]] i64 r");
    scalar_.undo(before);

    out_.line("");
    out_.open("ANABRANCH_DEVICE Value join(Value x, Value y) {");
    const auto outside = scalar_.mark();
    scalar_.element = "after_elements";
    scalar_.emit_region(combine_, 0);
    give(scalar_.results(kernel_.combine));
    out_.close();
    scalar_.undo(outside);

    out_.line("");
    out_.open("ANABRANCH_DEVICE Value seed() {");
    if (kernel_.seed.empty()) {
      out_.line("return {};");
    } else {
      scalar_.element = "in_seed";
      scalar_.emit_region(seed_, 0);
      give(scalar_.results(kernel_.seed));
      scalar_.undo(outside);
    }
    out_.close();
    out_.line(fmt::format("ANABRANCH_DEVICE Value finish(Value total) {{ return {}; }}",
                          kernel_.seed.empty() ? "total" : "join(seed(), total)"));
    store_parts();

    out_.line("");
    if (commutative())
      out_.line("static ANABRANCH_DEVICE Value identity() { return " + each_component([&](std::size_t c) {
                  return literal_text(type(c), kernel::identity_of(kernel::operator_of(kernel_, c), type(c)));
                }) +
                "; }");
    out_.line("static ANABRANCH_DEVICE Value shuffle(Value v, int lane, int width) {");
    out_.line("  return " + each_component([](std::size_t c) {
                return fmt::format("anabranch::shuffle(v.c{}, lane, width)", c);
              }) +
              ";");
    out_.line("}");
    out_.line("static ANABRANCH_DEVICE Value shuffle_down(Value v, int distance, int width) {");
    out_.line("  return " + each_component([](std::size_t c) {
                return fmt::format("anabranch::shuffle_down(v.c{}, distance, width)", c);
              }) +
              ";");
    out_.line("}");
    out_.open("static ANABRANCH_DEVICE void put(u64* cell, Value v) {");
    for (std::size_t c = 0; c < components(); ++c) out_.line(fmt::format("cell[{0}] = to_bits(v.c{0});", c));
    out_.close();
    out_.line("static ANABRANCH_DEVICE Value get(const u64* cell) {");
    out_.line("  return " + each_component([&](std::size_t c) {
                return fmt::format("from_bits<{}>(cell[{}])", type_text(type(c)), c);
              }) +
              ";");
    out_.line("}");
  }

  // Entries -------------------------------------------------------------------------------------------------

  struct Entry {
    std::string what, call;
  };
  /// In the order of FoldEntry.
  std::vector<Entry> all_entries() const {
    if (!fold_)
      return {{"map", in_order_              ? "map_in_order<anabranch::Kernel>"
                      : segmented_ && !flat_ ? "map_segments<anabranch::Kernel>"
                                             : "map_positions<anabranch::Kernel>"}};
    const std::string rows = in_order_ ? "fold_tiles" : "fold_rows";
    std::vector<Entry> all{{"by_thread", rows + "<anabranch::Kernel, 1>"}};
    if (commutative()) {
      all.push_back({"by_eight", rows + "<anabranch::Kernel, 8>"});
      all.push_back({"by_warp", "fold_rows<anabranch::Kernel, 32>"});
    }
    all.push_back({"blocks", "fold_blocks<anabranch::Kernel>"});
    all.push_back({"finish", "fold_finish<anabranch::Kernel>"});
    return all;
  }

  std::vector<std::string> entries(int only) {
    // Without a number of blocks the compiler aims at more threads than help, and spills for them.
    const char* const bounds = body_[0].cost > unroll_cost ? "256, 1" : fold_ ? "256, 3" : "256, 2";
    std::vector<std::string> names;
    const std::vector<Entry> all = all_entries();
    for (std::size_t e = 0; e < all.size(); ++e) {
      if (only >= 0 && static_cast<std::size_t>(only) != e) continue;
      names.push_back(name_ + "_" + all[e].what);
      // A block more, where that costs no spills: rows are reduced while others' elements are on their way.
      const bool four_blocks =
          all[e].call.starts_with("fold_tiles") && components() == 1 && body_[0].cost <= unroll_cost / 4;
      out_.line(fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}(anabranch::Args args) {{",
                            four_blocks ? "256, 4" : bounds, names.back()));
      out_.line(fmt::format("  anabranch::{}(args);", all[e].call));
      out_.line("}");
    }
    return names;
  }

  const kernel::Kernel& kernel_;
  std::string name_;
  bool fold_, segmented_, flat_;
  InOrder in_order_;
  std::function<bool(const ir::Node&)> own_;
  kernel::Regions body_, combine_, seed_;
  Text out_;
  ScalarText scalar_;
  std::vector<Slot> slots_;
  std::vector<kernel::KernelExtent> item_extents_;
  std::vector<std::string> index_, domain_;
  std::string length_;
};

}  // namespace

Unit generate(const kernel::Kernel& kernel) { return Generator(kernel).make(-1); }
Unit generate(const kernel::Kernel& kernel, int entry) { return Generator(kernel).make(entry); }

}  // namespace anabranch::cuda
