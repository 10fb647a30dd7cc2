#include <atomic>
#include <optional>
#include <thread>

#include "tests/cuda/support/whole_runs.h"

// Arguments and results that stay on a simulated GPU between runs. Host memory of arrays that are there only is overwritten
// (Device::spoils_stale_copies): results would be wrong where a copy is missing.
namespace anabranch::testing {
namespace {

const RunOptions on_gpu{.backend = Backend::cuda};

/// Copies of at least so many bytes in this direction, so far.
std::int64_t copies(LogEntry::What what, std::int64_t least) {
  return std::ranges::count_if(
      fake_gpu().log(), [&](const LogEntry& e) { return e.what == what && e.done && e.bytes >= least; });
}
std::int64_t uploads(std::int64_t least) { return copies(LogEntry::What::upload, least); }
std::int64_t downloads(std::int64_t least) { return copies(LogEntry::What::download, least); }

template <class A>
bool same_bits(const A& a, const A& b) {
  return same(a.erased(), b.erased());
}

const auto halves = [](auto v) { return map([](auto e) { return e * 0.5 + 1.0; }, v); };

TEST_CASE("an empty handle is no array of a GPU") {
  Vector<double> v{1.0};
  const Vector<double> taken = std::move(v);
  // NOLINTNEXTLINE(bugprone-use-after-move): the case
  CHECK_THROWS_WITH(DeviceArray<Vector<double>>(v), Catch::Contains("DeviceArray: an empty handle"));
}

/// One step of PageRank: `out` divides a node's rank among its links.
struct Graph {
  Vector<std::int64_t> lengths;
  Vector<std::int32_t> from;
  Vector<double> out;

