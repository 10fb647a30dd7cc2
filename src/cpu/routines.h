#pragma once

#include "ir/primitive.h"

/// The mathematical functions as code that is linked into the library: the full recipes of kernels/math
/// (ir/math_recipe.h), compiled ahead of time for whole vectors of each width that kernels are generated for
/// (src/cpu/llvm/routines). Kernels call them where a function has no fast path, and where one does not hold.
/// A routine takes one or two vectors in registers and gives one. Which of them a kernel calls does not
/// matter to its results: all give the same bits.
namespace anabranch::cpu {

inline constexpr int first_function = static_cast<int>(ir::Primitive::exp);
inline constexpr int function_count = static_cast<int>(ir::Primitive::hypot) - first_function + 1;

/// The routines of one function.
struct RoutineForm {
  ScalarType type;
  int vector_bytes;  ///< of operands and result
};
inline constexpr RoutineForm routine_forms[] = {{ScalarType::float32, 32},
                                                {ScalarType::float32, 64},
                                                {ScalarType::float64, 32},
                                                {ScalarType::float64, 64}};
inline constexpr int form_count = 4;

/// Routines are numbered, so that generated code finds them in a table of pointers (KernelArgs::functions).
/// -1: there is none.
constexpr int routine_number(ir::Primitive primitive, ScalarType type, int vector_bytes) {
  const int function = static_cast<int>(primitive) - first_function;
  if (function < 0 || function >= function_count) return -1;
  for (int form = 0; form < form_count; ++form)
    if (routine_forms[form].type == type && routine_forms[form].vector_bytes == vector_bytes)
      return function * form_count + form;
  return -1;
}

/// Of all routines, by their numbers.
extern "C" __attribute__((visibility("hidden"))) const void* const anabranch_routines[];

}  // namespace anabranch::cpu
