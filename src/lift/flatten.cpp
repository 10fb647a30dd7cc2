#include "lift/flatten.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/simplify.h"
#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::lift {

using namespace ir;

namespace {

const Type one_number = Type::element(ScalarType::int64);

Ref add(const Ref& a, const Ref& b) { return primitive(Primitive::add, {a, b}); }
Ref subtract(const Ref& a, const Ref& b) { return primitive(Primitive::subtract, {a, b}); }
Ref times(const Ref& a, const Ref& b) { return primitive(Primitive::multiply, {a, b}); }
Ref least(const Ref& a, const Ref& b) { return primitive(Primitive::minimum, {a, b}); }
Ref less(const Ref& a, const Ref& b) { return primitive(Primitive::less, {a, b}); }
Ref read(const Ref& vector, const Ref& at) { return index(vector, at, {}, true); }
Ref the(const Ref& scalar) { return index(scalar, tuple({}), {}, true); }

template <class F>
Ref function_of(const Type& type, F&& f) {
  const Ref x = parameter(type);
  return lambda({x}, {f(x)});
}
Ref operator_of(Primitive primitive) {
  const Ref x = parameter(one_number), y = parameter(one_number);
  return lambda({x, y}, {ir::primitive(primitive, {x, y})});
}
/// A vector of numbers.
template <class F>
Ref numbers(const Ref& length, F&& f) {
  return generate(length, function_of(one_number, f));
}
Ref sum_of(const Ref& vector) { return fold(operator_of(Primitive::add), vector, int64(0)); }
/// What comes before each element; and the sum of all.
struct Sums {
  Ref before, total;
};
Sums sums_of(const Ref& vector) {
  const Ref both = scan(operator_of(Primitive::add), vector, int64(0), {Prefixes::exclusive});
  return {project_array(both, 0), the(project_array(both, 1))};
}

/// May computing the array fail, where those that it is computed from are there?
bool fails_itself(const Node& array) {
  const auto function_fails = [](const Ref& function) {
    return std::any_of(function->results().begin(), function->results().end(), may_fail);
  };
  if (array.op() == Op::use || array.op() == Op::project_array) return false;
  if (array.op() == Op::unit) return may_fail(Unit(array).value());
  if (array.op() == Op::map) return function_fails(Map(array).function());
  if (array.op() == Op::generate)
    return Generate(array).shape()->op() != Op::constant || function_fails(Generate(array).function());
  return true;  // for all that is known here
}

/// How many items the inner sequence has, as a term of the outer stage; negative where that is an error.
Ref count_of(const Outer& outer, const Stage& inner) {
  Ref count;
  const auto bound = [&](const Ref& by) { count = count ? least(count, by) : by; };
  for (const StageSource& source : inner.sources)
    bound(source.node->op() == Op::produce ? Produce(source.node).count()
                                           : extent(Rows(source.node).array(), 0));
  for (const ItemBound& each : inner.bounds) bound(each.count);
  return outer.simplified(count);
}

/// What programs of all items of a chunk are made with.
class Flattener {
 public:
  Flattener(const Outer& outer, Nested& nested) : outer_(outer), nested_(nested) {
    n_ = the(add_parameter(Type::array(0, {ScalarType::int64})));
    for (const Ref& array : nested.computed) computed_.insert(array.get());
  }

 protected:
  // ---- What the program is given

  Ref add_parameter(Type type) {
    nested_.body.program.parameters.push_back(parameter(std::move(type)));
    return nested_.body.program.parameters.back();
  }
  const Facts& facts(const Ref& lifted) const { return outer_.program.facts_of(lifted); }
  bool avoided(const Ref& lifted) const { return facts(lifted).form == Form::avoided; }

  /// An array of the outer stage: as it is if it is avoided, else as the vector of all items' elements.
  Ref input(const Ref& array) { return input_lifted(outer_.lifted(array)); }
  Ref input_lifted(const Ref& lifted) {
    Ref& known = inputs_[lifted.get()];
    if (!known) {
      nested_.body.captured.push_back(lifted);
      known = add_parameter(avoided(lifted) ? lifted->type() : Type::array(1, lifted->type().scalars));
    }
    return known;
  }

