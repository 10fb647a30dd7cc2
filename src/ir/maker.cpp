#include "ir/maker.h"

#include <algorithm>

#include <fmt/format.h>

namespace anabranch::ir {

Ref Maker::make(Op op, Type type, std::vector<Ref> children, Payload payload, Place place,
                FreeParameters free) {
  return Ref(new Node(op, std::move(type), std::move(children), std::move(payload), place, std::move(free)));
}

Ref Maker::make_parameter(Type type, Place place) {
  auto free = std::make_shared<std::vector<const Node*>>(1, nullptr);
  Ref node = make(Op::parameter, std::move(type), {}, {}, place, free);
  (*free)[0] = node.get();
  return node;
}

void Maker::bind(const Node& parameter) { parameter.bound_.store(true, std::memory_order_relaxed); }

namespace making {

namespace {

const FreeParameters& nothing_free() {
  static const FreeParameters none = std::make_shared<const std::vector<const Node*>>();
  return none;
}

bool by_id(const Node* a, const Node* b) { return a->id() < b->id(); }

}  // namespace

FreeParameters free_of(std::span<const Ref> children) {
  FreeParameters all = nothing_free();
  for (const Ref& child : children) {
    const FreeParameters& mine = child->shared_free();
    if (mine == all || mine->empty()) continue;
    if (all->empty() || std::includes(mine->begin(), mine->end(), all->begin(), all->end(), by_id)) {
      all = mine;
    } else if (!std::includes(all->begin(), all->end(), mine->begin(), mine->end(), by_id)) {
      auto both = std::make_shared<std::vector<const Node*>>();
      std::set_union(all->begin(), all->end(), mine->begin(), mine->end(), std::back_inserter(*both), by_id);
      all = std::move(both);
    }
  }
  return all;
}

FreeParameters without(const FreeParameters& free, std::span<const Ref> parameters) {
  auto rest = std::make_shared<std::vector<const Node*>>();
  for (const Node* p : *free) {
    const bool mine =
        std::any_of(parameters.begin(), parameters.end(), [&](const Ref& q) { return q.get() == p; });
    if (!mine) rest->push_back(p);
  }
  return rest->empty() ? nothing_free() : FreeParameters(std::move(rest));
}

Ref scalar_node(Op op, Type type, std::vector<Ref> children, Payload payload, const Place& place) {
  FreeParameters free = free_of(children);
  return Maker::make(op, std::move(type), std::move(children), std::move(payload), place, std::move(free));
}

Ref collective(Op op, Type type, std::vector<Ref> children, Payload payload, const Place& place) {
  FreeParameters free = free_of(children);
  const char* name = payload.label ? payload.label.c_str() : name_of(op);
  for (const Node* parameter : *free) {
    if (!parameter->type().is_element()) continue;
    const std::string introduced = to_string(parameter->place());
    if (parameter->bound())
      refuse(place, name,
             fmt::format("an Exp is used outside the function whose parameter it depends on (introduced at "
                         "{}); it stands for one element, inside that function only. Let the function return "
                         "the value: map gives an array of them",
                         introduced));
    refuse(place, name,
           fmt::format("an array computation depends on a scalar parameter (introduced at {}): this would be "
                       "nested parallelism inside scalar code. Map a sequence over arrays (map_seq, produce) "
                       "instead, or compute the array outside the function",
                       introduced));
  }
  return Maker::make(op, std::move(type), std::move(children), std::move(payload), place, std::move(free));
}

Payload labelled(Symbol label) {
  Payload payload;
  payload.label = label;
  return payload;
}

void refuse(const Place& place, const char* what, const std::string& detail) {
  throw ProgramError(fmt::format("{}: {} ({})", what, detail, to_string(place)), place);
}

void require_present(std::span<const Ref> children, const Place& place, const char* what) {
  for (const Ref& child : children)
    require(static_cast<bool>(child), place, what, "an empty handle was given");
}

void require_type(const Type& got, const Type& wanted, const Place& place, const char* what) {
  require(got == wanted, place, what,
          [&] { return fmt::format("expects {}, got {}", to_string(wanted), to_string(got)); });
}

void require_lambda(const Ref& function, std::size_t parameters, std::size_t results, const Place& place,
                    const char* what) {
  require(function->op() == Op::lambda, place, what, "expects a function");
  require(
      function->parameters().size() == parameters && function->results().size() == results, place, what, [&] {
        return fmt::format("expects a function of {} parameters and {} results, got {} and {}", parameters,
                           results, function->parameters().size(), function->results().size());
      });
}

bool is_index_type(const Type& type, int rank) {
  return type.is_element() && type.components() == rank &&
         std::all_of(type.scalars.begin(), type.scalars.end(),
                     [](ScalarType s) { return s == ScalarType::int64; });
}

int shape_rank(const Ref& shape, const Place& place, const char* what) {
  const Type& type = shape->type();
  require(type.is_element() && type.components() <= 4 && is_index_type(type, type.components()), place, what,
          [&] {
            return fmt::format("expects a shape (int64 for each of 0 to 4 dimensions), got {}",
                               to_string(type));
          });
  return type.components();
}

}  // namespace making
}  // namespace anabranch::ir
