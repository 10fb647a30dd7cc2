#include "apps/audio/extraction.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "apps/audio/table_memory.h"
#include "apps/common/quantities.h"

namespace anabranch::apps {

namespace {

std::int64_t columns_of(Feature feature, const AudioRequest& request) {
  switch (feature) {
    case Feature::autocorrelation:
      return request.options.max_size;
    case Feature::lpc:
      return request.options.lpc_order + 1;
    case Feature::melspectrogram:
      return request.n_mels;
    case Feature::mfcc:
      return request.n_mfcc;
    case Feature::mean:
    case Feature::rms:
    case Feature::zero_crossing_rate:
    case Feature::spectral_centroid:
    case Feature::spectral_rolloff:
    case Feature::spectral_flatness:
      return 0;
  }
  return 0;
}

}  // namespace

struct Extraction::Programs {
  using Pass = Program<std::tuple<Acc<Scalar<std::int64_t>>, Acc<Scalar<float>>>, Scalar<std::int64_t>,
                       Scalar<float>, Vector<std::int64_t>, Matrix<float>>;
  using Second = Program<Acc<Scalar<std::int64_t>>, Scalar<float>>;

  Programs(const AudioRequest& of, std::span<const Segment> segments, const AudioInput& first)
      : request(of), tables(table_memory(of)) {
    for (const Feature feature : request.wanted)
      spools.push_back(std::make_unique<Spool>(name_of(feature), columns_of(feature, request)));
    if (request.wants(Feature::mfcc)) decibels = std::make_unique<Spool>("mel spectrum", request.n_mels);
    const std::int64_t memory = request.run.chunks() ? request.run.memory_bound() : INT64_MAX;
    std::shared_ptr<SourceBase> source;
    if (request.segments.empty()) {
      source = signal = std::make_shared<SignalSource>(request.padding(), request.pad_mode, memory);
      signal->open(first.path, first.header);
    } else {
      source = std::make_shared<SegmentSource>(first.path, first.header, segments, memory);
    }
    pass = std::make_unique<Pass>(
        compile<Scalar<std::int64_t>, Scalar<float>, Vector<std::int64_t>, Matrix<float>>(
            [&](const auto& samples, const auto& rate, const auto& begins, const auto& weights) {
              return write_all(stream_in(Source<Vector<float>>(source)), {samples, rate, begins, weights});
            }));
    if (decibels)
      second = std::make_unique<Second>(compile<Scalar<float>>([&](const auto& greatest) {
        const auto transform = use(cosine_transform(request.n_mfcc, request.n_mels));
        return consume(write(cepstrum(stream_in(decibels->stream()), greatest, transform),
                             spool_of(Feature::mfcc).vectors()));
      }));
  }

  std::tuple<Acc<Scalar<std::int64_t>>, Acc<Scalar<float>>> write_all(const Seq<Vector<float>>& pieces,
                                                                      const SignalFacts& facts) {
    FeatureOptions options = request.options;
    if (request.wants_window_weights())
      options.window = window_weights(request.window, request.win_length, options.frame_length);
    const Windows windows = request.segments.empty() ? frames(pieces, facts, options) : Windows{pieces, {}};
    const FeatureSequences sequences = features(request.wanted, windows, facts, options);
    Acc<Scalar<std::int64_t>> rows = unit(std::int64_t{0});
    Acc<Scalar<float>> loudest = unit(0.0F);
    for (const auto& [feature, s] : sequences.values)
      rows = zip_with(plus, rows, consume(write(s, spool_of(feature).values())));
    for (const auto& [feature, s] : sequences.vectors) {
      rows =
          zip_with(plus, rows,
                   consume(write(s, (feature == Feature::mfcc ? *decibels : spool_of(feature)).vectors())));
      if (feature == Feature::mfcc) loudest = greatest(s);
    }
    return {rows, loudest};
  }

  Spool& spool_of(Feature feature) {
    const auto found = std::find(request.wanted.begin(), request.wanted.end(), feature);
    return *spools[static_cast<std::size_t>(found - request.wanted.begin())];
  }

  RunReport run(const AudioInput& input, const RunOptions& options) {
    if (signal) signal->open(input.path, input.header);
    for (const auto& spool : spools) spool->clear();
    if (decibels) decibels->clear();
    const auto rate = static_cast<double>(input.header.rate);
    MelFilters filters{Vector<std::int64_t>(Index{0}), Matrix<float>(Index{0, 0}), {}};
    if (request.wants(Feature::mfcc) || request.wants(Feature::melspectrogram))
      filters = mel_filters(
          rate, request.options.frame_length, request.n_mels, request.fmin, request.fmax.value_or(rate / 2),
          [&](std::int64_t bytes) {
            TableMemory(tables).claim(
                fmt::format("{}: the weights of {}", input.path, counted(request.n_mels, "mel band")), bytes);
          });
    bands = filters.bands;
    RunReport report;
    const auto results = pass->run(options, &report, Scalar<std::int64_t>(input.samples),
                                   Scalar<float>(static_cast<float>(rate)), filters.begins, filters.weights);
    if (second) run_second(std::get<1>(results), options, report);
    if (runs++ > 0) report.front_seconds = 0;
    return report;
  }

  void run_second(const Scalar<float>& loudest, const RunOptions& options, RunReport& report) const {
    RunOptions rest = options;  // what is written of a run is that of the pass over the signal
    rest.trace.clear();
    rest.report.clear();
    rest.only_failures = false;
    rest.progress = nullptr;
    RunReport of_rest;
    second->run(rest, &of_rest, loudest);
    report.seconds += of_rest.seconds;
    report.front_seconds += of_rest.front_seconds;
    report.compile_seconds += of_rest.compile_seconds;
    report.kernels_compiled += of_rest.kernels_compiled;
    report.kernels_from_disk += of_rest.kernels_from_disk;
    report.peak_bytes = std::max(report.peak_bytes, of_rest.peak_bytes);
    report.peak_resident_bytes = std::max(report.peak_resident_bytes, of_rest.peak_resident_bytes);
  }

  const AudioRequest& request;
  TableMemory tables;  ///< what is left beside those that all files share
  std::vector<std::unique_ptr<Spool>> spools;
  std::unique_ptr<Spool> decibels;
  std::shared_ptr<SignalSource> signal;
  std::unique_ptr<Pass> pass;
  std::unique_ptr<Second> second;
  BandCounts bands;
  int runs = 0;  ///< over signals
};

Extraction::Extraction(const AudioRequest& request, std::span<const Segment> segments,
                       const AudioInput& first)
    : programs_(std::make_unique<Programs>(request, segments, first)) {}
Extraction::~Extraction() = default;

std::string Extraction::explain() const {
  return programs_->pass->explain() +
         (programs_->second ? "\nmfcc, of the mel spectra\n" + programs_->second->explain() : "");
}
RunReport Extraction::run(const AudioInput& input, const RunOptions& options) {
  return programs_->run(input, options);
}
const std::vector<std::unique_ptr<Spool>>& Extraction::spools() const { return programs_->spools; }
const BandCounts& Extraction::bands() const { return programs_->bands; }

}  // namespace anabranch::apps