  /// A term of the outer stage in item p, which is not asked for if it is the same in all.
  Ref term_at(const Ref& term, const Ref& p) {
    if (term->op() == Op::constant) return term;
    kept_.push_back(term);
    Ref& known = terms_[term.get()];
    if (!known) known = input(unit(term));
    return known->type().rank == 0 ? the(known) : read(known, p);
  }
  std::vector<Ref> terms_at(std::span<const Ref> terms, const Ref& p) {
    std::vector<Ref> out;
    for (const Ref& term : terms) out.push_back(term_at(term, p));
    return out;
  }

  /// Where item p begins in the vector of all items of arrays with these extents.
  Ref begin_of(const std::vector<Ref>& extents, const Ref& p) {
    if (std::all_of(extents.begin(), extents.end(), outer_.uniform))
      return times(p, product(terms_at(extents, p)));
    std::vector<const Node*> key;
    for (const Ref& e : extents) key.push_back(e.get());
    std::sort(key.begin(), key.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
    Ref& begins = begins_[std::move(key)];
    if (!begins)
      begins = sums_of(numbers(n_, [&](const Ref& item) { return product(terms_at(extents, item)); })).before;
    return read(begins, p);
  }

  /// An array of the outer stage, as item p has it.
  Ref view(const Ref& array, const Ref& p) {
    const Ref lifted = outer_.lifted(array);
    Ref all = input_lifted(lifted);
    if (avoided(lifted)) return all;
    const std::vector<Ref>& extents = facts(lifted).extents;
    if (extents.empty()) return unit(read(all, p), array->place());
    return part(tuple(terms_at(extents, p)), all, begin_of(extents, p), array->place(),
                Symbol::of_static(array->label()));
  }

  // ---- Functions of one item as functions of its number

  /// What is the outer stage's, as it is found in what terms mention: arrays that are read, and shapes of those of which
  /// only the extents are asked for. Of what the sides of branches mention only what the stage computes besides.
  struct Mentioned {
    std::vector<Ref> arrays, shapes;
  };
  Mentioned find_outer(std::vector<Ref> open, bool side) const {
    const auto is_outer = [&](const Node& node) {
      return std::all_of(node.free().begin(), node.free().end(), [&](const Node* p) {
        return is_among(outer_.stage.items, p) || is_among(outer_.program.parameters, p);
      });
    };
    Mentioned found;
    NodeSet seen;
    std::vector<Ref> sides;
    const auto visit = [&](const Ref& node, bool in_side) {
      const auto is_there = [&](const Node& array) {
        if (!is_outer(array)) return false;
        if (array.op() == Op::parameter || computed_.contains(&array)) return true;
        return !in_side && is_planned(array);
      };
      if (node->type().is_array() && !node->op().is_a<SinkOp>() && is_there(*node)) {
        found.arrays.push_back(node);
      } else if (node->op() == Op::shape && is_there(*ShapeOf(*node).array())) {
        found.shapes.push_back(node);
      } else if (node->op() == Op::acond) {
        each_operand(*node, [&](const Operand& how, const Ref& operand) {
          (how.role == Role::function ? sides : open).push_back(operand);
        });
      } else {
        open.insert(open.end(), node->children().begin(), node->children().end());
      }
    };
    const auto walk = [&](bool in_side) {
      while (!open.empty()) {
        const Ref node = std::move(open.back());
        open.pop_back();
        if (seen.insert(node.get()).second) visit(node, in_side);
      }
    };
    walk(side);
    while (!sides.empty()) {
      open = std::exchange(sides, {});
      walk(true);
    }
    const auto by_id = [](const Ref& a, const Ref& b) { return a->id() < b->id(); };
    std::sort(found.arrays.begin(), found.arrays.end(), by_id);
    std::sort(found.shapes.begin(), found.shapes.end(), by_id);
    return found;
  }

  /// Does the stage have the results of all sequences, loops and branches that the array is computed from? Joining the
  /// functions of inner sequences may make others.
  bool is_planned(const Node& array) const { return all_planned(Ref(&array), computed_); }

  /// These terms, with item p's arrays in the place of the outer stage's.
  std::vector<Ref> of_item(std::span<const Ref> terms, const Ref& p, bool side,
                           std::span<const std::pair<Ref, Ref>> images) {
    Rewriter rewriter([](const Ref&, const Ref& rebuilt) { return rebuilt; });
    const Mentioned mentioned = find_outer({terms.begin(), terms.end()}, side);
    for (const Ref& array : mentioned.arrays) rewriter.set(array, view(array, p));
    for (const Ref& shape : mentioned.shapes) {
      const Ref lifted = outer_.lifted(ShapeOf(shape).array());
      rewriter.set(shape, tuple(terms_at(facts(lifted).extents, p), shape->place()));
    }
    for (const auto& [from, to] : images) rewriter.set(from, to);
    std::vector<Ref> results;
    for (const Ref& term : terms) results.push_back(rewriter(term));
    return results;
  }

  /// Arrays of each of `count` items, in one pass: f gives them of an item's number.
  template <class F>
  std::vector<Ref> of_each(const Ref& count, F&& f) {
    const Ref number = parameter(Type::array(0, {ScalarType::int64}));
    const std::vector<Ref> arrays = f(the(number));
    const Ref items = produce(count, lambda({number}, arrays));
    std::vector<Ref> out;
    for (int i = 0; i < static_cast<int>(arrays.size()); ++i)
      out.push_back(consume(elements(arrays.size() == 1 ? items : project_seq(items, i, 1))));
    return out;
  }

  /// An array and those of its extents that are not known.
  static void add_with_extents(std::vector<Ref>& arrays, const Ref& array, const std::vector<Ref>& known) {
    arrays.push_back(array);
    for (std::size_t d = 0; d < known.size(); ++d)
      if (!known[d]) arrays.push_back(unit(component(shape(array), static_cast<int>(d))));
  }

  /// Arrays of some of the stage's items, which lie one after the other, and their extents.
  class Items {
   public:
    Ref elements;
    std::vector<Ref> extents;  ///< per dimension, a vector; null where it is known

    /// Takes from `from` what add_with_extents put there. The k-th of `count` belongs to item `number(k)` of the stage.
    Items(Flattener& of, std::span<const Ref>& from, const std::vector<Ref>& known, const Ref& count,
          std::function<Ref(const Ref& k)> number)
        : elements(from[0]), of_(of), known_(known), number_(std::move(number)) {
      from = from.subspan(1);
      for (const Ref& e : known) {
        extents.push_back(e ? Ref() : from[0]);
        if (!e) from = from.subspan(1);
      }
      if (!of_one_shape())
        begins_ = sums_of(numbers(count, [&](const Ref& k) { return product(shape_at(k)); })).before;
    }
    /// `certain`: k is the number of one of them.
    Ref begin(const Ref& k, bool certain = true) const {
      return begins_ ? index(begins_, k, {}, certain) : times(k, product(shape_at(k)));
    }
    Ref at(const Ref& k) const {
      if (extents.empty()) return unit(read(elements, k));
      return part(tuple(shape_at(k)), elements, begin(k));
    }

   private:
    bool of_one_shape() const {
      return std::all_of(known_.begin(), known_.end(),
                         [&](const Ref& e) { return e && of_.outer_.uniform(e); });
    }
    /// Its terms do not mention k where all are of one shape.
    std::vector<Ref> shape_at(const Ref& k) const {
      std::vector<Ref> out;
      for (std::size_t d = 0; d < extents.size(); ++d)
        out.push_back(extents[d] ? read(extents[d], k)
                                 : of_.term_at(known_[d], of_.outer_.uniform(known_[d]) ? k : number_(k)));
      return out;
    }

    Flattener& of_;
    const std::vector<Ref>& known_;
    std::function<Ref(const Ref&)> number_;
    Ref begins_;  ///< a vector; null where all are of one shape
  };

  int add_result(Ref result) {
    results_.push_back(std::move(result));
    return static_cast<int>(results_.size()) - 1;
  }

  const Outer& outer_;
  Nested& nested_;
  Ref n_;  ///< items of the outer stage
  std::vector<Ref> results_;

 private:
  NodeSet computed_;
  NodeMap<Ref> inputs_, terms_;
  std::vector<Ref> kept_;  // while an address is a key
  std::map<std::vector<const Node*>, Ref> begins_;
};

/// The items of all inner sequences are those of one stage.
class FlatSequence : Flattener {
 public:
  FlatSequence(const Outer& outer, Nested& nested, const KnownExtents& known)
      : Flattener(outer, nested), inner_(nested.inner[0]), known_(known) {}

