#pragma once

#include "cpu/llvm/interior.h"
#include "cpu/llvm/row_code.h"
#include "ir/scan_order.h"

/// How one row is scanned, in the canonical order of ir/scan_order.h.
namespace anabranch::cpu {

using kernel::Prefixes;

/// A function of the image that scans rows. The lanes of a group are a few vectors, and a step of the scan of
/// a group shifts lanes from vector to vector (`in_registers`). Operators that may fail or are large go over
/// the group's lanes in memory instead, as loops, with a mask of those that the order joins.
///
/// Elements of large bodies are computed by themselves, block by block, and wait in the outputs, if these have room
/// for all components, until they are scanned there (`is_staged`).
///
/// What is carried from group to group is the same in all lanes. Inclusive prefixes are all that is computed. Behind a
/// seed that is stored they are stored one element further, of exclusive prefixes the row's last one not.
///
/// Elements and prefixes are numbered in the order of the scan: k is one of the row counted from where it begins, from
/// the right the last. Lanes are in this order, too; they are turned around where elements are read and prefixes written.
class ScanRows : public RowCode {
 public:
  ScanRows(llvm::Module& module, const std::string& name, std::span<llvm::Type* const> types, bool entry,
           const kernel::Kernel& kernel, const Machine& machine);

  using Parts = std::vector<Registers>;  ///< a group's lanes, vector by vector

  /// Whether groups are vectors in registers, and of how many lanes.
  bool in_registers() const { return in_registers_; }
  int lanes() const { return lanes_; }
  bool seeded() const { return !reduction_.seed.empty(); }
  bool has(Prefixes which) const { return scan_.kind.prefixes == which; }
  bool from_right() const { return scan_.kind.from_right; }
  /// Whether the first result of a row is the seed, and the others come behind.
  bool stores_seed() const { return !has(Prefixes::inclusive); }
  /// Whether an output has one element for each row.
  bool has_totals() const;

  Registers join(const Registers& x, const Registers& y);
  /// The seed's scalars, computed here.
  Registers seed() { return scalars(seed_, reduction_.seed); }
  /// Whether the seed, if there is one, is the same for all rows, and is known without a chance of failure.
  bool seed_is_known() const;
  /// Whether it does not depend on the item, but for its operands.
  bool operator_is_shared() const;
  /// Scalars in place of a carry that there is not.
  Registers nothing();
  /// A carry of these scalars, and the scalars of a carry.
  Registers spread(const Registers& scalars);
  Registers one_of(const Registers& carry, llvm::Value* unknown);

  /// How long the current row is.
  void enter_row(llvm::Value* length) { length_ = length; }
  /// Where its prefixes are written.
  void enter_outputs(llvm::Value* item, std::span<llvm::Value* const> index);
  /// Writes the seed before the others.
  void put_first(const Registers& seed);
  void put_total(const Registers& total, llvm::Value* position);

  /// Scans elements [begin, end) of the last block of a row, of which there is one at least. Gives their last
  /// inclusive prefix as scalars, if `has_totals`.
  Registers last_block(llvm::Value* begin, llvm::Value* end, Registers carry);
  /// Whether whole blocks that others follow are scanned from elements that `stage_block` has put where their
  /// prefixes go.
  bool is_staged() const;
  void stage_block(llvm::Value* begin);
  /// Scans a whole block that others follow: gives its total without the carry, as scalars.
  Registers whole_block(llvm::Value* begin, Registers carry);
  /// The same total, and nothing else.
  Registers block_total(llvm::Value* begin);

