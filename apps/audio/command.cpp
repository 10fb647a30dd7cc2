#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include <anabranch/io.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/audio/extraction.h"
#include "apps/audio/feature_file.h"
#include "apps/audio/report.h"
#include "apps/audio/tables.h"
#include "apps/commands.h"
#include "apps/common/exit_status.h"
#include "apps/common/idle_options.h"
#include "apps/common/input_files.h"
#include "apps/common/numbers.h"
#include "apps/common/output_files.h"
#include "apps/common/process_memory.h"
#include "apps/common/proposals.h"
#include "apps/common/quantities.h"
#include "apps/common/stopwatch.h"
#include "apps/common/terminal.h"
#include "apps/common/usage_error.h"

namespace anabranch::apps {

namespace {

constexpr std::int64_t longest_frame = 1 << 24;
constexpr std::int64_t largest_lpc_order = 128;  // four kernels for each order, which take a while to compile

/// Options of features that are not asked for, and of windows that there are not.
void refuse_idle_options(const CLI::App& sub, const AudioRequest& r) {
  const auto none_of = [](const char* features) { return fmt::format("--features has no {}", features); };
  if (!r.wants_spectrum()) {
    const std::string why = none_of("spectral feature, nor melspectrogram, nor mfcc");
    refuse_idle(sub, {"--window", "--win-length"}, why);
    if (!r.segments.empty())
      refuse_idle(sub, {"--frame-length"}, "segments have their own lengths, and " + why);
  }
  if (!r.wants(Feature::melspectrogram) && !r.wants(Feature::mfcc))
    refuse_idle(sub, {"--n-mels", "--fmin", "--fmax"}, none_of("melspectrogram, nor mfcc"));
  if (!r.wants(Feature::mfcc)) refuse_idle(sub, {"--n-mfcc"}, none_of("mfcc"));
  if (!r.wants(Feature::autocorrelation)) refuse_idle(sub, {"--max-size"}, none_of("autocorrelation"));
  if (!r.wants(Feature::lpc)) refuse_idle(sub, {"--lpc-order"}, none_of("lpc"));
  if (!r.options.center) refuse_idle(sub, {"--pad-mode"}, "nothing is padded with --center false");
}

/// What of the options fits together.
void check(const AudioRequest& r) {
  const auto refuse = [](const std::string& why) { throw UsageError(why); };
  const std::int64_t length = r.options.frame_length;
  if (r.wants_spectrum() && (length < 2 || (length & (length - 1)) != 0))
    refuse(
        fmt::format("--frame-length {}: the Fourier transform takes a power of two from 2 on, such as 2048; "
                    "shorter windows are "
                    "padded to one by --win-length {}",
                    length, length));
  if (r.win_length > length)
    refuse(fmt::format("--win-length {}: more than --frame-length {}", r.win_length, length));
  if (r.segments.empty() && r.wants(Feature::lpc) && length <= r.options.lpc_order)
    refuse(fmt::format("--lpc-order {}: --frame-length has to be larger", r.options.lpc_order));
  if (r.segments.empty() && r.wants(Feature::autocorrelation) && r.options.max_size > length)
    refuse(fmt::format("--max-size {}: a frame of {} has no more lags (--frame-length)", r.options.max_size,
                       counted(length, "sample")));
  if (r.wants(Feature::mfcc) && r.n_mfcc > r.n_mels)
    refuse(fmt::format("--n-mfcc {}: more than --n-mels {}", r.n_mfcc, r.n_mels));
  if (!std::isfinite(r.fmin) || (r.fmax && !std::isfinite(*r.fmax)))
    refuse("--fmin and --fmax: finite numbers of Hz");
  if (!(r.fmin >= 0) || (r.fmax && !(*r.fmax > r.fmin))) refuse("--fmin and --fmax: 0 <= fmin < fmax");
  if (!r.segments.empty() && r.inputs.size() > 1) refuse("--segments: of one input; there are several");
}

SegmentLengths lengths_of_segments(const AudioRequest& r) {
  SegmentLengths out;
  if (r.wants(Feature::lpc)) {
    out.least = r.options.lpc_order + 1;
    out.text = fmt::format("at least {}, one more than --lpc-order", out.least);
  }
  if (r.wants_spectrum()) {
    out.most = r.options.frame_length;
    out.text += fmt::format(", and at most {} (--frame-length)", out.most);
  }
  return out;
}

std::vector<Segment> segments_of(const AudioRequest& r, const AudioInput& input) {
  if (r.segments.empty()) return {};
  auto out = read_segments(r.segments, r.segment_unit, static_cast<double>(input.header.rate), input.samples,
                           lengths_of_segments(r), r.run.memory_bound());
  if (out.empty()) throw DataError(r.segments + ": there are no segments in it");
  return out;
}

/// Of frames, which libsndfile compares, or of pages, which have been compared when the file was opened.
bool carries_checksums(const io::AudioHeader& header) {
  return header.format.starts_with("FLAC") || header.format.starts_with("OGG");
}

AudioReport extract(const AudioRequest& request, Interrupt& interrupt) {
  const Stopwatch watch;
  AudioReport report;
  report.request = request;
  report.memory = request.run.memory_bound();
  std::optional<Interrupt::AtOnce> looking_cannot_be_stopped(interrupt);
  std::vector<AudioInput> inputs = inputs_of(request);
  const std::vector<Segment> segments = segments_of(request, inputs[0]);
  looking_cannot_be_stopped.reset();
  if (!segments.empty()) inputs[0].windows = std::ssize(segments);
  report.open_seconds = watch.seconds();
  Extraction extraction(request, segments, inputs[0]);
  if (request.explain) {
    print(extraction.explain());
    return report;
  }
  FeatureFile file(request, interrupt.token());
  ProgressLine progress(request.run.progress);
  RunOptions run = request.run.options(interrupt);
  for (const AudioInput& input : inputs) {
    ++report.files;
    run.progress = [&](Progress p) {
      p.total_items = input.windows;
      progress.show(p);
    };
    for (int i = 0; i < request.run.repeat; ++i) {
      if (inputs.size() > 1) progress.label(fmt::format("file {} of {}: ", report.files, inputs.size()));
      const bool told = i + 1 == request.run.repeat;
      run.trace = told ? request.run.trace : "";
      run.report = told ? request.run.report : "";
      run.only_failures = &input != &inputs.back() && !(run.trace.empty() && run.report.empty());
      report.runs.last = extraction.run(input, run);
      report.runs.add_part(static_cast<std::size_t>(i));
    }
    file.add(input, segments, extraction.spools());
    report.windows += input.windows;
    report.audio_seconds += static_cast<double>(input.samples) / static_cast<double>(input.header.rate);
    if (!carries_checksums(input.header)) report.unchecked.push_back(input.path);
    report.bands.raise_to(extraction.bands());
    if (std::find(report.rates.begin(), report.rates.end(), input.header.rate) == report.rates.end())
      report.rates.push_back(input.header.rate);
  }
  progress.end();
  file.commit();
  report.not_finite = file.not_finite();
  std::int64_t& peak = report.runs.last.peak_resident_bytes;  // the run took it before the file was written
  peak = std::max(peak, peak_resident_bytes());
  report.total_seconds = watch.seconds();
  return report;
}

void run_audio(const AudioRequest& request, Interrupt& interrupt) {
  std::vector<NamedFile> inputs{{"the file of segments", request.segments}};
  for (const std::string& path : request.inputs) inputs.push_back({"an input", path});
  for (const std::string& path : request.inputs) check_input("IN", path);
  check_input("--segments", request.segments);
  check_outputs(inputs,
                {{"--out", request.out}, {"--trace", request.run.trace}, {"--report", request.run.report}});
  const AudioReport report = extract(request, interrupt);
  if (!request.explain) print(request.run.json ? to_json(report) : to_text(report));
}

}  // namespace

void add_audio(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("audio", "Features of the windows of audio files, as librosa has them");
  struct Given : AudioRequest {
    std::string features = "rms,zero_crossing_rate,spectral_centroid,spectral_rolloff,spectral_flatness,mfcc";
    std::string center = "true", pad = "constant", unit = "samples";
    std::int64_t hop = 0;
    double most = 0;
  };
  auto given = std::make_shared<Given>();
  FeatureOptions& options = given->options;
  sub->add_option("IN", given->inputs, "WAV, FLAC, OGG; channels are mixed to one by their mean")
      ->required()
      ->option_text("FILE...");
  CLI::Option* out = sub->add_option("--out", given->out,
                                     "Features as .npz (arrays) or .csv (a line a window)\n"
                                     "An .npz has an array for each feature. Not needed with --explain")
                         ->required()
                         ->option_text("FILE");
  sub->add_option("--features", given->features,
                  "Some of these, with commas between, or all: " +
                      CLI::detail::find_and_replace(given->features, ",", ", ") +
                      " (default: these), mean, autocorrelation, lpc, melspectrogram")
      ->check(some_of(feature_names(), "all"))
      ->option_text("LIST");
  const auto number = [&](const char* name, std::int64_t& to, const char* text, std::int64_t least,
                          std::int64_t most) {
    return sub->add_option(name, to, text)->transform(whole_number(least, most))->option_text("N");
  };
  number("--frame-length", options.frame_length, "Samples a window; for spectra a power of 2; default: 2048",
         1, longest_frame);
  number("--hop-length", given->hop, "Samples from window to window; default: a quarter of one", 1,
         INT64_MAX / 4);
  sub->add_option("--center", given->center,
                  "true: window k is around sample k * hop, and the signal padded; false: it begins there; "
                  "default: true")
      ->check(CLI::IsMember({"true", "false"}))
      ->option_text("BOOL");
  sub->add_option("--pad-mode", given->pad, "constant (zeros), edge or reflect; default: constant")
      ->check(CLI::IsMember({"constant", "edge", "reflect"}))
      ->option_text("MODE");
  sub->add_option("--window", given->window,
                  "hann, hamming, blackman or boxcar; default: hann\nThe window function of spectra")
      ->check(CLI::IsMember(window_names()))
      ->option_text("NAME");
  CLI::Option* win_length = number("--win-length", given->win_length,
                                   "Samples under --window, in the middle; default: all", 1, longest_frame);
  sub->add_option("--segments", given->segments, "Windows of any lengths instead: lines BEGIN LENGTH")
      ->option_text("FILE")
      ->excludes("--hop-length")
      ->excludes("--center")
      ->excludes("--pad-mode")
      ->excludes(win_length);
  sub->add_option("--segment-unit", given->unit, "samples or seconds; default: samples")
      ->check(CLI::IsMember({"samples", "seconds"}))
      ->needs("--segments")
      ->option_text("UNIT");
  number("--n-mels", given->n_mels, "Mel bands; default: 128", 1, 1 << 16);
  number("--n-mfcc", given->n_mfcc, "Coefficients of mfcc; default: 20", 1, 1 << 16);
  sub->add_option("--fmin", given->fmin, "Where the mel bands begin; default: 0")
      ->check(any_number())
      ->option_text("HZ");
  CLI::Option* fmax = sub->add_option("--fmax", given->most, "Where they end; default: half of the rate")
                          ->check(any_number())
                          ->option_text("HZ");
  number("--max-size", options.max_size, "Lags of autocorrelation; default: 128", 1, longest_frame);
  number("--lpc-order", options.lpc_order, "Of lpc, 128 at most; default: 16", 1, largest_lpc_order);
  const RunChoiceOptions run(*sub, "what is read, computed and written", "windows", given->explain);
  sub->get_option("--explain")->each([out](const std::string&) { out->required(false); });
  sub->footer(exit_statuses({{bad_data}, {no_backend}}));
  sub->callback([given, sub, run, fmax, &chosen] {
    AudioRequest& request = *given;
    request.run = run.chosen({"--out"});
    check_extension("--out", request.out, {".npz", ".csv"}, "features are written");
    request.wanted = features_named(given->features);
    FeatureOptions& frame = request.options;
    frame.hop_length = given->hop > 0 ? given->hop : std::max<std::int64_t>(frame.frame_length / 4, 1);
    frame.center = given->center == "true";
    request.pad_mode = given->pad == "edge"      ? PadMode::edge
                       : given->pad == "reflect" ? PadMode::reflect
                                                 : PadMode::constant;
    if (given->unit == "seconds") request.segment_unit = SegmentUnit::seconds;
    if (request.win_length == 0) request.win_length = frame.frame_length;
    if (fmax->count() > 0) request.fmax = given->most;
    refuse_idle_options(*sub, request);
    check(request);
    frame.cosines = window_cosines(request.window);
    chosen = [given](Interrupt& interrupt) {
      run_audio(*given, interrupt);
      return done;
    };
  });
}

}  // namespace anabranch::apps