  std::vector<Ref> run() {
    const Ref count = count_of(outer_, inner_);
    const Node& source = *inner_.sources[0].node;
    if (outer_.uniform(count)) {
      same_count_ = term_at(count, {});
      total_ = times(n_, primitive(Primitive::maximum, {same_count_, int64(0)}));
    } else {
      counts_ = input(unit(count));
      total_ = the(sum_of(counts_));
      starts_ = sums_of(counts_).before;
      parents_ = repeat(total_, counts_, source.place(), Symbol::of_static(source.label()));
    }
    for (const Stage::Sink& sink : inner_.sinks) plan(sink);
    const std::vector<Ref> found = of_each(total_, [&](const Ref& j) { return arrays_of(j); });
    for (std::size_t s = 0; s < inner_.sinks.size(); ++s) finish(inner_.sinks[s], wanted_[s], found);
    return std::move(results_);
  }

 private:
  Ref first_of(const Ref& p) { return same_count_ ? times(p, same_count_) : read(starts_, p); }
  Ref count_at(const Ref& p) { return same_count_ ? same_count_ : read(counts_, p); }
  Ref parent_of(const Ref& j) {
    if (!same_count_) return read(parents_, j);
    return primitive(Primitive::divide, {j, primitive(Primitive::maximum, {same_count_, int64(1)})});
  }

