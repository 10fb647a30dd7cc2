#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <anabranch/io/arrow.h>

#include <fmt/format.h>

#include "io/arrow/arrow_export.h"

/// A sequence as an Arrow stream: a thread computes it and hands its chunks over.
namespace anabranch::io::detail {

namespace {

/// Batches on their way from the run to who asks for them.
class Batches {
 public:
  ~Batches() {
    for (ArrowArray& batch : waiting_)
      if (batch.release) batch.release(&batch);
  }

  /// Waits until there is room. Throws Cancelled where nobody will ask any more, or the run is stopped.
  void put(const std::vector<ArrayInfo>& infos, const SinkChunk& chunk) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return std::ssize(waiting_) < most || abandoned_ || stopped_; });
    if (abandoned_) throw Cancelled("the stream was released");
    if (stopped_) throw Cancelled("the run was cancelled");
    ArrowArray& batch = waiting_.emplace_back();
    try {
      export_batch(infos, chunk.keeps ? counted(chunk) : chunk, batch);
    } catch (...) {
      waiting_.pop_back();
      throw;
    }
    changed_.notify_all();
  }
  /// There are no more, because of an error perhaps.
  void end(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    error_ = std::move(error);
    changed_.notify_all();
  }

  /// The next batch, or nothing at the end. Throws what ended the run.
  std::optional<ArrowArray> take() {
    std::unique_lock lock(mutex_);
    asks_ = true;
    changed_.wait(lock, [this] { return !waiting_.empty() || ended_; });
    asks_ = false;
    if (waiting_.empty()) {
      if (error_) std::rethrow_exception(error_);
      return std::nullopt;
    }
    const ArrowArray batch = waiting_.front();
    waiting_.pop_front();
    changed_.notify_all();
    return batch;
  }
  void abandon() {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    changed_.notify_all();
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  /// Whether batches have memory that may come back: not where whoever has them asks for another one, and there is none.
  bool are_out() const {
    const std::lock_guard lock(mutex_);
    return *out_ > 0 && !(asks_ && waiting_.empty());
  }

 private:
  static constexpr std::int64_t most = 2;

  /// The chunk, whose memory counts as out as long as somebody keeps some of it.
  SinkChunk counted(SinkChunk chunk) const {
    ++*out_;
    std::shared_ptr<void> token(nullptr, [out = out_](void*) { --*out; });
    // The memory is given back first, then it is no longer out.
    for (ArrayChunk& array : chunk.arrays)
      for (auto& component : array.data)
        component = {component.get(), [kept = component, token](const void*) mutable {
                       kept.reset();
                       token.reset();
                     }};
    return chunk;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ArrowArray> waiting_;
  std::exception_ptr error_;
  bool ended_ = false, abandoned_ = false, stopped_ = false, asks_ = false;
  const std::shared_ptr<std::atomic<int>> out_ =
      std::make_shared<std::atomic<int>>(0);  ///< batches live longer
};

class BatchSink final : public SinkBase {
 public:
  BatchSink(std::vector<SinkArray> arrays, Batches& batches) : batches_(batches) {
    info_.name = "arrow stream";
    info_.arrays = std::move(arrays);
    info_.keeps = true;
  }
  const SinkInfo& info() const override { return info_; }
  std::unique_ptr<SinkPass> begin(const SinkStart& start) override {
    return std::make_unique<Pass>(batches_, start);
  }

 private:
  class Pass final : public SinkPass {
   public:
    Pass(Batches& batches, const SinkStart& start) : batches_(batches), start_(start) {}
    void write(const SinkChunk& chunk) override { batches_.put(start_.arrays, chunk); }
    void finish() override {}
    void commit() override {}
    bool waits_for_memory() const override { return batches_.are_out(); }

   private:
    Batches& batches_;
    SinkStart start_;
  };

  Batches& batches_;
  SinkInfo info_;
};

class ArrowOutput {
 public:
  ArrowOutput(const anabranch::detail::Handle& sequence, const std::vector<SinkArray>& arrays,
              const ToArrowOptions& options, Place at)
      : arrays_(arrays), options_(options) {
    if (!options.names.empty() && options.names.size() != arrays.size())
      throw ProgramError(fmt::format("to_arrow ({}): {} names for {} arrays", to_string(at),
                                     options.names.size(), arrays.size()),
                         at);
    const auto written =
        anabranch::detail::write(sequence, std::make_shared<BatchSink>(arrays, batches_), at);
    program_ = anabranch::detail::compile({anabranch::detail::consume(written, at)}, {});
  }
  ~ArrowOutput() {
    stop_.request_stop();
    batches_.abandon();
  }

  static ArrowOutput& of(ArrowArrayStream* stream) {
    return *static_cast<ArrowOutput*>(stream->private_data);
  }

  static int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
    ArrowOutput& self = of(stream);
    return self.guarded([&] { export_schema(self.arrays_, self.options_.names, *out); });
  }
  static int get_next(ArrowArrayStream* stream, ArrowArray* out) {
    ArrowOutput& self = of(stream);
    *out = {};
    return self.guarded([&] {
      self.begin();
      if (const auto batch = self.batches_.take()) *out = *batch;
    });
  }
  static const char* get_last_error(ArrowArrayStream* stream) {
    const ArrowOutput& self = of(stream);
    return self.error_.empty() ? nullptr : self.error_.c_str();
  }
  static void release(ArrowArrayStream* stream) {
    delete &of(stream);
    stream->release = nullptr;
  }

 private:
  void begin() {
    if (thread_.joinable()) return;
    try {
      thread_ = std::jthread([this] { compute(); });
    } catch (const std::system_error& e) {
      throw ResourceError(std::string("a thread could not be started: ") + e.what());
    }
  }
  void compute() {
    std::exception_ptr error;
    try {
      RunOptions options = options_.run;
      const std::stop_callback passed_on(options.stop, [this] {
        stop_.request_stop();
        batches_.stop();
      });
      options.stop = stop_.get_token();
      anabranch::detail::run(*program_, {}, options, nullptr);
    } catch (...) {
      error = std::current_exception();
    }
    batches_.end(std::move(error));
  }

  /// An error as a code, and as its words for get_last_error, where there is memory for them: nothing is thrown into C.
  template <class F>
  int guarded(F&& f) noexcept {
    const auto failed = [this](const char* why, int code) {
      error_.clear();
      try {
        error_ = why;
      } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the code says enough
      }
      return code;
    };
    try {
      f();
      return 0;
    } catch (const ResourceError& e) {
      return failed(e.what(), ENOMEM);
    } catch (const std::bad_alloc& e) {
      return failed(e.what(), ENOMEM);
    } catch (const Cancelled& e) {
      return failed(e.what(), ECANCELED);
    } catch (const IoError& e) {
      return failed(e.what(), EIO);
    } catch (const std::exception& e) {
      return failed(e.what(), EINVAL);
    } catch (...) {
      return failed("what was thrown is no std::exception", EINVAL);
    }
  }

  std::vector<SinkArray> arrays_;
  ToArrowOptions options_;
  Batches batches_;
  std::stop_source stop_;
  std::shared_ptr<anabranch::detail::ProgramImpl> program_;
  std::string error_;
  std::jthread thread_;  // the last: it ends before what it uses
};

}  // namespace

void to_arrow(const anabranch::detail::Handle& sequence, const std::vector<SinkArray>& arrays,
              const ToArrowOptions& options, Place at, ArrowArrayStream* out) {
  auto output = std::make_unique<ArrowOutput>(sequence, arrays, options, at);
  *out = {&ArrowOutput::get_schema, &ArrowOutput::get_next, &ArrowOutput::get_last_error,
          &ArrowOutput::release, output.release()};
}

}  // namespace anabranch::io::detail