  explicit Graph(std::int64_t nodes) : lengths(nodes), out(nodes) {
    std::mt19937_64 engine(7);
    std::vector<std::int32_t> links;
    for (std::int64_t i = 0; i < nodes; ++i) {
      lengths.set(i, static_cast<std::int64_t>(engine() % 9));
      for (std::int64_t k = 0; k < lengths[i]; ++k)
        links.push_back(static_cast<std::int32_t>(engine() % static_cast<std::uint64_t>(nodes)));
      out.set(i, 1.0 / static_cast<double>(1 + engine() % 5));
    }
    from = Vector<std::int32_t>(links);
  }
};

auto rank_step() {
  return compile<Vector<std::int64_t>, Vector<std::int32_t>, Vector<double>, Vector<double>>(
      [](auto lengths, auto from, auto out, auto ranks) {
        const auto share = zip_with(times, ranks, out);
        const auto rank = [=](auto links) { return sum(gather(links, share)); };
        const auto sums = consume(elements(map_seq(rank, from_segments(segments_of_lengths(lengths), from))));
        return map([](auto s) { return 0.15 + 0.85 * s; }, sums);
      });
}

}  // namespace

TEST_CASE("device arrays: a large one comes to the host in pieces, by way of page-locked memory") {
  const WithFakeGpu gpu;
  {
    const auto program = compile<Vector<double>>([](auto v) { return halves(v); });
    const Vector<double> x = numbers((3 << 20) + 5, 3);  // 24 MiB and some
    const auto there = program.run_on_device(on_gpu, x);
    CHECK(same_bits(there.host(), program.run({.backend = Backend::interpreter}, x)));
    CHECK(downloads(8 << 20) == 3);
    CHECK(downloads(1 << 20) == 3);  // the rest is small
  }
  check_clean();
}

TEST_CASE("device arrays: an argument is copied to the GPU once, and is an array everywhere else") {
  const WithFakeGpu gpu;
  {
    const auto program = compile<Vector<double>, Vector<double>>(
        [](auto x, auto y) { return std::tuple(zip_with(plus, x, y), sum(x)); });
    const Vector<double> a = numbers(1000, 1), b = numbers(1000, 2);
    const auto expected = program.run({.backend = Backend::interpreter}, a, b);
    const DeviceArray<Vector<double>> there(a);
    CHECK_FALSE(there.on_device());
    CHECK(there.shape() == a.shape());
    for (int i = 0; i < 3; ++i) {
      const auto got = program.run(on_gpu, there, b);
      CHECK(same_bits(std::get<0>(got), std::get<0>(expected)));
      CHECK(same_bits(std::get<1>(got), std::get<1>(expected)));
      CHECK(there.on_device());
      CHECK(uploads(8000) == 2 + i);  // b each time
    }
    for (const Backend backend : {Backend::cpu, Backend::interpreter, Backend::cpu_and_cuda})
      CHECK(same_bits(std::get<0>(program.run({.backend = backend}, there, b)), std::get<0>(expected)));
    const DeviceArray<Vector<double>> handle = there;
    CHECK(handle.on_device());
    CHECK(same_bits(handle.host(), a));
    CHECK(cuda::Device::get()->in_use() >= 8000);
  }
  CHECK(cuda::Device::get()->in_use() == 0);
  check_clean();
}

TEST_CASE("device arrays: results stay, and come to the host when they are asked for") {
  const WithFakeGpu gpu;
  {
    const auto program = compile<Vector<double>>(halves);
    Vector<double> expected = numbers(1000, 3);
    DeviceArray<Vector<double>> x(expected);
    for (int i = 0; i < 5; ++i) {
      x = program.run_on_device(on_gpu, x);
      expected = program.run({.backend = Backend::interpreter}, expected);
      CHECK(x.on_device());
    }
    CHECK(uploads(8000) == 1);
    CHECK(downloads(8000) == 0);
    CHECK(same_bits(x.host(), expected));
    CHECK(same_bits(x.host(), expected));
    CHECK(downloads(8000) == 1);
    // And where another back end asks for them.
    for (const Backend backend : {Backend::cpu, Backend::interpreter, Backend::cpu_and_cuda}) {
      const auto y = program.run_on_device(on_gpu, x);
      CHECK(
          same_bits(program.run({.backend = backend}, y), program.run({.backend = Backend::cpu}, y.host())));
    }
    // Where another one computes, it is an array of the host's, until the GPU asks for it.
    const auto z = program.run_on_device({.backend = Backend::cpu}, x);
    CHECK_FALSE(z.on_device());
    CHECK(same_bits(program.run(on_gpu, z), program.run({.backend = Backend::cpu}, z)));
    CHECK(z.on_device());
  }
  CHECK(cuda::Device::get()->in_use() == 0);
  check_clean();
}

TEST_CASE("device arrays: several results, of several components, the same twice, and an argument as it is") {
  using Pairs = Vector<std::tuple<double, std::int32_t>>;
  const WithFakeGpu gpu;
  {
    const auto program = compile<Vector<double>>([](auto v) {
      const auto pairs = imap([](auto i, auto e) { return pack(e + 1.0, cast<std::int32_t>(i[0])); }, v);
      return std::tuple(pairs, v, pairs, sum(v), consume(ragged(rows(reshape(Index{20, 10}, v)))));
    });
    const Vector<double> v = numbers(200, 4);
    const auto expected = program.run({.backend = Backend::interpreter}, v);
    const DeviceArray<Vector<double>> x(v);
    const auto [pairs, same_v, again, total, rows] = program.run_on_device(on_gpu, x);
    CHECK(same_bits(pairs.host(), std::get<0>(expected)));
    CHECK(same_bits(same_v.host(), v));
    CHECK(same_bits(again.host(), std::get<0>(expected)));
    CHECK(same_bits(total.host(), std::get<3>(expected)));
    CHECK(rows == std::get<4>(expected));
    const auto firsts = compile<Pairs>([](auto p) { return map([](auto e) { return get<0>(e); }, p); });
    const auto first_of = firsts.run({.backend = Backend::interpreter}, std::get<0>(expected));
    const auto more = program.run_on_device(on_gpu, x);
    CHECK(same_bits(firsts.run(on_gpu, std::get<0>(more)), first_of));
  }
  check_clean();
}

TEST_CASE("device arrays: what is made of their host arrays has elements of its own on the GPU") {
  using Pairs = Vector<std::tuple<std::int32_t, double>>;
  const auto second = compile<Pairs>([](auto p) { return map([](auto e) { return get<1>(e) * 2.0; }, p); });
  const auto doubled = compile<Vector<double>>([](auto v) { return map([](auto e) { return e * 2.0; }, v); });
  const auto pieces_of =
      compile<Vector<double>>([](auto v) { return consume(ragged(rows(reshape(Index{3, 5}, v)))); });
  Pairs p(Index{15});
  for (std::int64_t i = 0; i < 15; ++i)
    p.set(i, {static_cast<std::int32_t>(i), static_cast<double>(i) + 0.5});
  const Vector<double> expected = second.run({.backend = Backend::interpreter}, p);
  for (const bool part_first : {false, true}) {
    const WithFakeGpu gpu;
    {
      const auto f = compile<Pairs>([](auto q) { return map([](auto e) { return get<1>(e) * 2.0; }, q); });
      const auto g = compile<Vector<double>>([](auto v) { return map([](auto e) { return e * 2.0; }, v); });
      const DeviceArray<Pairs> d(p);
      if (!part_first) CHECK(same_bits(f.run(on_gpu, d), expected));
      const auto [numbers, values] = unzip(d.host());
      CHECK(same_bits(g.run(on_gpu, values), expected));
      CHECK(same_bits(f.run(on_gpu, d), expected));
      // Slices, and a Ragged that a run overwrites.
      const DeviceArray<Vector<double>> v(expected);
      g.run(on_gpu, v);
      const auto slices = Ragged<double>::from_offsets({0, 4, 9, 15}, v.host());
      CHECK(same_bits(g.run(on_gpu, slices[1]), doubled.run({.backend = Backend::interpreter}, slices[1])));
      const auto h =
          compile<Vector<double>>([](auto w) { return consume(ragged(rows(reshape(Index{3, 5}, w)))); });
      Ragged<double> into = h.run_on_device(on_gpu, v);
      g.run(on_gpu, into.values());
      h.run_into(into, doubled.run(expected));
      CHECK(into == pieces_of.run(doubled.run(expected)));
      CHECK(same_bits(g.run(on_gpu, into.values()), doubled.run(doubled.run(expected))));
      Vector<double> host = v.host();
      CHECK_THROWS_AS(host.set(0, 1.0), ProgramError);
    }
    check_clean();
  }
}

TEST_CASE("device arrays: ranks of a graph, whose links are on the GPU, in any chunks") {
  const Graph graph(500);
  const Vector<double> start(Index{500}, std::vector<double>(500, 1.0));
  Vector<double> expected = start;
  for (int i = 0; i < 4; ++i)
    expected =
        rank_step().run({.backend = Backend::interpreter}, graph.lengths, graph.from, graph.out, expected);
  for (const std::string& scheduler : schedulers)
    for (const std::uint64_t seed : {0, 1, 2}) {
      INFO(scheduler << ", seed " << seed);
      const WithFakeGpu gpu(seeded(seed));
      {
        const auto step = rank_step();
        const DeviceArray<Vector<std::int32_t>> from(graph.from);
        const DeviceArray<Vector<double>> out(graph.out);
        DeviceArray<Vector<double>> ranks(start);
        for (int i = 0; i < 4; ++i)
          ranks = step.run_on_device({.backend = Backend::cuda, .scheduler = scheduler}, graph.lengths, from,
                                     out, ranks);
        CHECK(same_bits(ranks.host(), expected));
        // The links once, whole.
        const std::int64_t bytes = 4 * graph.from.size();
        CHECK(copies(LogEntry::What::upload, bytes) == 1);
      }
      check_clean();
    }
}

TEST_CASE("device arrays: windows and items of them are read where they lie, and not overwritten") {
  const Vector<double> v = numbers(600, 5);
  const Matrix<double> m(Index{60, 10}, v.values());
  const auto parts_of = [] {
    return compile<Vector<double>, Matrix<double>>([](auto x, auto y) {
      const auto wide = map_seq([](auto w) { return sum(w); }, windows(x, 16, 4));
      const auto parts =
          map_seq([](auto r) { return map([](auto e) { return e * 2.0 - 1.0; }, r); }, rows(y));
      return std::tuple(consume(elements(wide)), consume(elements(parts)), consume(elements(rows(y))));
    });
  };
  const auto expected = parts_of().run({.backend = Backend::interpreter}, v, m);
  for (const std::string& scheduler : schedulers) {
    INFO(scheduler);
    const WithFakeGpu gpu;
    {
      const auto over = parts_of();
      const DeviceArray<Vector<double>> x(v);
      const DeviceArray<Matrix<double>> y(m);
      for (int i = 0; i < 2; ++i) {
        const auto got = over.run({.backend = Backend::cuda, .scheduler = scheduler}, x, y);
        CHECK(same_bits(std::get<0>(got), std::get<0>(expected)));
        CHECK(same_bits(std::get<1>(got), std::get<1>(expected)));
        CHECK(same_bits(std::get<2>(got), std::get<2>(expected)));
      }
      CHECK(uploads(4800) == 2);
      CHECK(uploads(2400) == 2);
    }
    check_clean();
  }
}

TEST_CASE("device arrays: where there is no room for them they are used from the host") {
  const WithFakeGpu gpu;
  {
    const auto program = compile<Matrix<double>>(
        [](auto x) { return consume(elements(map_seq([](auto r) { return sum(r); }, rows(x)))); });
    const auto doubled = compile<Matrix<double>>(halves);
    const Matrix<double> v(Index{2000, 10}, numbers(20'000, 6).values());
    const auto expected = program.run({.backend = Backend::interpreter}, doubled.run(v));
    const DeviceArray<Matrix<double>> never(doubled.run(v));
    CHECK(same_bits(program.run({.backend = Backend::cuda, .gpu_memory = 60'000}, never), expected));
    CHECK_FALSE(never.on_device());
    const auto there = doubled.run_on_device(on_gpu, v);
    CHECK(there.on_device());
    CHECK(same_bits(program.run({.backend = Backend::cuda, .gpu_memory = 60'000}, there), expected));
    CHECK(same_bits(program.run(on_gpu, there), expected));
  }
  CHECK(cuda::Device::get()->in_use() == 0);
  check_clean();
}

TEST_CASE("device arrays: whatever the driver says no to, their elements stay what they are") {
  const Vector<double> v = numbers(700, 7);
  const auto by_interpreter = [](const Vector<double>& x) {
    return compile<Vector<double>>(halves).run({.backend = Backend::interpreter}, x);
  };
  const Vector<double> once = by_interpreter(v), twice = by_interpreter(once);
  for (const char* entry : {"mem_alloc", "memcpy_htod_async", "memcpy_dtoh_async", "stream_create", "kernel"})
    for (int k = 1; k < 6; ++k)
      for (const int result : {2, 719}) {
        INFO(entry << " call " << k << " answers " << result);
        const WithFakeGpu gpu;
        {
          const auto program = compile<Vector<double>>(halves);
          const DeviceArray<Vector<double>> x(v);
          const auto y = program.run_on_device(on_gpu, x);
          gpu->fail(entry, k, result);
          /// Right, or an error.
          const auto is_right = [](const Vector<double>& expected, const auto& f) {
            std::optional<Vector<double>> got;
            try {
              got = f();
            } catch (const RunError&) {
            } catch (const ResourceError&) {
            } catch (const BackendUnavailable&) {  // a kernel that died has cost the GPU
            }
            return !got || same_bits(*got, expected);
          };
          CHECK(is_right(once, [&] { return program.run(on_gpu, x); }));
          CHECK(is_right(twice, [&] { return program.run_on_device(on_gpu, y).host(); }));
          CHECK(is_right(once, [&] { return y.host(); }));
          gpu->heal();
          CHECK(same_bits(y.host(), once));
          CHECK(same_bits(program.run(on_gpu, x), once));
          CHECK(same_bits(program.run(on_gpu, y), twice));
        }
        check_clean();
      }
}

TEST_CASE("device arrays: many threads use one at once") {
  const WithFakeGpu gpu;
  {
    const auto program = compile<Vector<double>>(halves);
    const Vector<double> v = numbers(900, 8);
    const Vector<double> twice = program.run(program.run(v));
    const DeviceArray<Vector<double>> x(v);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 5; ++i) {
          const auto y = program.run_on_device(t == 3 ? RunOptions{} : on_gpu, x);
          const auto z = t % 2 == 0 ? program.run(on_gpu, y) : program.run(y);
          if (!same_bits(z, twice)) ++wrong;
        }
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
  }
  check_clean();
}

}  // namespace anabranch::testing
