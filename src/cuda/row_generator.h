#pragma once

#include <string>
#include <vector>

#include "cuda/generator.h"

/// What the texts of kernels with rows share: functions of a row's elements, of the operator, and of values.
namespace anabranch::cuda {

class RowGenerator : public Generator {
 protected:
  /// `left`, `right`: parameters of bodies, which are components of the values x and y there.
  RowGenerator(const kernel::Kernel& kernel, std::vector<ir::Ref> left, std::vector<ir::Ref> right);

  std::vector<kernel::KernelExtent> own_extents() const override { return {row_.length}; }
  void name_own_values() override;
  bool has_plain_element() const override { return true; }

  /// length(), begin_row(), and the functions for elements.
  void row_parts();
  virtual void elements(const std::string& parameter);
  /// Is an element's value computed from elements, or is it the same for all of a row?
  bool depends_on_element(const ir::Node& node) const;
  /// A function of values x and y that gives `roots`; failures are recorded at `element`.
  void operation(const std::string& head, const kernel::Regions& body, const std::vector<ir::Ref>& roots,
                 const std::string& element);
  /// shuffle(), and another shuffle, whose parameters have these names.
  void shuffles(const std::string& other, const std::string& parameters, const std::string& arguments);
  /// put() and get().
  void cells();
  /// enter_row(), which also finds where what is written by elements lies.
  void row_places();
  /// How many results a row has, at which of their places result r of them is stored, and how far apart these are.
  virtual std::string row_size() const { return length_; }
  virtual std::string place_in_row() const { return "r"; }
  virtual std::string row_step() const { return "1ll"; }
  /// A function that stores what is written so.
  void store(const std::string& signature, kernel::KernelOutput::Write write);
  /// "{f(0), f(1)}", per component.
  template <class F>
  std::string each_component(F&& part) const {
    std::string out;
    for (std::size_t c = 0; c < components(); ++c) out += (c ? ", " : "") + part(c);
    return "{" + out + "}";
  }

  const kernel::Row& row_;
  std::string length_;

 private:
  void keep_shared_values();
  void name_shared_values();
  std::size_t place_of(const kernel::Layout& layout) const;
  std::string row_place(const kernel::Layout& layout);

  std::vector<ir::Ref> left_, right_;
  std::vector<kernel::Layout> places_;  ///< of the outputs that are written by elements
};

}  // namespace anabranch::cuda
