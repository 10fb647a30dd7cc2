#include <chrono>
#include <filesystem>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "byte_size.h"
#include "commands.h"
#include "terminal.h"
#include "usage_error.h"

namespace anabranch::apps {

void generate_command(const GenerateCommandOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const GeneratedMatrix made = [&] {
    try {
      return generate_matrix(options.kind, options.matrix, options.out);
    } catch (const RunError& e) {
      throw UsageError(e.what());  // it knows no other input than the options
    }
  }();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  print(fmt::format("{}: {} x {}, {} entries, {} in {:.1f} s\n", options.out, made.rows, made.cols, made.nnz,
                    decimal_bytes(static_cast<std::int64_t>(std::filesystem::file_size(options.out))),
                    seconds.count()));
}

}  // namespace anabranch::apps
