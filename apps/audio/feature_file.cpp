#include "apps/audio/feature_file.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "apps/audio/finite.h"
#include "apps/common/check_stop.h"
#include "apps/common/output_files.h"

namespace anabranch::apps {

namespace {

/// What is held on its way from a spool to the file, of rows and of text, however wide rows are: a row at least.
constexpr std::int64_t piece_bytes = 1 << 20;

std::int64_t row_bytes(const Spool& spool) {
  return spool.width() * static_cast<std::int64_t>(sizeof(float));
}

std::int64_t rows_of(const std::vector<std::unique_ptr<Spool>>& spools) { return spools[0]->rows(); }

/// When a window begins, in seconds; of one that is centred its middle.
double time_of(std::int64_t row, const AudioInput& input, const std::vector<Segment>& segments,
               std::int64_t hop) {
  const std::int64_t at = segments.empty() ? row * hop : segments[static_cast<std::size_t>(row)].begin;
  return static_cast<double>(at) / static_cast<double>(input.header.rate);
}
double duration_of(std::int64_t row, const AudioInput& input, const std::vector<Segment>& segments) {
  return static_cast<double>(segments[static_cast<std::size_t>(row)].length) /
         static_cast<double>(input.header.rate);
}

/// A field of a line, in quotes where it needs them (RFC 4180).
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace

FeatureFile::FeatureFile(const AudioRequest& request, std::stop_token stop)
    : request_(request), stop_(std::move(stop)) {
  for (const Feature feature : request.wanted) not_finite_.push_back({feature, 0, {}, 0});
  if (extension_of(request.out) == ".csv") {
    csv_ = std::make_unique<io::TextWriter>(request.out);
  } else {
    npz_ = std::make_unique<io::NpzWriter>(request.out);
  }
}

void FeatureFile::add(const AudioInput& input, const std::vector<Segment>& segments,
                      const std::vector<std::unique_ptr<Spool>>& spools) {
  if (npz_)
    add_arrays(input, segments, spools);
  else
    add_lines(input, segments, spools);
}

void FeatureFile::commit() {
  check_stop(stop_);
  if (npz_)
    npz_->commit();
  else
    csv_->commit();
}

template <class F>
void FeatureFile::in_pieces(std::int64_t rows, std::int64_t row_bytes, F&& f) const {
  const std::int64_t at_once = std::max<std::int64_t>(1, piece_bytes / row_bytes);
  for (std::int64_t row = 0; row < rows; row += at_once) {
    check_stop(stop_);
    f(row, std::min(at_once, rows - row));
  }
}

std::vector<NotFinite> FeatureFile::not_finite() const {
  std::vector<NotFinite> out;
  std::copy_if(not_finite_.begin(), not_finite_.end(), std::back_inserter(out),
               [](const NotFinite& of) { return of.values > 0; });
  return out;
}

void FeatureFile::look(std::size_t feature, const AudioInput& input, const std::vector<Segment>& segments,
                       std::int64_t row, std::int64_t width, const std::vector<float>& rows) {
  std::int64_t count = 0;
  for (const float value : rows) count += is_finite(value) ? 0 : 1;
  if (count == 0) return;
  NotFinite& to = not_finite_[feature];
  if (to.values == 0) {
    const auto first = std::find_if_not(rows.begin(), rows.end(), is_finite) - rows.begin();
    to.file = input.path;
    to.first_time = time_of(row + first / width, input, segments, request_.options.hop_length);
  }
  to.values += count;
}

void FeatureFile::add_arrays(const AudioInput& input, const std::vector<Segment>& segments,
                             const std::vector<std::unique_ptr<Spool>>& spools) {
  const std::string prefix = request_.inputs.size() > 1 ? input.name + "/" : "";
  const std::int64_t rows = rows_of(spools);
  const auto of_times = [&](const char* name, auto f) {
    npz_->begin(prefix + name, ScalarType::float64);
    std::vector<double> numbers;
    in_pieces(rows, sizeof(double), [&](std::int64_t row, std::int64_t count) {
      numbers.clear();
      for (std::int64_t i = 0; i < count; ++i) numbers.push_back(f(row + i));
      npz_->append<double>(numbers);
    });
    npz_->end(std::array{rows});
  };
  of_times("times",
           [&](std::int64_t row) { return time_of(row, input, segments, request_.options.hop_length); });
  if (!request_.segments.empty())
    of_times("durations", [&](std::int64_t row) { return duration_of(row, input, segments); });
  std::vector<float> numbers;
  for (std::size_t s = 0; s < spools.size(); ++s) {
    const auto& spool = spools[s];
    npz_->begin(prefix + spool->name(), ScalarType::float32);
    in_pieces(rows, row_bytes(*spool), [&](std::int64_t row, std::int64_t count) {
      numbers.resize(static_cast<std::size_t>(count * spool->width()));
      spool->read(row, count, numbers.data());
      look(s, input, segments, row, spool->width(), numbers);
      npz_->append<float>(numbers);
    });
    std::vector<std::int64_t> shape{rows};
    if (spool->columns() > 0) shape.push_back(spool->columns());
    npz_->end(shape);
  }
}

void FeatureFile::add_lines(const AudioInput& input, const std::vector<Segment>& segments,
                            const std::vector<std::unique_ptr<Spool>>& spools) {
  fmt::memory_buffer text;
  const auto put = [&](const char* format, const auto&... parts) {
    fmt::format_to(std::back_inserter(text), fmt::runtime(format), parts...);
  };
  const auto write_from = [&](std::int64_t size) {
    if (static_cast<std::int64_t>(text.size()) < size) return;
    csv_->append({text.data(), text.size()});
    text.clear();
  };
  const bool several = request_.inputs.size() > 1;
  if (!headed_) {
    put("{}time{}", several ? "file," : "", request_.segments.empty() ? "" : ",duration");
    for (const auto& spool : spools)
      for (std::int64_t c = 0; c < spool->width(); ++c)
        if (spool->columns() > 0) {
          put(",{}_{}", spool->name(), c);
          write_from(piece_bytes);
        } else {
          put(",{}", spool->name());
        }
    put("\n");
    headed_ = true;
  }
  std::vector<std::vector<float>> numbers(spools.size());
  std::int64_t bytes = 0;
  for (const auto& spool : spools) bytes += row_bytes(*spool);
  in_pieces(rows_of(spools), bytes, [&](std::int64_t row, std::int64_t count) {
    for (std::size_t s = 0; s < spools.size(); ++s) {
      numbers[s].resize(static_cast<std::size_t>(count * spools[s]->width()));
      spools[s]->read(row, count, numbers[s].data());
      look(s, input, segments, row, spools[s]->width(), numbers[s]);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      if (several) put("{},", quoted(input.path));
      put("{}", time_of(row + i, input, segments, request_.options.hop_length));
      if (!request_.segments.empty()) put(",{}", duration_of(row + i, input, segments));
      for (std::size_t s = 0; s < spools.size(); ++s)
        for (std::int64_t c = 0; c < spools[s]->width(); ++c) {
          put(",{}", numbers[s][static_cast<std::size_t>(i * spools[s]->width() + c)]);
          write_from(piece_bytes);
        }
      put("\n");
    }
  });
  write_from(0);
}

}  // namespace anabranch::apps
