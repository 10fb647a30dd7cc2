#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/views.h"
#include "ir/walk.h"
#include "kernel/kernel.h"
#include "kernel/pointwise.h"

namespace anabranch::kernel {

using namespace ir;

namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : k_(kernel) {}

  void run() {
    layout(k_.domain, "exactly a segmented domain has offsets");
    require(k_.index.size() == k_.domain.extents.size(), "index parameters and the domain's extents differ");
    for (const KernelScalar& s : k_.scalars) {
      int64_parameter(s.parameter, "a scalar is no int64 parameter");
      extent(s.value);
      shared_.insert(s.parameter.get());
    }
    for (const Ref& p : k_.index) {
      int64_parameter(p, "an index is no int64 parameter");
      shared_.insert(p.get());
    }
    for (const KernelArray& a : k_.arrays) {
      require(a.parameter && a.parameter->type() == Type::array(a.type),
              "an array has no parameter of its type");
      array(a);
      shared_.insert(a.parameter.get());
    }
    require(!k_.outputs.empty(), "the kernel writes nothing");
    for (const KernelOutput& o : k_.outputs) output(o);
    overwritten();
    std::visit(overloaded{[&](const Map&) { body(k_.body, shared_, "the body mentions something unbound"); },
                          [&](const Reduce& form) { reduce(form); }, [&](const Scan& form) { scan(form); },
                          [&](const Recurrence& form) { recurrence(form); }},
               k_.form);
    epilogue();
    checks();
  }

 private:
  using Scope = std::unordered_set<const Node*>;

  void require(bool ok, const char* what) const {
    if (!ok) throw InternalError(fmt::format("kernel {}: {}", k_.name, what));
  }

  void int64_parameter(const Ref& p, const char* what) const {
    require(p && p->op() == Op::parameter && p->type() == Type::element(ScalarType::int64), what);
  }

  void buffer_slot(int slot) const {
    require(slot >= 0 && slot < k_.buffer_slots, "a buffer is not among the slots");
  }
  void scalar_slot(std::int64_t slot) const {
    require(slot >= 0 && slot < k_.scalar_slots, "a scalar is not among the slots");
  }

  void extent(const KernelExtent& e) const {
    using Kind = KernelExtent::Kind;
    switch (e.kind) {
      case Kind::constant:
        return;
      case Kind::uniform:
      case Kind::number:
        return scalar_slot(e.slot);
      case Kind::per_item:
        return buffer_slot(e.slot);
      case Kind::ragged:
        buffer_slot(e.slot);
        require(e.divisor_kind == Kind::constant || e.divisor_kind == Kind::uniform,
                "a divisor differs from item to item");
        if (e.divisor_kind == Kind::uniform) scalar_slot(e.divisor);
        return;
    }
  }

  void layout(const Layout& l, const char* what) const {
    require((l.form == Form::segmented) == (l.offsets >= 0), what);
    for (const KernelExtent& e : l.extents) extent(e);
    if (l.form == Form::segmented) buffer_slot(l.offsets);
  }

  void array(const KernelArray& a) const {
    require(a.extents.size() == static_cast<std::size_t>(a.type.rank),
            "an array has not one extent per dimension");
    layout(a, "exactly the segmented arrays have offsets");
    require(
        a.first_buffer >= 0 && a.first_buffer + static_cast<int>(a.type.scalars.size()) <= k_.buffer_slots,
        "an array lies outside the buffer slots");
  }

  void output(const KernelOutput& o) const {
    array(o.array);
    const auto types = stored_types(k_);
    require(o.first + o.array.type.scalars.size() <= types.size(),
            "an output stores components that there are not");
    for (std::size_t c = 0; c < o.array.type.scalars.size(); ++c)
      require(o.array.type.scalars[c] == types[o.first + c], "an output stores components of another type");
    switch (o.write) {
      case KernelOutput::Write::position:
        written_by_positions(o);
        return;
      case KernelOutput::Write::element:
        written_by_elements(o.array);
        return;
    }
  }

  void overwritten() const {
    for (std::size_t a = 0; a < k_.arrays.size(); ++a)
      if (k_.arrays[a].overwritten)
        require(may_overwrite(k_) && is_read_pointwise(k_, a),
                "an array is overwritten that is still to be read");
  }

