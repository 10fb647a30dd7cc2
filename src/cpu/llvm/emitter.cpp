#include "cpu/llvm/emitter.h"

#include <algorithm>

#include "ir/views.h"

namespace anabranch::cpu {
namespace {

/// A side of a divergent conditional that costs no more than this is computed by all lanes without a branch.
constexpr std::int64_t flatten_cost = 24;
/// The same for a conditional whose condition all lanes share, where a branch is cheaper.
constexpr std::int64_t select_cost = 4;

}  // namespace

Emitter::Emitter(Frame& f, const kernel::Kernel& kernel, const Machine& machine)
    : frame(f),
      b(f.b),
      kernel_(kernel),
      machine_(machine),
      known_gather_(machine.fetches_ahead ? kernel::known_gather(kernel) : std::nullopt) {
  frame.writes_in_place = kernel::writes_in_place(kernel);
  for (std::size_t i = 0; i < kernel.checks.size(); ++i)
    if (kernel.checks[i].node) checks_[kernel.checks[i].node] = static_cast<int>(i);
}

void Emitter::bind(const ir::Node& node, Values values) {
  Values& slot = environment_[&node];
  log_.emplace_back(&node, std::exchange(slot, std::move(values)));
}

void Emitter::undo(std::size_t mark) {
  while (log_.size() > mark) {
    auto& [node, hidden] = log_.back();
    if (hidden.empty())
      environment_.erase(node);
    else
      environment_[node] = std::move(hidden);
    log_.pop_back();
  }
}

Emitter::Bindings Emitter::made_since(std::size_t mark) const {
  Bindings out;
  for (std::size_t i = mark; i < log_.size(); ++i) out.emplace_back(log_[i].first, values(*log_[i].first));
  return out;
}

void Emitter::bind(const Bindings& bindings) {
  for (const auto& [node, values] : bindings) bind(*node, values);
}

Level Emitter::level_of(const ir::Node& node) const {
  Level level = Level::launch;
  for (const ir::Node* free : node.free()) {
    const auto found = levels_.find(free);
    level = std::max(level, found == levels_.end() ? Level::lane : found->second);
  }
  return level;
}

bool Emitter::varies(const ir::Node& node) const {
  if (width == 1) return false;
  for (const ir::Node* free : node.free()) {
    if (free->type().is_array()) {
      if (!views_.at(free).base.uniform()) return true;
      continue;
    }
    // Indices of a flat domain have no values; whatever depends on them differs from lane to lane.
    const auto known = environment_.find(free);
    if (known == environment_.end()) return true;
    for (const Value& value : known->second)
      if (!value.uniform()) return true;
  }
  return false;
}

void Emitter::emit_level(const Regions& regions, Level level) {
  for (const ir::Node* node : regions[0].nodes)
    if (level_of(*node) == level && !environment_.contains(node)) emit(regions, 0, *node);
}

void Emitter::emit_certain(const Regions& regions, Level level) {
  for (const ir::Node* node : regions[0].nodes)
    if (level_of(*node) == level && regions.is_total(*node) && !environment_.contains(node))
      emit(regions, 0, *node);
}

void Emitter::emit_region(const Regions& regions, int region) {
  // What is known already was computed further out because it is total.
  for (const ir::Node* node : regions[region].nodes)
    if (!environment_.contains(node)) emit(regions, region, *node);
}

void Emitter::emit(const Regions& regions, int region, const ir::Node& node) {
  switch (node.op().as<ir::ScalarOp>()) {
    case ir::Op::constant:
      return bind(node, {uniform(constant(node.type().scalars[0], node.payload().bits))});
    case ir::Op::primitive:
      if (!emit_assumed(node) && !emit_byte_word(node)) bind(node, {primitive(node)});
      return;
    case ir::Op::tuple: {
      Values all;
      for (const auto& child : node.children())
        for (const Value& v : values(*child)) all.push_back(v);
      return bind(node, std::move(all));
    }
    case ir::Op::project: {
      const Values& all = values(*ir::Project(node).value());
      const auto first = all.begin() + node.payload().first;
      return bind(node, Values(first, first + node.payload().count));
    }
    case ir::Op::cond:
      return bind(node, cond(regions, region, node));
    case ir::Op::while_loop:
      return bind(node, loop(regions, region, node));
    case ir::Op::index:
    case ir::Op::linear_index:
      return bind(node, read(node));
    case ir::Op::shape:
      break;
  }
  throw InternalError(std::string("kernel body: ") + name_of(node.op()) + " is not a scalar operation");
}

/// A primitive whose value follows from what is assumed.
bool Emitter::emit_assumed(const ir::Node& node) {
  if (!assumed) return false;
  const auto found = assumed->find(&node);
  if (found == assumed->end()) return false;
  const bool compares = ir::info(node.payload().primitive).boolean_result;
  bind(node, {compares ? uniform(b.getInt1(found->second != 0))
                       : value(node.children()[static_cast<std::size_t>(found->second)])});
  return true;
}

// Conditionals ----------------------------------------------------------------------------------------------

/// May the side be computed by all lanes, none of which need be active?
bool Emitter::flattens(const Regions& regions, int region) const {
  const Region& side = regions[region];
  if (side.cost > flatten_cost) return false;
  if (side.total) return true;
  if (!side.maskable) return false;
  for (const ir::Node* node : side.nodes) {
    // A read at one place for all lanes is an ordinary load; a conditional inside may hold one.
    if (node->op() == ir::Op::cond) return false;
    if (!is_read(node->op())) continue;
    // What is assumed may make an index the same for all lanes that depends on what differs.
    const auto index = environment_.find(ir::Read(*node).at().get());
    const bool differs = index == environment_.end()
                             ? !assumed && varies(*node)
                             : std::any_of(index->second.begin(), index->second.end(),
                                           [](const Value& v) { return !v.uniform(); });
    if (!differs) return false;
  }
  return true;
}

Values Emitter::cond(const Regions& regions, int region, const ir::Node& node) {
  const int inner = regions.inner(region, node);
  const Value condition = value(ir::Cond(node).condition());
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition.v); condition.uniform() && known)
    return known->isOne() ? side(regions, inner, *ir::Cond(node).then(), mask)
                          : side(regions, inner + 1, *ir::Cond(node).otherwise(), mask);
  return condition.uniform() ? uniform_cond(regions, inner, node, condition.v)
                             : divergent_cond(regions, inner, node, lanes(condition));
}