  /// Item q of the source.
  Ref item_of(const StageSource& source, const Ref& p, const Ref& q) {
    if (source.node->op() == Op::produce) return unit(q);
    const Ref& array = Rows(source.node).array();
    const Ref lifted = outer_.lifted(array);
    const Ref all = input_lifted(lifted);
    const std::vector<Ref>& extents = facts(lifted).extents;
    const std::vector<Ref> inner = terms_at(std::span(extents).subspan(1), p);
    if (avoided(lifted)) {
      if (inner.empty()) return unit(read(all, q));
      const Ref to = tuple(inner);
      return backpermute(to, function_of(to->type(), [&](const Ref& ix) { return tuple({q, ix}); }), all,
                         {.injective = true, .in_bounds = true}, array->place());
    }
    const Ref begin = add(begin_of(extents, p), times(q, product(inner)));
    if (inner.empty()) return unit(read(all, begin));
    return part(tuple(inner), all, begin, array->place(), Symbol::of_static(array->label()));
  }

  /// What is needed of a sink's array: where it stands among the arrays of an item, and which of its extents do.
  struct Wanted {
    std::size_t array = 0;
    std::vector<std::pair<int, std::size_t>> extents{};  ///< dimension (-1: all together), where
  };

  void plan(const Stage::Sink& sink) {
    Wanted wanted;
    wanted.array = arrays_++;
    const std::vector<Ref> known = extents_of_sink(outer_, inner_, sink, known_);
    if (sink.kind == SinkOp::elements) {
      if (!known[0]) wanted.extents.emplace_back(-1, arrays_++);
    } else {
      for (std::size_t d = 1; d < known.size(); ++d)
        if (!known[d]) wanted.extents.emplace_back(static_cast<int>(d), arrays_++);
    }
    wanted_.push_back(std::move(wanted));
  }

  /// The inner stage's, of item j.
  std::vector<Ref> results_of(const Ref& j) {
    const Ref p = parent_of(j), q = subtract(j, first_of(p));
    std::vector<std::pair<Ref, Ref>> images;
    for (const StageSource& source : inner_.sources)
      images.emplace_back(inner_.items[static_cast<std::size_t>(source.first)], item_of(source, p, q));
    return of_item(inner_.results, p, false, images);
  }

  /// What sinks take of them, with the extents that are wanted.
  std::vector<Ref> arrays_of(const Ref& j) {
    const std::vector<Ref> results = results_of(j);
    std::vector<Ref> arrays;
    for (std::size_t s = 0; s < inner_.sinks.size(); ++s) {
      const Ref& array = results[static_cast<std::size_t>(inner_.sinks[s].result)];
      arrays.push_back(array);
      for (const auto& [d, where] : wanted_[s].extents)
        arrays.push_back(unit(d < 0 ? product(components(shape(array))) : component(shape(array), d - 1)));
    }
    return arrays;
  }

