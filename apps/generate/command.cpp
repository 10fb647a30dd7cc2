#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>

#include <anabranch/error.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/commands.h"
#include "apps/common/byte_size.h"
#include "apps/common/exit_status.h"
#include "apps/common/idle_options.h"
#include "apps/common/numbers.h"
#include "apps/common/output_files.h"
#include "apps/common/proposals.h"
#include "apps/common/quantities.h"
#include "apps/common/terminal.h"
#include "apps/common/usage_error.h"
#include "apps/generate/matrix.h"

namespace anabranch::apps {

namespace {

struct GenerateCommandOptions {
  MatrixKind kind = MatrixKind::laplacian2d;
  GenerateOptions matrix;
  std::string out;
};

void run_generate(const GenerateCommandOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const GeneratedMatrix made = [&] {
    try {
      return generate_matrix(options.kind, options.matrix, options.out);
    } catch (const RunError& e) {
      throw UsageError(e.what());  // it knows no other input than the options
    }
  }();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  print(fmt::format(
      "{}: {} x {}, {}, {} in {:.3g} s\n", options.out, made.rows, made.cols, counted(made.nnz, "entry"),
      decimal_bytes(static_cast<std::int64_t>(std::filesystem::file_size(options.out))), seconds.count()));
}

}  // namespace

void add_generate(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("generate", "Write a test matrix of any size");
  struct Given : GenerateCommandOptions {
    std::string kind_name, index_name, value_name;
  };
  auto given = std::make_shared<Given>();
  sub->add_option("KIND", given->kind_name, "laplacian2d, laplacian3d, banded, powerlaw or rmat")
      ->required()
      ->check(one_of({"laplacian2d", "laplacian3d", "banded", "powerlaw", "rmat"}))
      ->option_text("NAME");
  sub->add_option("--size", given->matrix.size,
                  "Rows, or the grid's edge (laplacian2d: N^2 rows, laplacian3d: N^3)")
      ->required()
      ->transform(whole_number(1, most_rows))
      ->option_text("N");
  sub->add_option("--points", given->matrix.points,
                  "Of the stencil: 5 or 9 in 2-D, 7 or 27 in 3-D; banded: entries around the diagonal; "
                  "default: 5, 7, 9")
      ->transform(whole_number(1, 4096))
      ->option_text("N");
  CLI::Option* seed =
      sub->add_option("--seed", given->matrix.seed, "Of banded, powerlaw and rmat, from 0 on; default: 1")
          ->transform(whole_number<std::uint64_t>(0, UINT64_MAX))
          ->option_text("N");
  sub->add_option("--index", given->index_name, "int32 or int64; default: int32 where it suffices")
      ->check(CLI::IsMember({"int32", "int64"}))
      ->option_text("TYPE");
  sub->add_option("--value", given->value_name, "float or double; default: double")
      ->check(CLI::IsMember({"float", "double"}))
      ->option_text("TYPE");
  sub->add_option("--out", given->out, "File to write: .npz or .mtx")->required()->option_text("FILE");
  sub->footer(exit_statuses({}));
  sub->callback([given, sub, seed, &chosen] {
    const auto kind = matrix_kind(given->kind_name);
    if (!kind)
      throw UsageError("'" + given->kind_name +
                       "' is no kind of matrix; there are laplacian2d, laplacian3d, banded, "
                       "powerlaw and rmat");
    given->kind = *kind;
    if (!is_random(*kind) && seed->count() > 0)
      throw UsageError(given->kind_name + " has nothing random in it and takes no --seed");
    check_extension("--out", given->out, {".npz", ".mtx"}, "a matrix is written");
    if (extension_of(given->out) == ".mtx")
      refuse_idle(*sub, {"--index"}, "a Matrix Market file says nothing of the type of indices");
    if (given->index_name == "int32") given->matrix.index = ScalarType::int32;
    if (given->index_name == "int64") given->matrix.index = ScalarType::int64;
    if (given->value_name == "float") given->matrix.value = ScalarType::float32;
    chosen = [given](Interrupt& interrupt) {
      given->matrix.stop = interrupt.token();
      run_generate(*given);
      return done;
    };
  });
}

}  // namespace anabranch::apps
