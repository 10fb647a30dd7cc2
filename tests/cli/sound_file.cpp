#include "sound_file.h"

#include <sndfile.h>

#include "support/catch.h"

namespace cli_test {

void write_sound(const std::string& path, int format, const std::vector<std::int16_t>& samples) {
  SF_INFO info{};
  info.samplerate = 22'050;
  info.channels = 1;
  info.format = format;
  SNDFILE* const file = ::sf_open(path.c_str(), SFM_WRITE, &info);
  REQUIRE(file);
  const auto frames = static_cast<sf_count_t>(samples.size());
  REQUIRE(::sf_writef_short(file, samples.data(), frames) == frames);
  ::sf_close(file);
}

}  // namespace cli_test