  void finish(const Stage::Sink& sink, const Wanted& wanted, const std::vector<Ref>& found) {
    const auto rank = static_cast<std::size_t>(sink.consume->type().rank);
    Nested::Result out{sink.consume, 0, std::vector<int>(rank, -1)};
    if (wanted.extents.empty()) {
      out.elements = add_result(found[wanted.array]);
    } else if (sink.kind == SinkOp::elements) {
      out.elements = add_result(found[wanted.array]);
      out.extents[0] = add_result(sums_of_items(found[wanted.extents[0].second]));
    } else {
      trim(sink, wanted, found, out);
    }
    nested_.results.push_back(std::move(out));
  }

  /// Per outer item, of a number for each inner one.
  Ref sums_of_items(const Ref& sizes) {
    const Sums sums = sums_of(sizes);
    const auto before = [&](const Ref& j) {
      return cond(less(j, total_), index(sums.before, j), sums.total);
    };
    return numbers(n_, [&](const Ref& p) {
      const Ref first = first_of(p);
      return subtract(before(add(first, count_at(p))), before(first));
    });
  }

  /// Items of one outer item are cut to their least extents.
  void trim(const Stage::Sink& sink, const Wanted& wanted, const std::vector<Ref>& found,
            Nested::Result& out) {
    std::vector<Ref> least_extents(out.extents.size());  // vectors
    for (const auto& [d, where] : wanted.extents) {
      const Ref& all = found[where];
      const Ref least = of_each(n_, [&](const Ref& p) {
        const Ref first = first_of(p), count = count_at(p);
        const Ref own = numbers(count, [&](const Ref& q) { return read(all, add(first, q)); });
        const Ref minimum = the(fold(operator_of(Primitive::minimum), own, int64(INT64_MAX)));
        return std::vector{unit(cond(less(int64(0), count), minimum, int64(0)))};
      })[0];
      least_extents[static_cast<std::size_t>(d)] = least;
      out.extents[static_cast<std::size_t>(d)] = add_result(least);
    }
    const auto result = static_cast<std::size_t>(sink.result);
    out.elements = add_result(of_each(total_, [&](const Ref& j) {
      const Ref array = results_of(j)[result];
      const Ref p = parent_of(j);
      std::vector<Ref> extents;
      for (std::size_t d = 1; d < least_extents.size(); ++d)
        extents.push_back(least_extents[d] ? read(least_extents[d], p)
                                           : component(shape(array), static_cast<int>(d) - 1));
      const Ref to = tuple(extents);
      return std::vector{backpermute(to, function_of(to->type(), [](const Ref& ix) { return ix; }), array,
                                     {.injective = true, .in_bounds = true})};
    })[0]);
  }

  const Stage& inner_;
  const KnownExtents& known_;
  Ref same_count_;                 ///< of the inner sequences, where all have as many items; else
  Ref counts_, starts_, parents_;  ///< vectors: per item of the outer stage, and the last one of the inner
  Ref total_;
  std::size_t arrays_ = 0;
  std::vector<Wanted> wanted_;
};

/// A mask of items, and the numbers of those where it holds and of the others.
struct Chosen {
  Ref holds_count, other_count;
  Ref holds, others;

  Chosen(const Ref& mask, const Ref& n) {
    const Ref ones = map(function_of(Type::element(ScalarType::boolean),
                                     [](const Ref& b) { return cast(ScalarType::int64, b); }),
                         {mask});
    holds_count = the(sum_of(ones));
    other_count = subtract(n, holds_count);
    const Ref all = numbers(n, [](const Ref& i) { return i; });
    const Ref other_mask =
        map(function_of(Type::element(ScalarType::boolean),
                        [](const Ref& b) { return primitive(Primitive::logical_not, {b}); }),
            {mask});
    holds = select(holds_count, mask, all);
    others = select(other_count, other_mask, all);
  }
};

/// Each side of a branch runs for those items that take it.
class FlatBranch : Flattener {
 public:
  FlatBranch(const Outer& outer, Nested& nested, const KnownExtents& known)
      : Flattener(outer, nested), known_(known) {}

