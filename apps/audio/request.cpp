#include "apps/audio/request.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "apps/common/output_files.h"
#include "apps/common/quantities.h"
#include "apps/common/trimmed.h"
#include "apps/common/usage_error.h"

namespace anabranch::apps {

namespace {

constexpr std::array<std::pair<const char*, Feature>, 10> names{{
    {"mean", Feature::mean},
    {"rms", Feature::rms},
    {"zero_crossing_rate", Feature::zero_crossing_rate},
    {"spectral_centroid", Feature::spectral_centroid},
    {"spectral_rolloff", Feature::spectral_rolloff},
    {"spectral_flatness", Feature::spectral_flatness},
    {"autocorrelation", Feature::autocorrelation},
    {"lpc", Feature::lpc},
    {"melspectrogram", Feature::melspectrogram},
    {"mfcc", Feature::mfcc},
}};

std::filesystem::path common_folder(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::filesystem::path out;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end() && *i == *j; ++i, ++j) out /= *i;
  return out;
}

void name(std::vector<AudioInput>& inputs) {
  namespace fs = std::filesystem;
  const auto place = [](const std::string& path) { return fs::absolute(path).lexically_normal(); };
  fs::path folder = place(inputs[0].path).parent_path();
  for (const AudioInput& input : inputs) folder = common_folder(folder, place(input.path).parent_path());
  std::map<std::string, std::string> taken;
  for (AudioInput& input : inputs) {
    fs::path relative = place(input.path).lexically_relative(folder);
    // What is left of "...wav" would lead out of the folder that an .npz is unpacked to.
    if (relative.stem() != "." && relative.stem() != "..") relative.replace_extension();
    input.name = relative.generic_string();
    const auto [other, is_new] = taken.try_emplace(input.name, input.path);
    if (!is_new)
      throw UsageError(fmt::format(
          "{} and {}: the arrays of both would be called {}/...; give them to two runs, or write .csv, which "
          "names files by their paths",
          other->second, input.path, input.name));
  }
}

void look_at(AudioInput& input, const AudioRequest& request) {
  input.header = io::inspect_audio(input.path);
  const auto refuse = [&](const std::string& why) { throw DataError(input.path + ": " + why); };
  if (!input.header.frames)
    refuse(
        "the file does not say how long it is; it is cut off, or has to be written to a file of a known "
        "length");
  input.samples = input.header.frames.value_or(0);
  if (input.samples == 0) refuse("there are no samples in it");
  const bool has_bands = request.wants(Feature::melspectrogram) || request.wants(Feature::mfcc);
  if (const double highest = static_cast<double>(input.header.rate) / 2; has_bands && request.fmin >= highest)
    throw UsageError(fmt::format("--fmin {}: {} has {} a second, and so no frequencies from {} Hz on",
                                 request.fmin, input.path, counted(input.header.rate, "sample"), highest));
  if (!request.segments.empty()) return;
  const std::int64_t length = request.options.frame_length, padding = request.padding();
  if (request.pad_mode == PadMode::reflect && input.samples <= padding)
    refuse(fmt::format("{}; --pad-mode reflect mirrors {} and takes one more",
                       counted(input.samples, "sample"), padding));
  if (input.samples + 2 * padding < length)
    refuse(fmt::format("{} {} less than a frame of {} (--frame-length)", counted(input.samples, "sample"),
                       input.samples == 1 ? "is" : "are", length));
  input.windows = (input.samples + 2 * padding - length) / request.options.hop_length + 1;
}

}  // namespace

bool AudioRequest::wants(Feature feature) const {
  return std::find(wanted.begin(), wanted.end(), feature) != wanted.end();
}
bool AudioRequest::wants_spectrum() const { return std::any_of(wanted.begin(), wanted.end(), is_spectral); }

const char* name_of(Feature feature) {
  for (const auto& [name, which] : names)
    if (which == feature) return name;
  return "?";
}

std::vector<std::string> feature_names() {
  std::vector<std::string> all;
  for (const auto& [name, which] : names) all.emplace_back(name);
  return all;
}

std::vector<Feature> features_named(const std::string& list) {
  std::vector<Feature> out;
  if (list == "all") {
    for (const auto& [name, which] : names) out.push_back(which);
    return out;
  }
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string one = std::string(trimmed(std::string_view(list).substr(begin, end - begin)));
    begin = end + 1;
    const auto* const found =
        std::find_if(names.begin(), names.end(), [&](const auto& n) { return one == n.first; });
    if (one == "all") throw UsageError("--features: 'all' are all of them already: it stands alone");
    if (found == names.end())
      throw UsageError(fmt::format("--features: '{}' is no feature; there are {}, and all of them by 'all'",
                                   one, fmt::join(feature_names(), ", ")));
    if (std::find(out.begin(), out.end(), found->second) != out.end())
      throw UsageError(fmt::format("--features: {} is there twice", one));
    out.push_back(found->second);
  }
  return out;
}

std::vector<AudioInput> inputs_of(const AudioRequest& request) {
  std::vector<AudioInput> out;
  for (const std::string& path : request.inputs) out.push_back({path, {}, {}, 0, 0});
  if (out.size() > 1 && extension_of(request.out) == ".npz") name(out);
  for (AudioInput& input : out) look_at(input, request);
  return out;
}

}  // namespace anabranch::apps