  /// What outputs store of prefixes in these elements of theirs, one for each lane of the mask.
  template <class Elements>
  Registers stored_in(Elements&& elements, const Registers& prefixes, llvm::Value* mask) {
    if (!has_epilogue()) return prefixes;
    const int width = std::exchange(e.width, width_of(prefixes[0]));
    llvm::Value* const outside = std::exchange(e.mask, mask);
    const auto here = e.mark();
    e.bind(*row_.index, {elements()});
    Registers out = stored(prefixes);
    e.undo(here);
    e.mask = outside;
    e.width = width;
    return out;
  }
  /// Writes values to place, place + 1, ... of an output, one for each lane of the mask (null: of all).
  void put_at(std::size_t output, llvm::Value* place, const Registers& values, llvm::Value* mask);
  /// Where a position of the output's rows begins, of which each has so many elements, `step` apart.
  struct Place {
    llvm::Value *begin, *step;
  };
  Place place_of(const kernel::KernelOutput& output, llvm::Value* item, std::span<llvm::Value* const> index,
                 llvm::Value* count);
  /// Elements of the current row in an output.
  llvm::Value* count_stored();
  const kernel::Scan& form() const { return scan_; }
  std::int64_t operator_cost() const { return combine_[0].cost; }

  /// One bit: has the group that begins at k no carry? Null: it has one.
  llvm::Value* lacks_carry(llvm::Value* k);
  /// carry o each of them; where `none` is set and true, they themselves.
  Parts join_all(llvm::Value* none, const Registers& carry, Parts values);
  /// Lane j of a vector to lane width - 1 - j.
  llvm::Value* turned(llvm::Value* v) const;

  // For rows in groups: elements of a whole group, or of one of `count`, by way of memory; lane j - by of the
  // lanes of `before` and `lanes`, which follow each other; a group's elements as they are written, all or
  // `count` of them.
  Parts group_elements(llvm::Value* k);
  Parts group_in_memory(llvm::Value* k, llvm::Value* count);
  Registers shifted(const Registers& before, const Registers& lanes, int by);
  void put_group(llvm::Value* k, const Parts& lanes, llvm::Value* count);

 private:
  /// Elements [k, k + count) of a row as a group: all of them are scanned, and the first `stored` written.
  struct Group {
    llvm::Value* k = nullptr;
    llvm::Value* count = nullptr;
    llvm::Value* stored = nullptr;
  };
  /// What a group leaves: the carry for the next one, and its own total, spread.
  struct Passed {
    Registers carry, total;
  };

  /// A loop over whole groups; those inside of all borders have code of their own.
  template <class Body>
  Registers whole_groups(llvm::Value* begin, llvm::Value* end, Registers state, Body&& body);
  template <class At>
  void put_lanes_at(std::size_t output, At&& at, const Registers& values, llvm::Value* mask);

  // In registers.
  Parts prefixes(Parts lanes);
  Registers last_lane(const Registers& lanes);
  Registers total_of(Parts lanes);
  Passed full_group(llvm::Value* k, const Registers& carry);
  Registers read(llvm::Value* k, int width);
  Registers staged(llvm::Value* k, int width);
  Passed few_parts(const Group& group, std::size_t parts, const Registers& carry, bool wants_total);

  // In memory.
  Passed any_group(const Group& group, const Registers& carry, bool wants_total);
  Passed rolled_group(const Group& group, const Registers& carry);
  Registers rolled_total();
  void elements_to_memory(const Group& group);
  void rolled_prefixes(llvm::Value* count);
  llvm::Value* lane_address(std::size_t c, llvm::Value* lane);
  void put_lanes(llvm::Value* lane, const Registers& values);
  Registers get_lanes(llvm::Value* lane, int width);
  llvm::Value* lanes_before(llvm::Value* count, llvm::Value* lane);

  void put_elements(llvm::Value* k, const Registers& prefixes, llvm::Value* mask);
  void put_some(const Group& group, llvm::Value* at, const Registers& values);

  const kernel::Scan& scan_;
  const kernel::Reduction& reduction_;
  Regions combine_, seed_;
  Interior interior_;
  int lanes_ = 1;
  bool in_registers_ = false;
  bool reads_staged_ = false;
  std::vector<llvm::Value*> group_;       ///< memory for a group's lanes, per component
  llvm::Value* length_ = nullptr;         ///< of the current row
  llvm::Value* step_ = nullptr;           ///< from one of its elements to the next in outputs; null: 1
  std::vector<llvm::Value*> first_;       ///< per output: where its first inclusive prefix goes
  llvm::Value* first_element_ = nullptr;  ///< and which element of the row that is in outputs
};

}  // namespace anabranch::cpu