  std::vector<Ref> run() {
    const Acond branch(nested_.control);
    const Ref condition = outer_.lifted(unit(branch.condition()));
    const Ref given = input_lifted(condition);
    const Ref mask = avoided(condition)
                         ? generate(n_, function_of(one_number, [&](const Ref&) { return the(given); }))
                         : given;
    const Chosen chosen(mask, n_);
    const auto side = [&](const Ref& function, const Ref& count, const Ref& items) {
      bool guarded = false;
      std::vector<Ref> made = of_each(count, [&](const Ref& k) {
        std::vector<Ref> arrays;
        const std::vector<Ref> results = of_item(function->results(), read(items, k), true, {});
        guarded = fails_without_items(results);
        for (std::size_t i = 0; i < results.size(); ++i) add_with_extents(arrays, results[i], known_[i]);
        return arrays;
      });
      return guarded ? where_any(count, made) : made;
    };
    const std::vector<Ref> then = side(branch.then(), chosen.holds_count, chosen.holds);
    const std::vector<Ref> otherwise = side(branch.otherwise(), chosen.other_count, chosen.others);
    // How many items before take `then`: its number among those.
    const Ref before =
        sums_of(numbers(n_, [&](const Ref& p) { return cast(ScalarType::int64, read(mask, p)); })).before;
    std::span<const Ref> of_then(then), of_otherwise(otherwise);
    for (std::size_t i = 0; i < known_.size(); ++i) {
      const Items taken(*this, of_then, known_[i], chosen.holds_count,
                        [&](const Ref& k) { return read(chosen.holds, k); });
      const Items other(*this, of_otherwise, known_[i], chosen.other_count,
                        [&](const Ref& k) { return read(chosen.others, k); });
      join(i, mask, before, taken, other);
    }
    return std::move(results_);
  }

 private:
  /// Is there something that is the same for all items, and so computed even if there is none, which may fail?
  bool fails_without_items(std::span<const Ref> arrays) const {
    const std::vector<Ref>& given = nested_.body.program.parameters;
    const std::vector<const Node*> nodes = topological(arrays);
    return std::any_of(nodes.begin(), nodes.end(), [&](const Node* node) {
      return node->op().is_a<ArrayOp>() && fails_itself(*node) &&
             std::all_of(node->free().begin(), node->free().end(),
                         [&](const Node* p) { return is_among(given, p); });
    });
  }

  /// These vectors, if there is an item, else empty ones.
  static std::vector<Ref> where_any(const Ref& count, const std::vector<Ref>& vectors) {
    std::vector<Ref> empty, out;
    for (const Ref& vector : vectors)
      empty.push_back(
          use(anabranch::detail::allocate_array(vector->type().scalars, std::vector<std::int64_t>{0})));
    const Ref all = acond(less(int64(0), count), lambda({}, vectors), lambda({}, empty));
    for (std::size_t i = 0; i < vectors.size(); ++i) out.push_back(project_array(all, static_cast<int>(i)));
    return out;
  }

  void join(std::size_t which, const Ref& mask, const Ref& before, const Items& taken, const Items& other) {
    const auto number_in = [&](const Ref& p) {
      return std::pair(read(before, p), subtract(p, read(before, p)));
    };
    const auto choose = [&](const Ref& p, const Ref& a, const Ref& b) { return cond(read(mask, p), a, b); };
    const std::vector<Ref>& known = known_[which];
    Nested::Result out{project_array(nested_.control, static_cast<int>(which)), 0,
                       std::vector<int>(known.size(), -1)};
    std::vector<Ref> extents(known.size());  // vectors
    for (std::size_t d = 0; d < known.size(); ++d) {
      if (known[d]) continue;
      extents[d] = numbers(n_, [&](const Ref& p) {
        const auto [t, o] = number_in(p);
        return choose(p, index(taken.extents[d], t), index(other.extents[d], o));
      });
      out.extents[d] = add_result(extents[d]);
    }
    out.elements = add_result(of_each(n_, [&](const Ref& p) {
      const auto [t, o] = number_in(p);
      if (extents.empty())
        return std::vector{unit(choose(p, index(taken.elements, t), index(other.elements, o)))};
      std::vector<Ref> own;
      for (std::size_t d = 0; d < known.size(); ++d)
        own.push_back(known[d] ? term_at(known[d], p) : read(extents[d], p));
      const Ref begin = choose(p, taken.begin(t, false), other.begin(o, false));
      const Ref length = product(own);
      return std::vector{generate(length, function_of(one_number, [&](const Ref& i) {
                                    const Ref at = add(begin, i);
                                    return choose(p, index(taken.elements, at), index(other.elements, at));
                                  }))};
    })[0]);
    nested_.results.push_back(std::move(out));
  }

