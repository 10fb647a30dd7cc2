#include "apps/common/output_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <anabranch/io.h>

#include <fmt/format.h>

#include "apps/common/usage_error.h"

namespace anabranch::apps {

namespace {

/// Also of files that are not there yet.
bool same_file(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  if (a.empty() || b.empty()) return false;
  if (std::error_code ignored; fs::equivalent(a, b, ignored)) return true;
  const auto place = [](const std::string& file) {
    std::error_code failed;
    fs::path whole = fs::absolute(file, failed);
    // A link to what is not there yet leads to where it will be.
    for (int links = 0; links < 40 && fs::is_symlink(fs::symlink_status(whole, failed)); ++links)
      whole = whole.parent_path() / fs::read_symlink(whole, failed);
    const fs::path found = fs::weakly_canonical(whole, failed);
    return failed ? whole.lexically_normal() : found;
  };
  return place(a) == place(b);
}

void refuse_standard_output(const std::string& option, const std::string& file) {
  if (file == "-")
    throw UsageError(option + " -: standard output is not supported here; a file of this name is ./-");
}

}  // namespace

void check_outputs(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs) {
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    refuse_standard_output(outputs[o].name, outputs[o].file);
    for (const NamedFile& input : inputs)
      if (same_file(outputs[o].file, input.file))
        throw UsageError(
            fmt::format("{} {}: this is {} itself", outputs[o].name, outputs[o].file, input.name));
    for (std::size_t before = 0; before < o; ++before)
      if (same_file(outputs[o].file, outputs[before].file))
        throw UsageError(fmt::format("{} {}: this is the file of {}", outputs[o].name, outputs[o].file,
                                     outputs[before].name));
  }
  for (const NamedFile& output : outputs)
    if (!output.file.empty()) io::NpyWriter(output.file, ScalarType::float64);
}

std::string extension_of(const std::string& file) {
  std::string extension = std::filesystem::path(file).extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

void check_extension(const char* option, const std::string& file, std::initializer_list<const char*> formats,
                     const char* what) {
  refuse_standard_output(option, file);
  const std::string extension = extension_of(file);
  if (file.empty() || (extension.empty() && formats.size() == 1)) return;
  if (std::find(formats.begin(), formats.end(), extension) != formats.end()) return;
  throw UsageError(fmt::format("{} {}: {} as {}, {}", option, file, what, fmt::join(formats, " or "),
                               extension.empty()
                                   ? "which the end of the name has to say"
                                   : "not as " + std::filesystem::path(file).extension().string()));
}

}  // namespace anabranch::apps
