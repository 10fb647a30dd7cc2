#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "cpu/llvm/lanes.h"
#include "cpu/llvm/machine.h"
#include "cpu/routines.h"
#include "ir/math_recipe.h"

/// Compiles the mathematical functions to assembly, with the table of cpu/routines.h. Run when the library is
/// built.
namespace anabranch::cpu {
namespace {

/// What kernels of each width are compiled for at the least.
AnabranchLlvmOptions options_for(int vector_bytes) {
  AnabranchLlvmOptions options{};
  options.cpu = vector_bytes == 64 ? "skylake-avx512" : "haswell";
  options.features =
      vector_bytes == 64 ? "+avx2,+fma,+f16c,+avx512f,+avx512vl,+avx512bw,+avx512dq" : "+avx2,+fma,+f16c";
  return options;
}

template <class T>
llvm::Value* build(llvm::IRBuilder<>& b, ir::Primitive primitive, llvm::Function& function) {
  const Lanes<T> x(&b, function.getArg(0)), y(&b, function.getArg(function.arg_size() - 1));
  return ir::build_full(primitive, x, y).v;
}

llvm::Function* emit(llvm::Module& module, ir::Primitive primitive, const RoutineForm& form) {
  llvm::IRBuilder<> b(module.getContext());
  const Machine machine = machine_for(options_for(form.vector_bytes));
  const bool is_float = form.type == ScalarType::float32;
  const auto lanes = static_cast<unsigned>(form.vector_bytes) / static_cast<unsigned>(size_of(form.type));
  llvm::Type* vector = llvm::FixedVectorType::get(is_float ? b.getFloatTy() : b.getDoubleTy(), lanes);
  const std::vector<llvm::Type*> operands(static_cast<std::size_t>(ir::info(primitive).arity), vector);
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(vector, operands, false), llvm::GlobalValue::InternalLinkage,
      std::string(ir::info(primitive).name) + "_" + name_of(form.type) + "_" + std::to_string(lanes), module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr("stackrealign");
  function->addFnAttr("no-builtins");
  function->addFnAttr("target-cpu", machine.cpu);
  function->addFnAttr("target-features", machine.features);
  if (form.vector_bytes == 64) function->addFnAttr("prefer-vector-width", "512");
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  b.CreateRet(is_float ? build<float>(b, primitive, *function) : build<double>(b, primitive, *function));
  return function;
}

void emit_all(llvm::Module& module) {
  std::vector<llvm::Constant*> table;
  for (int f = 0; f < function_count; ++f)
    for (const RoutineForm& form : routine_forms)
      table.push_back(emit(module, static_cast<ir::Primitive>(first_function + f), form));
  auto* type = llvm::ArrayType::get(llvm::PointerType::get(module.getContext(), 0), table.size());
  auto* all = new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::ExternalLinkage,
                                       llvm::ConstantArray::get(type, table), "anabranch_routines");
  all->setVisibility(llvm::GlobalValue::HiddenVisibility);
}

void compile_to(const std::string& path) {
  llvm::LLVMContext context;
  llvm::Module module("routines", context);
  const Target target(machine_for(options_for(32)));
  module.setTargetTriple(target->getTargetTriple().str());
  module.setDataLayout(target->createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  emit_all(module);
  std::string broken;
  llvm::raw_string_ostream broken_out(broken);
  if (llvm::verifyModule(module, &broken_out)) throw InternalError("routines are broken: " + broken);
  optimise(module, *target);
  std::ofstream file(path);
  file << generate_assembly(module, *target);
  if (!file.flush()) throw IoError("cannot write " + path);
}

}  // namespace
}  // namespace anabranch::cpu

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw anabranch::InternalError("usage: anabranch-routines <assembly file>");
    anabranch::cpu::compile_to(argv[1]);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
