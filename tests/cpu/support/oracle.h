#pragma once

#include <climits>
#include <map>
#include <optional>
#include <set>

#include "interp/evaluate.h"
#include "ir/scan_order.h"
#include "ir/walk.h"
#include "kernel/fold_operator.h"
#include "tests/cpu/support/kernels.h"

/// What a kernel means: its bodies evaluated scalar by scalar by the interpreter, in the canonical order.
namespace anabranch::test {

class Oracle {
 public:
  explicit Oracle(KernelBuilder& builder)
      : builder_(builder),
        kernel_(builder.kernel()),
        roots_(all_roots(builder.kernel())),
        evaluator_(roots_) {
    for (const ir::Node* node : ir::topological(roots_)) reachable_.insert(node);
    for (const auto& component : builder.output_components())
      columns_.emplace_back(builder.sizes()[static_cast<std::size_t>(component.second)], std::byte{0xcd});
  }

  /// The output components' bytes, one after the other.
  /// Throws RunError as a launch would, if not with the same words.
  std::vector<std::byte> run() {
    for (std::int64_t item = 0; item < builder_.items(); ++item) {
      enter(item);
      std::vector<std::int64_t> extents;
      std::int64_t size = 1;
      for (const auto& e : kernel_.domain.extents) {
        extents.push_back(value(e, item));
        size *= extents.back();
      }
      for (std::int64_t local = 0; local < size; ++local) {
        std::int64_t rest = local;
        for (std::size_t d = extents.size(); d-- > 0; rest /= extents[d])
          bind(kernel_.index[d], rest % extents[d]);
        position(item, local);
      }
    }
    std::vector<std::byte> out;
    for (auto& component : columns_) out.insert(out.end(), component.begin(), component.end());
    return out;
  }

 protected:
  using Values = std::vector<interp::Bits>;

  static std::vector<ir::Ref> all_roots(const kernel::Kernel& kernel) {
    std::vector<ir::Ref> roots = kernel.body;
    for (const auto* body : kernel::other_bodies(kernel))
      roots.insert(roots.end(), body->begin(), body->end());
    return roots;
  }

  std::int64_t offset(int slot, OffsetType type, std::int64_t i) {
    const void* data = builder_.data(slot);
    return type == OffsetType::int32 ? static_cast<const std::int32_t*>(data)[i]
                                     : static_cast<const std::int64_t*>(data)[i];
  }
  std::int64_t value(const kernel::KernelExtent& e, std::int64_t item) {
    using Kind = kernel::KernelExtent::Kind;
    switch (e.kind) {
      case Kind::constant:
        return e.value;
      case Kind::uniform:
        return builder_.scalars()[static_cast<std::size_t>(e.slot)];
      case Kind::number:
        return builder_.scalars()[static_cast<std::size_t>(e.slot)] + item;
      case Kind::per_item:
        return static_cast<const std::int64_t*>(builder_.data(e.slot))[item];
      case Kind::ragged:
        break;
    }
    const std::int64_t n = offset(e.slot, e.offsets, item + 1) - offset(e.slot, e.offsets, item);
    return n / std::max<std::int64_t>(1, e.divisor_kind == Kind::constant
                                             ? e.divisor
                                             : builder_.scalars()[static_cast<std::size_t>(e.divisor)]);
  }
  std::int64_t base(const kernel::Layout& a, std::int64_t item) {
    if (a.form == kernel::Form::avoided) return 0;
    if (a.form == kernel::Form::segmented) return offset(a.offsets, a.offset_type, item);
    std::int64_t size = 1;
    for (const auto& e : a.extents) size *= value(e, item);
    return item * size;
  }

  void bind(const ir::Ref& parameter, std::int64_t v) {
    bind(parameter, Values{static_cast<interp::Bits>(v)});
  }
  void bind(const ir::Ref& parameter, const Values& v) {
    if (reachable_.contains(parameter.get())) evaluator_.bind(evaluator_.number(*parameter), v);
  }

