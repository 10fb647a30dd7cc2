#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cli_test {

/// A file of one channel and 22050 samples a second, as libsndfile writes it. `format`: SF_FORMAT_FLAC | SF_FORMAT_PCM_16.
void write_sound(const std::string& path, int format, const std::vector<std::int16_t>& samples);

}  // namespace cli_test