Values Emitter::uniform_cond(const Regions& regions, int inner, const ir::Node& node,
                             llvm::Value* condition) {
  const ir::Node& then = *ir::Cond(node).then();
  const ir::Node& otherwise = *ir::Cond(node).otherwise();
  const auto components = static_cast<std::size_t>(node.type().components());
  Values result(components);
  const auto is_cheap = [&](int side) { return regions[side].total && regions[side].cost <= select_cost; };
  if (is_cheap(inner) && is_cheap(inner + 1)) {
    const auto here = mark();
    emit_region(regions, inner);
    emit_region(regions, inner + 1);
    for (std::size_t c = 0; c < components; ++c) {
      const Value x = values(then)[c], y = values(otherwise)[c];
      if (x.uniform() && y.uniform())
        result[c] = uniform(b.CreateSelect(condition, x.v, y.v));
      else
        result[c] = varying(b.CreateSelect(condition, lanes(x), lanes(y)));
    }
    undo(here);
    return result;
  }
  llvm::BasicBlock* yes = frame.block("then");
  llvm::BasicBlock* no = frame.block("else");
  llvm::BasicBlock* join = frame.block("join");
  b.CreateCondBr(condition, yes, no);
  b.SetInsertPoint(yes);
  const Values x = side(regions, inner, then, mask);
  llvm::BasicBlock* yes_end = b.GetInsertBlock();
  b.SetInsertPoint(no);
  const Values y = side(regions, inner + 1, otherwise, mask);
  llvm::BasicBlock* no_end = b.GetInsertBlock();
  std::vector<std::pair<llvm::Value*, llvm::Value*>> incoming(components);
  std::vector<bool> same(components);
  for (std::size_t c = 0; c < components; ++c) {
    same[c] = x[c].uniform() && y[c].uniform();
    b.SetInsertPoint(yes_end);
    incoming[c].first = same[c] ? x[c].v : lanes(x[c]);
    b.SetInsertPoint(no_end);
    incoming[c].second = same[c] ? y[c].v : lanes(y[c]);
  }
  b.SetInsertPoint(yes_end);
  b.CreateBr(join);
  b.SetInsertPoint(no_end);
  b.CreateBr(join);
  b.SetInsertPoint(join);
  for (std::size_t c = 0; c < components; ++c) {
    llvm::PHINode* phi = b.CreatePHI(incoming[c].first->getType(), 2);
    phi->addIncoming(incoming[c].first, yes_end);
    phi->addIncoming(incoming[c].second, no_end);
    result[c] = same[c] ? uniform(phi) : varying(phi);
  }
  return result;
}

/// The values of one side, computed in place.
Values Emitter::side(const Regions& regions, int region, const ir::Node& result, llvm::Value* active) {
  const auto here = mark();
  llvm::Value* const outside = std::exchange(mask, active);
  emit_region(regions, region);
  Values out = values(result);
  mask = outside;
  undo(here);
  return out;
}

Values Emitter::divergent_cond(const Regions& regions, int inner, const ir::Node& node,
                               llvm::Value* condition) {
  const auto components = static_cast<std::size_t>(node.type().components());
  std::vector<llvm::Value*> sides[2];
  for (int s = 0; s < 2; ++s) {
    const ir::Node& value = s == 0 ? *ir::Cond(node).then() : *ir::Cond(node).otherwise();
    const int region = inner + s;
    auto& out = sides[s];
    if (regions[region].total && flattens(regions, region)) {
      for (const Value& v : side(regions, region, value, mask)) out.push_back(lanes(v));
      continue;
    }
    llvm::Value* active = s == 0 ? condition : b.CreateNot(condition);
    if (mask) active = b.CreateAnd(mask, active);
    if (flattens(regions, region)) {
      const bool outside = std::exchange(may_rest, true);
      for (const Value& v : side(regions, region, value, active)) out.push_back(lanes(v));
      may_rest = outside;
      continue;
    }
    llvm::BasicBlock* taken = frame.block(s == 0 ? "some_then" : "some_else");
    llvm::BasicBlock* join = frame.block("join");
    b.CreateCondBr(any(active), taken, join);
    llvm::BasicBlock* before = b.GetInsertBlock();
    b.SetInsertPoint(taken);
    for (const Value& v : side(regions, region, value, active)) out.push_back(lanes(v));
    llvm::BasicBlock* end = b.GetInsertBlock();
    b.CreateBr(join);
    b.SetInsertPoint(join);
    for (auto& v : out) {
      llvm::PHINode* phi = b.CreatePHI(v->getType(), 2);
      phi->addIncoming(v, end);
      phi->addIncoming(llvm::Constant::getNullValue(v->getType()), before);
      v = phi;
    }
  }
  Values result(components);
  for (std::size_t c = 0; c < components; ++c)
    result[c] = varying(b.CreateSelect(condition, sides[0][c], sides[1][c]));
  return result;
}

}  // namespace anabranch::cpu
