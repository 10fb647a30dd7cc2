#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include <anabranch/io.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/common/exit_status.h"
#include "apps/common/input_files.h"
#include "apps/common/matrix_types.h"
#include "apps/common/terminal.h"
#include "apps/smvm/program.h"

namespace anabranch::apps {

namespace {

constexpr std::array<std::int32_t, 4> small_indptr{0, 2, 2, 5};
constexpr std::array<std::int32_t, 5> small_indices{0, 2, 0, 1, 2};
constexpr std::array<double, 5> small_values{1, 2, 3, 4, 5};

/// Traffic of an item, from the averages of the whole stream.
struct BytesPerItem {
  double entries = 0, streamed = 0, gathered = 0;
  std::size_t column = 0, value = 0, offset = 0;
};

/// Nothing where there are no items.
std::optional<BytesPerItem> bytes_per_item(const SourceInfo& info, std::size_t column, std::size_t value) {
  const auto items = static_cast<double>(info.items.value_or(0));
  if (items == 0) return {};
  BytesPerItem bytes{.column = column, .value = value};
  bytes.entries = static_cast<double>(info.work.value_or(0)) / items;
  bytes.offset = info.arrays[0].offsets == OffsetType::int32 ? 4 : 8;
  bytes.streamed = bytes.entries * static_cast<double>(column + value) + static_cast<double>(bytes.offset);
  bytes.gathered = bytes.entries * static_cast<double>(value);
  return bytes;
}

std::string to_text(const std::optional<BytesPerItem>& bytes) {
  if (!bytes) return "no items: no bytes\n";
  return fmt::format(
      "estimated bytes per item, {:.1f} entries on average: {:.0f} streamed ({} a column, {} a value, {} an "
      "offset), "
      "{:.0f} gathered from x, {} written\n",
      bytes->entries, bytes->streamed, bytes->column, bytes->value, bytes->offset, bytes->gathered,
      bytes->value);
}

nlohmann::ordered_json to_json(const std::optional<BytesPerItem>& bytes) {
  if (!bytes) return nullptr;
  return {{"entries", bytes->entries},
          {"streamed", bytes->streamed},
          {"gathered", bytes->gathered},
          {"written", bytes->value}};
}

template <class I, class T>
void explain(const Source<Vector<std::tuple<I, T>>>& source, std::int64_t cols, Explain form) {
  // Programs are not specialised to x: one element is as good as all.
  const Vector<T> x = Vector<T>(Index{std::min<std::int64_t>(cols, 1)});
  const auto program = compile(smvm<I, T>(stream_in(source), use(x)));
  const SourceInfo& info = source.info();
  const std::optional<BytesPerItem> bytes = bytes_per_item(info, sizeof(I), sizeof(T));
  const char *index = name_of(detail::scalar_type<I>), *value = name_of(detail::scalar_type<T>);
  switch (form) {
    case Explain::text:
      return print(fmt::format("smvm: y = A x over {}, {} columns and {} values\n\n{}\n{}", info.name, index,
                               value, program.explain(), to_text(bytes)));
    case Explain::json: {
      auto report = nlohmann::ordered_json::parse(program.explain(form));
      report["matrix"] = {{"file", info.name}, {"index", index}, {"value", value}};
      report["bytes_per_item"] = to_json(bytes);
      return print(report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    }
    case Explain::dot:
      return print(program.explain(form));
  }
}

void explain_smvm(const std::string& matrix, Explain form, Interrupt& interrupt) {
  if (matrix.empty()) return explain(io::csr_view(3, 3, small_indptr, small_indices, small_values), 3, form);
  check_input("MATRIX", matrix);
  const io::CsrHeader header = io::inspect_matrix(matrix);
  with_types_of(header, matrix, [&]<class I, class T>(std::type_identity<I>, std::type_identity<T>) {
    const auto source = [&] {
      const Interrupt::AtOnce sorting_cannot_be_stopped(interrupt);
      return io::open_csr<I, T>(matrix);
    }();
    explain(source, header.cols, form);
  });
}

}  // namespace

void add_explain(CLI::App& app, Action& chosen) {
  CLI::App* sub =
      app.add_subcommand("explain", "Show what is made of a program and why: forms, kernels, bytes");
  auto program = std::make_shared<std::string>();
  auto matrix = std::make_shared<std::string>();
  sub->add_option("PROGRAM", *program, "smvm")
      ->required()
      ->check(CLI::IsMember({"smvm"}))
      ->option_text("NAME");
  sub->add_option("MATRIX", *matrix, "The matrix it would run over; default: a small one in memory")
      ->option_text("FILE");
  auto form = std::make_shared<Explain>(Explain::text);
  CLI::Option* json = sub->add_flag_callback(
                             "--json", [form] { *form = Explain::json; }, "Print one JSON object")
                          ->disable_flag_override();
  sub->add_flag_callback(
         "--dot", [form] { *form = Explain::dot; }, "Print a graph, for Graphviz")
      ->excludes(json)
      ->disable_flag_override();
  sub->footer(exit_statuses({{bad_data}}));
  sub->callback([program, matrix, form, &chosen] {
    chosen = [matrix, form](Interrupt& interrupt) {
      explain_smvm(*matrix, *form, interrupt);
      return done;
    };
  });
}

}  // namespace anabranch::apps
