#pragma once

#include "io/base/file.h"

/// Whether an audio file has all of its samples. Of one that is cut off libsndfile reads what is there.
namespace anabranch::io::detail {

/// How many bytes belong to it: behind the end of Ogg streams may be others, a tag say, in whose presence libsndfile finds no length.
/// DataError where the file ends before its samples do, by the sizes that stand in it: WAV (RIFF, RIFX, RF64), W64, AIFF, CAF,
/// SVX, AU, VOC and NIST; of Ogg, where a page is damaged or missing, too. Of others libsndfile sees it itself, as of FLAC, or
/// nobody does. What is malformed otherwise is left to libsndfile, and a length that whoever wrote into a pipe did not know
/// may be any.
std::int64_t bytes_of_sound(const ReadFile& file);

}  // namespace anabranch::io::detail
