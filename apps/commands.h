#pragma once

#include <string>

#include <anabranch/run.h>

#include "generate.h"
#include "interrupt.h"
#include "run_options_cli.h"

/// The subcommands. Each returns where all went well and throws where not; main.cpp makes exit codes of that.
namespace anabranch::apps {

struct SmvmOptions {
  std::string matrix;
  std::string vector;  ///< empty: all ones
  std::string out;     ///< empty: the result is not written
  RunChoice run;
};
/// Multiplies a matrix file by a vector, writes the result and reports the run.
void smvm_command(const SmvmOptions& options, Interrupt& interrupt);

struct GenerateCommandOptions {
  MatrixKind kind = MatrixKind::laplacian2d;
  GenerateOptions matrix;
  std::string out;
};
void generate_command(const GenerateCommandOptions& options);

/// What is made of the program smvm for this matrix (empty: a small one in memory), and why.
void explain_smvm_command(const std::string& matrix, Explain form);

/// What this machine offers. Throws BackendUnavailable, after all is said, where no kernel can be compiled.
void doctor_command();

}  // namespace anabranch::apps
