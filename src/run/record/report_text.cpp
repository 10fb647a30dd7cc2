#include <array>
#include <string>

#include <fmt/format.h>

#include <anabranch/run_report.h>

#include <anabranch/detail/quantities.h>

#include "scheduler/budget.h"

/// RunReport for a person.
namespace anabranch {

namespace {

using detail::counted;
using scheduler::format_bytes;

/// "321.6 MB": powers of 1000, as files are counted.
std::string decimal_bytes(std::int64_t bytes) {
  constexpr std::array units{"bytes", "kB", "MB", "GB", "TB", "PB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 999.95 && unit + 1 < units.size(); ++unit) value /= 1000;
  return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, units[unit]);
}

class Lines {
 public:
  void add(const std::string& label, const std::string& text) {
    text_ += fmt::format("{:<9} {}\n", label, text);
  }
  /// Below a heading.
  void detail(const std::string& label, const std::string& text) { add("  " + label, text); }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

/// "8.1 M items/s, 2.62 GB/s"; what there is none of is left out.
std::string speed(std::int64_t items, std::int64_t work, std::int64_t bytes, double seconds) {
  std::string out;
  const auto add = [&](std::int64_t amount, auto text) {
    if (amount > 0 && seconds > 0)
      out += (out.empty() ? "" : ", ") + text(static_cast<double>(amount) / seconds);
  };
  const auto rate_of = [](const char* noun) {
    return [noun](double per_second) { return detail::rate_text(per_second, noun); };
  };
  add(items, rate_of("item"));
  if (work != items) add(work, rate_of("element"));
  add(bytes, detail::byte_rate_text);
  return out;
}

std::string range(const Spread& spread, const char* what) {
  if (spread.least == spread.most) return counted(spread.most, what);
  return fmt::format("{} to {} (median {})", spread.least, counted(spread.most, what), spread.median);
}

std::string byte_range(const Spread& spread) {
  if (spread.least == spread.most) return format_bytes(spread.most);
  return fmt::format("{} to {} (median {})", format_bytes(spread.least), format_bytes(spread.most),
                     format_bytes(spread.median));
}

void add_whole(Lines& lines, const RunReport& r) {
  if (r.cancelled)
    lines.add("Cancelled", r.error);
  else if (!r.error.empty())
    lines.add("Failed", r.error);
  lines.add(
      "Run",
      fmt::format("{}, {}: {:.4f} s, of which passes {:.4f} s, kernels {:.4f} s ({} compiled, {} from disk)",
                  r.backend.empty() ? "no back end" : r.backend, counted(r.threads, "thread"), r.seconds,
                  r.front_seconds, r.compile_seconds, r.kernels_compiled, r.kernels_from_disk));
  lines.add("Memory",
            fmt::format("held at most {}{}; the process at its peak {}", format_bytes(r.peak_bytes),
                        r.memory_bound > 0 ? " of " + format_bytes(r.memory_bound) : ", without a bound",
                        format_bytes(r.peak_resident_bytes)));
}

void add_decisions(Lines& lines, const StageReport& s) {
  // Of many those that begin, where most is learned, and the last ones.
  constexpr std::size_t first = 16, last = 4;
  for (std::size_t d = 0; d < s.decisions.size(); ++d) {
    const ChunkDecision& decision = s.decisions[d];
    if (d == first && s.decisions.size() > first + last) {
      d = s.decisions.size() - last - 1;
      lines.add("", "... " + counted(static_cast<std::int64_t>(d + 1 - first), "more decision") + " ...");
      continue;
    }
    const std::string chunks = decision.first == decision.last
                                   ? fmt::format("{}", decision.first)
                                   : fmt::format("{}-{}", decision.first, decision.last);
    lines.add(d == 0 ? "  chunk" : "", fmt::format("{:<11} {}", chunks, decision.text));
  }
}

void add_stage(Lines& lines, const StageReport& s, std::size_t number) {
  lines.add(
      fmt::format("Stream {}", number),
      fmt::format("{} ({}){}, scheduler {}{}", s.name, s.place, s.source.empty() ? "" : " of " + s.source,
                  s.scheduler, s.runs == 1 ? "" : ", " + counted(s.runs, "round")));
  lines.detail("passed",
               fmt::format("{}{}, {}, {} in {}", s.items,
                           s.total_items && s.runs == 1 && *s.total_items != s.items
                               ? " of " + counted(*s.total_items, "item")
                               : " " + detail::noun_for(s.items, "item"),
                           counted(s.work, "element"), decimal_bytes(s.bytes), counted(s.chunks, "chunk")));
  if (s.chunks == 0) return;
  lines.detail("time",
               fmt::format("{:.4f} s{}: reading {:.4f} s, for which computing waited {:.4f} s; computing "
                           "{:.4f} s; writing {:.4f} s",
                           s.seconds, s.in_pieces ? "; of all threads together" : "", s.read_seconds,
                           s.wait_seconds, s.compute_seconds, s.write_seconds));
  if (const std::string text = speed(s.items, s.work, s.bytes, s.seconds); !text.empty())
    lines.detail("speed", text);
  lines.detail("chunks", range(s.chunk_items, "item"));
  lines.add("", range(s.chunk_work, "element"));
  if (s.chunk_bytes.most > 0) lines.add("", byte_range(s.chunk_bytes));
  if (s.cut > 0) lines.add("", fmt::format("{} cut and tried again for lack of memory", s.cut));
  lines.detail("threads", fmt::format("{:.0f} % of their time computing", 100 * s.utilisation));
  lines.detail("ring", fmt::format("{:.1f} {} on average, at most {}, room for {}{}", s.mean_in_flight,
                                   s.in_pieces ? "read or computed at once" : "in flight", s.most_in_flight,
                                   s.ring, s.in_pieces ? " with those that wait for their turn" : ""));
  lines.detail("memory", fmt::format("at most {} held", format_bytes(s.peak_bytes)));
  for (std::size_t r = 0; r < s.reasons.size(); ++r)
    lines.add(r == 0 ? "  sizes" : "",
              fmt::format("{}: {}", counted(s.reasons[r].chunks, "chunk"), s.reasons[r].reason));
  add_decisions(lines, s);
}

}  // namespace

std::string to_text(const RunReport& report) {
  Lines lines;
  add_whole(lines, report);
  for (std::size_t s = 0; s < report.stages.size(); ++s) add_stage(lines, report.stages[s], s);
  return std::move(lines).text();
}

}  // namespace anabranch