  void written_by_positions(const KernelOutput& o) const {
    Layout layout = static_cast<const Layout&>(k_.domain);
    require(0 <= o.which && o.which < o.of, "an output is none of those of its position");
    if (o.of > 1) {
      require(layout.form != Form::segmented, "a segmented domain has several outputs in one array");
      KernelExtent extent;
      extent.value = o.of;
      layout.extents.push_back(extent);
    }
    require(static_cast<const Layout&>(o.array) == layout, "an output is not laid out like the domain");
  }

  void written_by_elements(const KernelArray& a) const {
    const bool may =
        std::visit(overloaded{[](const Map&) { return false; }, [](const Reduce&) { return false; },
                              [](const Scan&) { return true; }, [](const Recurrence&) { return true; }},
                   k_.form);
    require(may, "only scans and recurrences write an element for each of a row");
    std::vector<KernelExtent> extents = k_.domain.extents;
    const auto* scan = std::get_if<Scan>(&k_.form);
    const bool one_more = scan && scan->kind.prefixes == Prefixes::all;
    const std::size_t axis = scan && scan->axis ? static_cast<std::size_t>(*scan->axis) : extents.size();
    require(axis < a.extents.size(), "an output has no dimension for the rows");
    extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(axis),
                   one_more ? longer_rows(a.extents[axis]) : row_of(k_)->length);
    require(a.extents == extents, "an output of elements has other extents than the domain and its rows");
  }

  /// The length of rows that are one element longer than the kernel's: what the output says, unless that is wrong.
  KernelExtent longer_rows(const KernelExtent& said) const {
    KernelExtent length = row_of(k_)->length;
    if (length.kind != KernelExtent::Kind::constant) return said == length ? KernelExtent{} : said;
    ++length.value;
    return length;
  }

  void body(const std::vector<Ref>& roots, const Scope& scope, const char* what) const {
    for (const Ref& r : roots) {
      require(r->type().components() == 1, "a body gives several components at once");
      for (const Node* p : r->free()) require(scope.contains(p), what);
    }
    for (const Node* node : topological(roots)) {
      require(node->type().is_element() || node->op() == Op::lambda ||
                  (node->op() == Op::parameter && node->type().is_array()),
              "a body holds an array computation");
      require(node->op() != Op::shape, "a body holds a shape");
    }
  }

  /// `scope`: what its elements may mention beside their number.
  void row(const Row& r, const Scope& scope) const {
    require(static_cast<bool>(r.index), "rows need the parameter of their elements");
    int64_parameter(r.index, "the number of a row's element is no int64 parameter");
    extent(r.length);
    if (r.work_offsets >= 0) buffer_slot(r.work_offsets);
    Scope inside = scope;
    inside.insert(r.index.get());
    body(k_.body, inside, "the body mentions something unbound");
  }

  /// `first`: the elements' component that it begins with.
  void reduction(const Reduction& r, std::size_t first) const {
    require(r.left.size() == r.combine.size() && r.right.size() == r.combine.size(),
            "an operator's operands and results differ in components");
    require(r.seed.empty() || r.seed.size() == r.combine.size(), "seed and operator differ in components");
    require(first + r.combine.size() <= k_.body.size(), "operators and elements differ in components");
    Scope operands = shared_;
    for (const Ref& p : r.left) operands.insert(p.get());
    for (const Ref& p : r.right) operands.insert(p.get());
    body(r.combine, operands, "the operator mentions something unbound");
    body(r.seed, shared_, "the seed mentions something unbound");
    for (std::size_t c = 0; c < r.combine.size(); ++c)
      for (const Ref& part : {r.left[c], r.right[c], r.combine[c], r.seed.empty() ? r.left[c] : r.seed[c]})
        require(part->type() == k_.body[first + c]->type(),
                "an operator is of another type than the elements");
  }

  void scan(const Scan& form) const {
    row(form.row, shared_);
    reduction(form.reduction, 0);
    require(form.reduction.combine.size() == k_.body.size(), "operator and elements differ in components");
    require(!form.axis || (*form.axis >= 0 && *form.axis < static_cast<int>(k_.domain.extents.size())),
            "rows lie along no outer dimension");
    const bool totals = std::any_of(k_.outputs.begin(), k_.outputs.end(), [](const KernelOutput& o) {
      return o.write == KernelOutput::Write::position;
    });
    require(!form.reduction.seed.empty() || (form.kind.prefixes == Prefixes::inclusive && !totals),
            "an exclusive scan and the total of a row need a seed");
  }

  void recurrence(const Recurrence& form) const {
    Scope before = shared_;
    for (const Ref& p : form.state) before.insert(p.get());
    row(form.row, before);
    require(form.state.size() == k_.body.size() && form.initial.size() == k_.body.size(),
            "the states before and after an element differ in components");
    body(form.initial, shared_, "the first state mentions something unbound");
    for (std::size_t c = 0; c < k_.body.size(); ++c)
      require(form.state[c]->type() == k_.body[c]->type() && form.initial[c]->type() == k_.body[c]->type(),
              "the states before and after an element are of different types");
    for (const KernelOutput& o : k_.outputs)
      require(o.write == KernelOutput::Write::element, "a recurrence writes an element for each of a row");
  }

  void reduce(const Reduce& form) const {
    row(form.row, shared_);
    std::size_t components = 0;
    for (const Reduction& r : form.reductions) {
      reduction(r, components);
      components += r.combine.size();
      require(form.order != fold_order::OperatorClass::commutative || joins_in_lanes(r),
              "an operator is not commutative as the kernel says");
    }
    require(!form.reductions.empty() && components == k_.body.size(),
            "operators and elements differ in components");
    const auto first = std::find_if(k_.checks.begin(), k_.checks.end(),
                                    [](const Check& c) { return c.kind == Check::Kind::empty_fold; });
    require(all_seeded(form) == (first == k_.checks.end()),
            "exactly where a seed lacks there is a check for empty rows");
  }

  /// Is each component that primitive of the two operands which has a neutral element?
  static bool joins_in_lanes(const Reduction& r) {
    for (std::size_t c = 0; c < r.combine.size(); ++c) {
      const Node& node = *r.combine[c];
      if (node.op() != Op::primitive || !info(node.payload().primitive).identity) return false;
      const auto operands = PrimitiveTerm(node).operands();
      if (operands[0] != r.left[c] || operands[1] != r.right[c]) return false;
    }
    return true;
  }

  void epilogue() const {
    const Epilogue& e = k_.epilogue;
    require(e.body.empty() == e.results.empty(), "an epilogue needs parameters for the results");
    if (e.body.empty()) return;
    require(row_of(k_) != nullptr, "a kernel without rows has an epilogue");
    require(e.results.size() == k_.body.size(), "an epilogue has not one parameter for each result");
    Scope scope = shared_;
    for (std::size_t c = 0; c < e.results.size(); ++c) {
      require(e.results[c]->op() == Op::parameter && e.results[c]->type() == k_.body[c]->type(),
              "a parameter of an epilogue is of another type than the result");
      scope.insert(e.results[c].get());
    }
    scope.insert(row_of(k_)->index.get());
    body(e.body, scope, "the epilogue mentions something unbound");
    for (const Node* node : topological(e.body)) {
      const bool fails = (is_read(node->op()) && !Read(*node).in_bounds()) ||
                         (node->op() == Op::primitive && can_fail(*node));
      require(!fails && node->op() != Op::while_loop, "an epilogue may fail or not end");
    }
    by_position_only(e);
  }

  /// What is stored for a whole row knows no element's number.
  void by_position_only(const Epilogue& e) const {
    for (const KernelOutput& o : k_.outputs)
      for (std::size_t c = 0; c < o.array.type.scalars.size(); ++c)
        require(o.write == KernelOutput::Write::element ||
                    !mentions(*e.body[o.first + c], {&row_of(k_)->index, 1}),
                "what is stored for a row mentions one of its elements");
  }

  /// What can fail has its check, and each check its place.
  void checks() const {
    std::vector<Ref> roots = k_.body;
    for (const std::vector<Ref>* other : other_bodies(k_))
      roots.insert(roots.end(), other->begin(), other->end());
    std::unordered_set<const Node*> checked, found;
    for (const Check& check : k_.checks)
      if (check.kind != Check::Kind::empty_fold) checked.insert(check.node);
    for (const Node* node : topological(roots)) {
      const bool read = is_read(node->op()) && !Read(*node).in_bounds();
      const bool division = node->op() == Op::primitive && can_fail(*node);
      if (!read && !division) continue;
      require(checked.contains(node), "what can fail has no check");
      found.insert(node);
    }
    require(found.size() == checked.size(), "a check is of nothing that can fail");
  }

  const Kernel& k_;
  Scope shared_;  ///< what all bodies may mention
};

}  // namespace

void verify(const Kernel& k) { Verifier(k).run(); }

}  // namespace anabranch::kernel