  void enter(std::int64_t item) {
    for (const auto& s : kernel_.scalars) bind(s.parameter, value(s.value, item));
    for (const auto& a : kernel_.arrays) {
      if (!reachable_.contains(a.parameter.get())) continue;
      auto data = std::make_shared<anabranch::detail::ArrayData>();
      data->scalars = a.type.scalars;
      for (const auto& e : a.extents) data->extents.push_back(value(e, item));
      for (std::size_t c = 0; c < a.type.scalars.size(); ++c) {
        auto* bytes = static_cast<std::byte*>(builder_.data(a.first_buffer + static_cast<int>(c)));
        bytes += static_cast<std::size_t>(base(a, item)) * size_of(a.type.scalars[c]);
        data->buffers.emplace_back(std::shared_ptr<void>(), bytes);
      }
      evaluator_.bind(evaluator_.number(*a.parameter), data);
    }
  }

  Values evaluate(const std::vector<ir::Ref>& roots) {
    Values out;
    for (const auto& root : roots)
      for (const interp::Bits b : evaluator_.evaluate(*root)) out.push_back(b);
    return out;
  }

  void position(std::int64_t item, std::int64_t local) {
    std::visit(kernel::overloaded{[&](const kernel::Map&) { put(item, local, evaluate(kernel_.body)); },
                                  [&](const kernel::Reduce& form) { put(item, local, reduce(form, item)); },
                                  [&](const kernel::Scan& form) { scan(form, item, local); },
                                  [&](const kernel::Recurrence& form) { recurrence(form, item, local); }},
               kernel_.form);
  }

  void scan(const kernel::Scan& form, std::int64_t item, std::int64_t local) {
    const std::int64_t length = value(form.row.length, item);
    const bool totals = std::any_of(
        kernel_.outputs.begin(), kernel_.outputs.end(),
        [](const kernel::KernelOutput& o) { return o.write == kernel::KernelOutput::Write::position; });
    const bool all = form.kind.prefixes == kernel::Prefixes::all, from_right = form.kind.from_right;
    if (length <= 0 && !totals && !all) return;
    std::optional<Values> seed;
    if (!form.reduction.seed.empty()) seed = evaluate(form.reduction.seed);
    std::optional<Values> last = seed;
    const auto at = [&](std::int64_t k) {
      bind(form.row.index, from_right ? length - 1 - k : k);
      return evaluate(kernel_.body);
    };
    const auto join = [&](const Values& x, const Values& y) {
      for (std::size_t c = 0; c < x.size(); ++c) {
        bind(form.reduction.left[c], Values{x[c]});
        bind(form.reduction.right[c], Values{y[c]});
      }
      return evaluate(form.reduction.combine);
    };
    const auto write = kernel::KernelOutput::Write::element;
    const std::int64_t count = length + (all ? 1 : 0);
    std::int64_t step = 1;
    for (auto d = static_cast<std::size_t>(form.axis.value_or(INT_MAX)); d < kernel_.domain.extents.size();
         ++d)
      step *= value(kernel_.domain.extents[d], item);
    const auto put_number = [&](std::int64_t number, const Values& prefix) {
      const std::int64_t place = from_right ? count - 1 - number : number;
      put(item, (local / step * count + place) * step + local % step, prefix, write);
    };
    ir::scan_order::scan_row(length, seed, at, join, [&](std::int64_t i, const Values& inclusive) {
      put_number(i, form.kind.prefixes == kernel::Prefixes::inclusive ? inclusive : *last);
      last = inclusive;
    });
    if (all) put_number(length, *last);
    if (totals) put(item, local, *last);
  }

  void recurrence(const kernel::Recurrence& form, std::int64_t item, std::int64_t local) {
    const std::int64_t length = value(form.row.length, item);
    if (length <= 0) return;
    Values state = evaluate(form.initial);
    for (std::int64_t k = 0; k < length; ++k) {
      for (std::size_t c = 0; c < state.size(); ++c) bind(form.state[c], Values{state[c]});
      bind(form.row.index, k);
      state = evaluate(kernel_.body);
      put(item, local * length + k, state, kernel::KernelOutput::Write::element);
    }
  }

