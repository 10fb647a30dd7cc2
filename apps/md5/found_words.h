#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <anabranch/run.h>
#include <anabranch/sink.h>

#include "apps/md5/digests.h"
#include "apps/md5/program.h"

/// What becomes of the words that `suspects` gives.
namespace anabranch::apps {

/// A digest, and the first candidate that has it.
struct FoundWord {
  std::string digest, word;
};

/// Takes each chunk's words, has the candidates of those that are suspects computed, and gives those whose digest is looked for,
/// each digest once.
class FoundWords {
 public:
  /// `found` is called as soon as some are found, from one thread at a time, and `all` when there is nothing left to find. `options`
  /// are for the candidates of suspects.
  FoundWords(const DigestTable& digests, std::vector<Rule> rules, RunOptions options,
             std::function<void(const std::vector<FoundWord>&)> found, std::function<void()> all);
  ~FoundWords();
  FoundWords(const FoundWords&) = delete;
  FoundWords& operator=(const FoundWords&) = delete;

  /// Has the kernels made that the candidates of suspects are computed with: else the stream waits for them at the first suspect.
  RunReport prepare() const;
  Sink<std::tuple<Scalar<bool>, Vector<std::uint8_t>>> sink() const;
  /// Of the run that goes on or was the last one.
  std::int64_t words() const;
  std::int64_t too_long() const;    ///< words of more than `longest_word` bytes
  std::int64_t candidates() const;  ///< that were hashed: a longer one is none
  std::int64_t found() const;

 private:
  class Taking;
  class Pass;
  std::shared_ptr<Taking> taking_;
};

}  // namespace anabranch::apps
