#include "apps/smvm/report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/common/byte_size.h"
#include "apps/common/json_output.h"
#include "apps/common/quantities.h"
#include "apps/common/run_summary.h"

namespace anabranch::apps {

namespace {

RunSummary summary(const SmvmReport& r) {
  return {r.options.run, r.runs, r.memory, "row", r.open_seconds, r.total_seconds};
}

double gb_per_second(const SmvmReport& r) { return per_second(r.bytes, r.runs.steady_seconds()) * 1e-9; }

}  // namespace

std::string to_json(const SmvmReport& r) {
  nlohmann::ordered_json out;
  out["matrix"] = {{"file", r.options.matrix},
                   {"format", io::name_of(r.header.format)},
                   {"rows", r.header.rows},
                   {"columns", r.header.cols},
                   {"index", name_of(r.header.index)},
                   {"value", name_of(r.header.value)},
                   {"transposed", r.options.transpose}};
  out["vectors"] = r.vectors;
  out["items"] = r.header.rows;
  out["nnz"] = r.nnz;
  out["bytes"] = r.bytes;
  add_run(out, summary(r));
  out["gb_per_second"] = gb_per_second(r);
  add_files_and_stages(out, summary(r), r.unchecked, r.options.out);
  return dump(out);
}

std::string to_text(const SmvmReport& r) {
  std::string out =
      report_line("Matrix", fmt::format("{}{}: {} x {}, {}, {} and {}, {}", io::name_of(r.header.format),
                                        r.options.transpose ? ", transposed" : "", r.header.rows,
                                        r.header.cols, counted(r.nnz, "entry"), name_of(r.header.index),
                                        name_of(r.header.value), decimal_bytes(r.bytes)));
  if (!r.options.vectors.empty())
    out += report_line("Vectors", fmt::format("{}, in one pass of the matrix", r.vectors));
  out += run_lines(summary(r));
  out += report_line("Speed", byte_rate_text(per_second(r.bytes, r.runs.steady_seconds())) + ", " +
                                  rate_text(per_second(r.nnz, r.runs.steady_seconds()), "entry"));
  return out + memory_and_file_lines(summary(r), r.unchecked, r.options.out, "not written (--out y.npy)");
}

}  // namespace anabranch::apps