  Values reduce(const kernel::Reduce& form, std::int64_t item) {
    const kernel::Operators operators(kernel_);
    const std::int64_t length = value(form.row.length, item);
    if (length == 0) {
      if (!kernel::all_seeded(form)) throw RunError("fold of nothing");
      return evaluate(operators.seed);
    }
    const auto at = [&](std::int64_t k) {
      bind(form.row.index, k);
      return evaluate(kernel_.body);
    };
    const auto bind_operands = [&](const Values& x, const Values& y) {
      for (std::size_t c = 0; c < x.size(); ++c) {
        bind(operators.left[c], Values{x[c]});
        bind(operators.right[c], Values{y[c]});
      }
    };
    const auto join = [&](const Values& x, const Values& y) {
      bind_operands(x, y);
      return evaluate(operators.combine);
    };
    const Values total = ir::fold_order::reduce_row(length, form.order, at, join);
    bind_operands(operators.spread(evaluate(operators.seed), total), total);
    return operators.spread(evaluate(operators.seeded_combine), total);
  }

  /// Into all outputs that are written so.
  void put(std::int64_t item, std::int64_t at, const Values& values,
           kernel::KernelOutput::Write write = kernel::KernelOutput::Write::position) {
    auto column = columns_.begin();
    for (const kernel::KernelOutput& output : kernel_.outputs)
      for (std::size_t c = 0; c < output.array.type.scalars.size(); ++c, ++column)
        if (output.write == write)
          interp::store(output.array.type.scalars[c], column->data(), base(output.array, item) + at,
                        values[output.first + c]);
  }

  KernelBuilder& builder_;
  const kernel::Kernel& kernel_;
  std::vector<ir::Ref> roots_;
  interp::Evaluator evaluator_;
  std::set<const ir::Node*> reachable_;
  std::vector<std::vector<std::byte>> columns_;
};

/// Equal bytes, except that any NaN equals any NaN: which one an operation gives is the processor's business.
inline bool same_values(const KernelBuilder& builder, const std::vector<std::byte>& a,
                        const std::vector<std::byte>& b) {
  if (a.size() != b.size()) return false;
  std::size_t at = 0;
  for (const auto& [s, slot] : builder.output_components())
    for (const std::size_t end = at + builder.sizes()[static_cast<std::size_t>(slot)]; at < end;
         at += size_of(s)) {
      if (std::memcmp(&a[at], &b[at], size_of(s)) == 0) continue;
      const bool both_nan = anabranch::detail::with_scalar(s, [&]<class T>(std::type_identity<T>) {
        T x, y;
        std::memcpy(&x, &a[at], sizeof x);
        std::memcpy(&y, &b[at], sizeof y);
        return x != x && y != y;
      });
      if (!both_nan) return false;
    }
  return true;
}

/// Runs the kernel as vector and as scalar code, whole and in pieces, and holds each result against the
/// oracle. Where the oracle fails, so must every run.
inline std::string disagreement(KernelBuilder& builder,
                                const std::vector<std::int64_t>& pieces = {0, 5, 4096}) {
  builder.find_checks();
  std::vector<std::byte> expected;
  bool fails = false;
  try {
    expected = Oracle(builder).run();
  } catch (const RunError&) {
    fails = true;
  }
  const std::int64_t n = cpu::domain_size(builder.kernel(), builder.bindings());
  for (const int lanes : {0, 1, 4})
    for (const std::int64_t piece : pieces) {
      if (lanes == 4 && piece != 0) continue;
      cpu::CompileOptions options;
      options.lanes = lanes;
      const std::string which = "lanes " + std::to_string(lanes) + ", pieces " + std::to_string(piece) +
                                ", positions " + std::to_string(n);
      try {
        const auto out = builder.run(options, piece);
        if (fails) return which + ": no error";
        if (!same_values(builder, out, expected)) return which + ": other values";
      } catch (const RunError& e) {
        if (!fails) return which + ": " + e.what();
      }
    }
  return "";
}

}  // namespace anabranch::test
