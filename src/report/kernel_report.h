#pragma once

#include <functional>
#include <string>

#include "report/counts.h"
#include "report/kernel_reads.h"
#include "report/report.h"

namespace anabranch::report {

/// What the report says of a kernel by itself: its code, its reads, its checks, the bytes that it moves.
class KernelReporter {
 public:
  /// What an array of a group is called.
  using Name = std::function<std::string(const plan::Group&, int array)>;
  /// Is told who reads an array.
  using ReadBy = std::function<void(const plan::Group&, int array, Reader)>;

  KernelReporter(Counts& counts, Name name, ReadBy read_by)
      : counts_(counts), name_(std::move(name)), read_by_(std::move(read_by)) {}

  Kernel report(const plan::Group& group, const plan::Group& global, const plan::KernelStep& step,
                int number);

 private:
  void read_arrays(const plan::Group& group, const plan::Group& global, const plan::KernelStep& step,
                   Kernel& out);
  /// Offsets, extents, and where views begin.
  void read_layouts(const plan::Group& group, const plan::Group& global, const plan::KernelStep& step,
                    Kernel& out);
  std::string stride_text(const plan::Group& group, const plan::PlanArray& array, const KernelRead& read);

  Counts& counts_;
  Name name_;
  ReadBy read_by_;
};

}  // namespace anabranch::report
