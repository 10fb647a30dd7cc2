#include <algorithm>

#include "ir/make.h"

namespace anabranch::ir {

namespace {

/// The parts of a node, over other children: one function for each stratum.
struct Rebuilt {
  const Node& node;
  std::vector<Ref> children;
  const Payload& p = node.payload();
  const Place& at = node.place();

  const Ref& child(std::size_t position) const { return children[position]; }
  std::vector<Ref> from(std::size_t position) const {
    return {children.begin() + static_cast<std::ptrdiff_t>(position), children.end()};
  }

  Ref make(ScalarOp op) {
    switch (op) {
      case Op::constant:
        return Ref(&node);
      case Op::primitive:
        if (p.primitive == Primitive::cast) return cast(node.type().scalars[0], child(0), at);
        if (p.primitive == Primitive::bitcast) return bitcast(node.type().scalars[0], child(0), at);
        return primitive(p.primitive, std::move(children), at);
      case Op::tuple:
        return tuple(std::move(children), at);
      case Op::project:
        return project(child(0), p.first, p.count, at);
      case Op::cond:
        return cond(child(0), child(1), child(2), at);
      case Op::while_loop:
        return while_loop(child(0), child(1), child(2), at);
      case Op::index:
        return index(child(0), child(1), at, p.in_bounds, p.label, p.injective);
      case Op::linear_index:
        return linear_index(child(0), child(1), at, p.in_bounds, p.label);
      case Op::shape:
        return shape(child(0), at);
    }
    return {};
  }

  Ref make(FunctionOp op) {
    switch (op) {
      case Op::parameter:
        return Ref(&node);
      case Op::lambda:
        return lambda({children.begin(), children.begin() + p.first}, from(static_cast<std::size_t>(p.first)),
                      at, p.label);
    }
    return {};
  }

  Ref make(ArrayOp op) {
    switch (op) {
      case Op::use:
        return Ref(&node);
      case Op::unit:
        return unit(child(0), at, p.label);
      case Op::generate:
        return generate(child(0), child(1), at, p.label);
      case Op::map:
        return map(child(0), from(1), at, p.label);
      case Op::fold:
        return fold(child(0), child(1), children.size() > 2 ? child(2) : Ref(), at, p.label, p.order);
      case Op::scan:
        return scan(child(0), child(1), children.size() > 2 ? child(2) : Ref(), p.scan, p.first, at, p.label);
      case Op::scan_state:
        return scan_state(child(0), child(1), child(2), at, p.label);
      case Op::backpermute:
        return backpermute(child(0), child(1), child(2), {.injective = p.injective, .in_bounds = p.in_bounds},
                           at, p.label);
      case Op::reshape:
        return reshape(child(0), child(1), at, p.label);
      case Op::consume:
        return consume(child(0), at);
      case Op::project_array:
        return project_array(child(0), p.first, at);
      case Op::awhile:
        return awhile(child(0), child(1), from(2), at, p.count);
      case Op::acond:
        return acond(child(0), child(1), child(2), at);
      case Op::part:
        return part(child(0), child(1), child(2), at, p.label, p.consecutive);
      case Op::sort:
        return sort(child(0), at, p.label);
      case Op::select:
        return select(child(0), child(1), child(2), at, p.label);
      case Op::group:
        return group(child(0), child(1), p.drops, at, p.label);
      case Op::last_at:
        return last_at(child(0), child(1), p.drops, at, p.label);
      case Op::accumulate:
        return accumulate(p.primitive, child(0), child(1), child(2), p.drops, at, p.label);
      case Op::repeat:
        return repeat(child(0), child(1), at, p.label);
      case Op::compute:
        return compute(child(0), at, p.label);
      case Op::trace:
        return trace(p.text, child(0), at, p.label);
    }
    return {};
  }

  Ref make(SourceOp op) {
    switch (op) {
      case Op::stream_in:
        return Ref(&node);
      case Op::produce:
        return produce(child(0), child(1), at, p.label);
      case Op::rows:
        return rows(child(0), at);
    }
    return {};
  }

  Ref make(SequenceOp op) {
    switch (op) {
      case Op::map_seq:
        return map_seq(child(0), from(1), at, p.label);
      case Op::project_seq:
        return project_seq(child(0), p.first, p.count, at);
      case Op::take_seq:
        return take_seq(child(0), child(1), at);
      case Op::filter_seq:
        return filter_seq(child(0), at);
      case Op::take_while_seq:
        return take_while_seq(child(0), at);
      case Op::drop_seq:
        return drop_seq(child(0), child(1), at);
      case Op::append_seq:
        return append_seq(from(0), at);
      case Op::flatten_seq:
        return flatten_seq(child(0), node.type().arrays, at);
      case Op::windows_seq:
        return windows_seq(child(0), child(1), from(2), at);
      case Op::map_accum_seq:
        return map_accum_seq(child(0), child(1), from(2), at, p.label);
    }
    return {};
  }

  Ref make(SinkOp op) {
    switch (op) {
      case Op::elements:
        return elements(child(0), at);
      case Op::tabulate:
        return tabulate(child(0), at);
      case Op::fold_seq:
        return fold_seq(child(0), child(1), child(2), at);
      case Op::fold_batch:
        return fold_batch(child(0), child(1), child(2), child(3), at);
      case Op::write:
        return write(child(0), p.sink, at);
    }
    return {};
  }
};

}  // namespace

Ref rebuild(const Ref& node, std::vector<Ref> children) {
  if (std::equal(children.begin(), children.end(), node->children().begin(), node->children().end()))
    return node;
  Rebuilt rebuilt{*node, std::move(children)};
  return node->op().visit([&](auto op) { return rebuilt.make(op); });
}

}  // namespace anabranch::ir
