#pragma once

#include <memory>
#include <string>

#include <anabranch/detail/core.h>

/// Sparse matrix times vector as a front end of another language would build it: through the erased core, with
/// names that exist only while it runs.
namespace anabranch::testing {

/// Items of the source: vectors of (int32, double).
detail::Handle erased_smvm(std::shared_ptr<SourceBase> rows, std::shared_ptr<detail::ArrayData> x,
                           const std::string& file);

/// The sequence of its rows' sums alone.
detail::Handle erased_row_sums(std::shared_ptr<SourceBase> rows, const std::string& file);

}  // namespace anabranch::testing
