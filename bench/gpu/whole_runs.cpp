#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "gpu/contests.h"
#include "gpu/entrants.h"
#include "support/programs.h"

namespace anabranch::bench {
namespace {

Contender dot_of_four(Backend backend) {
  const auto program = std::make_shared<Program<Acc<Scalar<double>>, Vector<double>, Vector<double>>>(
      compile<Vector<double>, Vector<double>>(dotp<double>));
  const Vector<double> x(std::vector<double>{1, 2, 3, 4});
  auto result = std::make_shared<double>();
  return short_run([=] { *result = program->run({.backend = backend}, x, x)[0]; },
                   [=] { return *result == 30; }, "a whole run, waited for");
}

/// A stream of one chunk.
Contender rows_of_four() {
  static const std::int32_t offsets[] = {0, 1, 2, 3, 4}, columns[] = {0, 1, 2, 3};
  static const double values[] = {1, 2, 3, 4};
  const Vector<double> x(std::vector<double>{1, 1, 1, 1});
  const auto program = std::make_shared<Program<Acc<Vector<double>>>>(
      compile(smvm(stream_in(io::csr_view(4, 4, offsets, columns, values)), use(x))));
  auto y = std::make_shared<Vector<double>>();
  return short_run([=] { *y = program->run({.backend = Backend::cuda}); }, [=] { return (*y)[3] == 4; },
                   "a whole run over a stream of one chunk, waited for");
}

}  // namespace

nlohmann::json hold_fixed(const Bench& bench, const std::string& name) {
  Contest contest(bench, name, "next to nothing to do, from host memory to host memory");
  contest.enter("anabranch cuda: dot of 4", [] { return dot_of_four(Backend::cuda); });
  contest.enter("anabranch cuda: smvm of 4 rows", [] { return rows_of_four(); });
  contest.enter("anabranch cpu: dot of 4", [] { return dot_of_four(Backend::cpu); });
  const DeviceBuffer in(256);
  const PinnedBuffer host(256);
  enter_launch(contest);
  contest.enter("one copy up", [&] {
    return short_run(
        [&] {
          copy_to_device(in.data(), host.data<void>(), 32);
          device_wait();
        },
        {}, "of 32 bytes, waited for");
  });
  return contest.hold();
}

nlohmann::json hold_sort(const Bench& bench, const std::string& name, std::int64_t n) {
  const double bytes = 2.0 * sizeof(float) * static_cast<double>(n);
  Contest contest(
      bench, name,
      fmt::format("{:.3g} M floats; ours are whole runs, from and to memory that is not page-locked",
                  static_cast<double>(n) / 1e6));
  const Buffer<float> x = random_floats(n, 1);
  std::vector<float> expected(x.data(), x.data() + n);
  std::sort(expected.begin(), expected.end());
  const auto ours = [&](Backend backend) {
    const auto program = std::make_shared<Program<Acc<Vector<float>>, Vector<float>>>(
        compile<Vector<float>>([](auto a) { return sort(a); }));
    auto y = std::make_shared<Vector<float>>();
    const Vector<float> from = vector_over(x.data(), n);
    return Contender{
        .run = [=] { *y = program->run({.backend = backend}, from); },
        .right = [=, &expected] { return std::equal(expected.begin(), expected.end(), y->data()); },
        .bytes = bytes,
        .on_stream = false,
        .note = "a whole run"};
  };
  contest.enter("anabranch cuda", [&] { return ours(Backend::cuda); });
  contest.enter("anabranch cpu", [&] { return ours(Backend::cpu); });
  const std::size_t size = expected.size() * sizeof(float);
  const DeviceBuffer in(x.span()), out(size);
  const PinnedBuffer up(size), down(size);
  std::copy_n(x.data(), n, up.data<float>());
  const auto cub = [&] { return std::make_shared<CubSort>(n, in.data<float>(), out.data<float>()); };
  contest.enter("CUB radix sort", [&] {
    return Contender{.run = [sort = cub()] { (*sort)(); },
                     .right =
                         [&] {
                           std::vector<float> found(expected.size());
                           out.download(found.data(), size);
                           return found == expected;
                         },
                     .bytes = bytes,
                     .note = "on the GPU, from there to there"};
  });
  contest.enter("CUB radix sort, with copies", [&] {
    return Contender{
        .run =
            [&, sort = cub()] {
              copy_to_device(in.data(), up.data<void>(), size);
              (*sort)();
              copy_from_device(down.data<void>(), out.data(), size);
            },
        .right = [&] { return std::equal(expected.begin(), expected.end(), down.data<float>()); },
        .bytes = bytes,
        .note = "from page-locked memory and back"};
  });
  return contest.hold();
}

}  // namespace anabranch::bench