  const KnownExtents& known_;
};

/// A loop over the items that are still active: a loop whose state are their numbers and arrays. What becomes of an item
/// is collected in the round in which it ends.
class FlatLoop : Flattener {
 public:
  FlatLoop(const Outer& outer, Nested& nested, const KnownExtents& known)
      : Flattener(outer, nested), known_(known) {}

  std::vector<Ref> run() {
    const Awhile loop(nested_.control);
    const std::vector<Ref> start = first_state(loop);

    std::vector<Ref> parameters;
    for (const Ref& array : start) parameters.push_back(parameter(array->type()));
    const Ref is_active = unit(less(int64(0), extent(parameters[0], 0)));
    std::vector<Ref> own_parameters;
    for (const Ref& array : start) own_parameters.push_back(parameter(array->type()));
    const std::vector<Ref> next = round(loop, own_parameters);
    const Ref all = awhile(lambda(parameters, {is_active}), lambda(own_parameters, next), start,
                           nested_.control->place(), static_cast<int>(start.size()));
    std::vector<Ref> ended;
    for (std::size_t i = 0; i < start.size(); ++i)
      ended.push_back(project_array(all, static_cast<int>(start.size() + i)));
    in_order(ended);
    return std::move(results_);
  }

 private:
  /// All items' numbers, and their arrays with the extents that are not known.
  std::vector<Ref> first_state(const Awhile& loop) {
    std::vector<Ref> out{numbers(n_, [](const Ref& i) { return i; })};
    for (std::size_t i = 0; i < known_.size(); ++i) {
      const Ref lifted = outer_.lifted(loop.state()[i]);
      const Ref given = input_lifted(lifted);
      out.push_back(avoided(lifted) ? of_each(n_, [&](const Ref&) { return std::vector{given}; })[0] : given);
      for (std::size_t d = 0; d < known_[i].size(); ++d)
        if (!known_[i][d])
          out.push_back(numbers(n_, [&](const Ref& p) { return term_at(facts(lifted).extents[d], p); }));
    }
    return out;
  }

  /// What is in a state: the numbers of items, then their arrays.
  std::vector<Items> items_of(std::span<const Ref> state) {
    std::vector<Items> out;
    const Ref& numbers = state[0];
    std::span<const Ref> rest = state.subspan(1);
    for (const std::vector<Ref>& known : known_)
      out.push_back(
          Items(*this, rest, known, extent(numbers, 0), [=](const Ref& k) { return read(numbers, k); }));
    return out;
  }

  /// A function of the state, of item k of the active ones.
  std::vector<Ref> applied(const Ref& function, const Ref& active, const std::vector<Items>& items,
                           const Ref& k) {
    std::vector<std::pair<Ref, Ref>> images;
    for (std::size_t i = 0; i < items.size(); ++i)
      images.emplace_back(function->parameters()[i], items[i].at(k));
    return of_item(function->results(), read(active, k), false, images);
  }

  /// The next state, then what is collected.
  std::vector<Ref> round(const Awhile& loop, const std::vector<Ref>& state) {
    const Ref& active = state[0];
    const std::vector<Items> items = items_of(state);
    const Ref n = extent(active, 0);
    const Ref mask = of_each(n, [&](const Ref& k) { return applied(loop.predicate(), active, items, k); })[0];
    const Chosen chosen(mask, n);
    const auto numbers_of = [&](const Ref& count, const Ref& which) {
      return numbers(count, [&](const Ref& i) { return read(active, read(which, i)); });
    };
    std::vector<Ref> out{numbers_of(chosen.holds_count, chosen.holds)};
    for (Ref& array : of_each(chosen.holds_count, [&](const Ref& i) {
           std::vector<Ref> arrays;
           const std::vector<Ref> results = applied(loop.body(), active, items, read(chosen.holds, i));
           for (std::size_t a = 0; a < results.size(); ++a) add_with_extents(arrays, results[a], known_[a]);
           return arrays;
         }))
      out.push_back(std::move(array));
    out.push_back(numbers_of(chosen.other_count, chosen.others));
    for (Ref& array : of_each(chosen.other_count, [&](const Ref& i) {
           std::vector<Ref> arrays;
           for (std::size_t a = 0; a < items.size(); ++a)
             add_with_extents(arrays, items[a].at(read(chosen.others, i)), known_[a]);
           return arrays;
         }))
      out.push_back(std::move(array));
    return out;
  }

