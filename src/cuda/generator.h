#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cuda/in_order.h"
#include "cuda/scalar_text.h"
#include "cuda/unit.h"

/// The text of a unit: a structure of parameters, and one `Kernel` of which the skeletons in kernels/cuda are
/// instances.
namespace anabranch::cuda {

/// What the texts of all kernels share.
class Generator {
 public:
  virtual ~Generator() = default;
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  /// `only`: one of the entries; -1: all.
  Unit make(int only);

 protected:
  /// Distinguishes reads at the current position from others.
  using IsOwn = std::function<bool(const ir::Node&)>;
  /// `own`: in `element`; may be empty. `flat`: no position needs its item.
  Generator(const kernel::Kernel& kernel, IsOwn own, bool flat);

  // What a skeleton adds ------------------------------------------------------------------------------------

  struct Entry {
    std::string what, call;
  };
  virtual std::vector<const char*> included() const = 0;
  virtual void assertions() = 0;  ///< constants that src/cuda/schedule.cpp relies on
  virtual void constants() = 0;   ///< of the structure `Kernel`
  virtual void parts() = 0;       ///< its functions
  virtual void name_own_values() {}
  virtual std::vector<kernel::KernelExtent> own_extents() const { return {}; }
  /// Positions or elements that a thread computes together.
  virtual int unroll() const { return body_[0].cost > unroll_cost ? 1 : 4; }
  virtual std::vector<Entry> all_entries() const = 0;
  virtual const char* launch_bounds(const Entry& entry) const = 0;
  /// Is there a function for an element besides that for positions in order?
  virtual bool has_plain_element() const = 0;

  // Slots ---------------------------------------------------------------------------------------------------

  struct Slot {
    std::string type;  ///< of what the buffer holds
    std::string name;
    bool written = false;
  };
  void name_slots();
  static const char* offset_type(OffsetType type) { return type == OffsetType::int32 ? "i32" : "i64"; }
  std::vector<kernel::KernelExtent> all_extents() const;
  /// A buffer, as a pointer to these.
  std::string buffer(int slot, const std::string& type);
  std::string offset_at(int slot, OffsetType type, const std::string& item);
  /// An extent: the text that has it once the item was entered. What differs from item to item is a member.
  std::string extent(const kernel::KernelExtent& e);
  std::string extent_of_item(const kernel::KernelExtent& e);
  std::vector<std::string> extents(const std::vector<kernel::KernelExtent>& all);
  void name_values();

  // The text ------------------------------------------------------------------------------------------------

  void head();
  void arguments();
  void kernel_text();
  /// Functions for where items begin, and for what follows from a position.
  void places();
  void decode();
  void end_of_user_lines() { out_.own_lines(name_ + ".cu"); }
  void value_type();
  void give(const ExprTexts& values);
  void store_parts();
  std::vector<std::string> entries(int only);

  /// A component of the results, and a buffer that it is stored in.
  struct Stored {
    std::string buffer;
    std::size_t component;
    std::string at;
  };
  std::vector<Stored> stored();
  static std::string position_of(const kernel::KernelOutput& output);
  std::string in_memory(std::size_t c, const std::string& value) const;
  /// Statements for what outputs may store of the results in `v`; its components.
  ExprTexts stored_values();
  std::size_t components() const { return types_.size(); }
  ScalarType type(std::size_t c) const { return types_[c]; }
  /// Can an element fail?
  bool checked() const;
  /// Is there a loop that may not terminate?
  std::vector<const ir::Node*> nodes() const;  ///< of all bodies
  /// The headers of kernels/math that the kernel's functions are in.
  std::set<std::string> mathematics() const;
  bool loops() const;

  /// A function that computes an element. Each says in `good` whether a check failed, except the one that
  /// records the failure in `failure` and is called then.
  void element(const char* name, const std::string& parameter, const kernel::Regions& body);

  // Positions in order (generate_in_order.cpp) --------------------------------------------------------------

  const kernel::KernelArray& array_of(const InOrder::Read& read) const { return kernel_.arrays[read.array]; }
  std::string buffer_of(const InOrder::Read& read);
  /// `written`: buffers that are written in order, too.
  void read_in_order(const std::vector<std::string>& written);
  void load_quad();
  void element_of_four(const kernel::Regions& body);
  /// While this runs, texts of reads in order are what load_quad fetched as number n.
  void with_fetched(const std::function<void()>& texts);

  const kernel::Kernel& kernel_;
  std::string name_;
  bool segmented_, flat_;
  InOrder in_order_;
  IsOwn own_;
  kernel::Regions body_;
  kernel::Regions epilogue_;
  std::vector<ScalarType> types_;         ///< of the results' components
  std::vector<ScalarType> stored_types_;  ///< of those that outputs may store
  Text out_;
  ScalarText scalar_;
  std::vector<Slot> slots_;
  std::vector<kernel::KernelExtent> item_extents_;
  std::vector<std::string> index_, domain_;
};

// The skeletons: one entry, or all (-1).
Unit generate_map(const kernel::Kernel& kernel, int only);
Unit generate_fold(const kernel::Kernel& kernel, int only);
Unit generate_scan(const kernel::Kernel& kernel, int only);
Unit generate_recurrence(const kernel::Kernel& kernel, int only);

}  // namespace anabranch::cuda
