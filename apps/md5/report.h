#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <anabranch/run.h>

#include "apps/common/repeated_run.h"
#include "apps/common/run_options_cli.h"
#include "apps/md5/found_words.h"
#include "apps/md5/rules.h"

/// What `anabranch md5` says of its work: docs/md5.md.
namespace anabranch::apps {

struct Md5Options {
  std::string digests;             ///< a file, or one digest
  std::vector<std::string> lists;  ///< of words
  std::vector<NamedRule> rules;
  bool explain = false;
  RunChoice run;
};

struct Md5Report {
  Md5Options options;
  std::int64_t digests_given = 0, digests_distinct = 0, digests_found = 0;
  std::int64_t words = 0, too_long = 0, candidates = 0;  ///< of the last run, as far as it went
  bool stopped_early = false;                            ///< because there was nothing left to find
  std::vector<FoundWord> found;                          ///< kept only for JSON
  std::int64_t memory = 0;                               ///< the bound
  double open_seconds = 0;                               ///< reading the digests, opening the lists
  double total_seconds = 0;
  RepeatedRun runs;  ///< what digests hold of the bound is counted, too

  std::int32_t candidates_per_word() const { return number_of_candidates(rules_of(options.rules)); }
  /// For which words streamed by, in the last run, without the making of kernels.
  double stream_seconds() const;
};

/// One JSON object with a newline.
std::string to_json(const Md5Report& report);
/// A few readable lines.
std::string to_text(const Md5Report& report);

}  // namespace anabranch::apps