  /// What has been collected, in the order of the items.
  void in_order(const std::vector<Ref>& ended) {
    const Ref where = project_array(sort(ended[0]), 1);
    const std::vector<Items> items = items_of(ended);
    for (std::size_t i = 0; i < items.size(); ++i) {
      Nested::Result out{project_array(nested_.control, static_cast<int>(i)), 0,
                         std::vector<int>(items[i].extents.size(), -1)};
      for (std::size_t d = 0; d < items[i].extents.size(); ++d)
        if (!known_[i][d])
          out.extents[d] = add_result(
              numbers(n_, [&](const Ref& p) { return read(items[i].extents[d], read(where, p)); }));
      out.elements =
          add_result(of_each(n_, [&](const Ref& p) { return std::vector{items[i].at(read(where, p))}; })[0]);
      nested_.results.push_back(std::move(out));
    }
  }

  const KnownExtents& known_;
};

}  // namespace

bool all_planned(const Ref& term, const NodeSet& computed) {
  const auto enter = [&](const Node& node) { return !computed.contains(&node); };
  const std::vector<const Node*> nodes = topological({&term, 1}, enter);
  return std::all_of(nodes.begin(), nodes.end(), [&](const Node* node) {
    return (node->op() != Op::consume && !has_bodies(node->op())) || computed.contains(node);
  });
}

std::vector<Ref> extents_of_sink(const Outer& outer, const Stage& inner, const Stage::Sink& sink,
                                 const KnownExtents& known) {
  const std::vector<Ref>& item = known[static_cast<std::size_t>(sink.result)];
  const Ref count = count_of(outer, inner);
  std::vector<Ref> extents;
  switch (sink.kind) {
    case SinkOp::elements: {
      const bool all =
          std::all_of(item.begin(), item.end(), [](const Ref& e) { return static_cast<bool>(e); });
      if (!all) {
        extents.emplace_back();
        break;
      }
      // Where there are no items nothing is asked of their extents.
      const Ref size = product(item);
      const Ref elements = times(count, size);
      extents.push_back(
          outer.simplified(may_fail(size) ? cond(less(int64(0), count), elements, count) : elements));
      break;
    }
    case SinkOp::tabulate:
      extents.push_back(count);
      for (const Ref& e : item)
        extents.push_back(e ? outer.simplified(cond(less(int64(0), count), e, int64(0))) : Ref());
      break;
    case SinkOp::fold_seq:
    case SinkOp::fold_batch:
      throw InternalError("a fold of a sequence inside of an item");  // sequence fusion has refused it
    case SinkOp::write:
      break;  // a number
  }
  return extents;
}

namespace {

std::vector<Ref> flattened(const Outer& outer, Nested& nested, const KnownExtents& known) {
  if (!nested.control) return FlatSequence(outer, nested, known).run();
  if (nested.control->op() == Op::acond) return FlatBranch(outer, nested, known).run();
  return FlatLoop(outer, nested, known).run();
}

}  // namespace

std::vector<Ref> flatten(const Outer& outer, Nested& nested, const KnownExtents& known) {
  std::vector<Ref> results = flattened(outer, nested, known);
  // The items that follow each other are others now.
  Rewriter apart([](const Ref&, const Ref& rebuilt) {
    if (rebuilt->op() != Op::part || !rebuilt->payload().consecutive) return rebuilt;
    const PartOf part(rebuilt);
    return ir::part(part.shape(), part.array(), part.begin(), rebuilt->place(), rebuilt->payload().label);
  });
  for (Ref& result : results) result = apart(result);
  return results;
}

}  // namespace anabranch::lift
