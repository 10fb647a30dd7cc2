#include "apps/audio/tables.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "apps/common/usage_error.h"
#include "support/catch.h"

// Numbers that features of audio are weighted with, computed on the host.
namespace anabranch::testing {
namespace {

constexpr double pi = std::numbers::pi;

/// Slaney's scale.
double mel(double hz) {
  return hz < 1000 ? hz / (200.0 / 3) : 15 + std::log(hz / 1000) / (std::log(6.4) / 27);
}
double hertz(double mel) {
  return mel < 15 ? mel * (200.0 / 3) : 1000 * std::exp((mel - 15) * (std::log(6.4) / 27));
}

/// The weight of each frequency in each band: triangles of area 1.
std::vector<std::vector<double>> triangles(double rate, std::int64_t n, int count, double least,
                                           double most) {
  std::vector<std::vector<double>> out;
  const auto corner = [&](int m) { return hertz(mel(least) + (mel(most) - mel(least)) * m / (count + 1)); };
  for (int m = 0; m < count; ++m) {
    const double left = corner(m), top = corner(m + 1), right = corner(m + 2);
    std::vector<double> weights;
    for (std::int64_t k = 0; k <= n / 2; ++k) {
      const double hz = static_cast<double>(k) * rate / static_cast<double>(n);
      const double height = hz < top ? (hz - left) / (top - left) : (right - hz) / (right - top);
      weights.push_back(std::max(height, 0.0) * 2 / (right - left));
    }
    out.push_back(weights);
  }
  return out;
}

}  // namespace

TEST_CASE("tables: mel filters are triangles", "[once]") {
  struct Case {
    double rate;
    std::int64_t n;
    int count;
    double least, most;
    std::int64_t empty, above, beyond;
  };
  for (const Case& c : {Case{22'050, 512, 20, 0, 11'025, 0, 0, 0}, Case{22'050, 64, 8, 0, 11'025, 0, 0, 0},
                        Case{8000, 256, 10, 300, 3400, 0, 0, 0}, Case{22'050, 64, 40, 0, 11'025, 9, 0, 0},
                        Case{8000, 256, 4, 3000, 8000, 2, 4, 2}}) {
    INFO(c.rate << " Hz, " << c.n << " samples, " << c.count << " bands");
    const auto filters = apps::mel_filters(c.rate, c.n, c.count, c.least, c.most);
    const auto expected = triangles(c.rate, c.n, c.count, c.least, c.most);
    const std::int64_t width = filters.weights.extent(1), bins = c.n / 2 + 1;
    REQUIRE(filters.begins.size() == c.count);
    REQUIRE(filters.weights.extent(0) == c.count);
    std::int64_t empty = 0;
    for (std::int64_t m = 0; m < c.count; ++m) {
      INFO("band " << m);
      const std::int64_t begin = filters.begins[m];
      const auto& row = expected[static_cast<std::size_t>(m)];
      const double greatest = *std::max_element(row.begin(), row.end());
      empty += greatest == 0;
      REQUIRE(begin >= 0);
      REQUIRE(begin + width <= bins);
      for (std::int64_t k = 0; k < bins; ++k) {
        const bool there = k >= begin && k < begin + width;
        const double weight = there ? filters.weights[Index{m, k - begin}] : 0;
        REQUIRE(std::abs(weight - row[static_cast<std::size_t>(k)]) <= 1e-6 * greatest);
      }
    }
    CHECK(filters.bands.empty == empty);
    CHECK(filters.bands.empty == c.empty);
    CHECK(filters.bands.above == c.above);
    CHECK(filters.bands.beyond == c.beyond);
  }
}

TEST_CASE("tables: what mel filters take is said before there are any", "[once]") {
  std::int64_t said = 0;
  const auto filters =
      apps::mel_filters(22'050, 512, 20, 0, 11'025, [&](std::int64_t bytes) { said = bytes; });
  CHECK(said == filters.weights.size() * 4);
  const auto refuse = [](std::int64_t) { throw apps::UsageError("too much"); };
  CHECK_THROWS_AS(apps::mel_filters(22'050, 512, 20, 0, 11'025, refuse), apps::UsageError);
}

TEST_CASE("tables: window functions", "[once]") {
  CHECK(apps::window_names() == std::vector<std::string>{"hann", "hamming", "blackman", "boxcar"});
  for (const std::string& name : apps::window_names()) {
    INFO(name);
    const auto c = apps::window_cosines(name);
    const auto weights = apps::window_weights(name, 6, 9);
    REQUIRE(weights.size() == 9);
    for (std::size_t i = 0; i < 9; ++i) {
      const double t = 2 * pi * (static_cast<double>(i) - 1) / 6;
      const double expected = i < 1 || i > 6 ? 0 : c[0] - c[1] * std::cos(t) + c[2] * std::cos(2 * t);
      CHECK(std::abs(weights[i] - expected) < 2e-7);
    }
    CHECK(apps::window_weights(name, 1, 3) == std::vector<float>{0, 1, 0});
  }
  const auto hann = apps::window_weights("hann", 4, 4);
  const std::vector<double> expected{0, 0.5, 1, 0.5};
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(hann[i] - expected[i]) < 1e-7);
  CHECK(apps::window_weights("boxcar", 4, 4) == std::vector<float>(4, 1));
  CHECK_THROWS_AS(apps::window_cosines("triangle"), apps::UsageError);
}

TEST_CASE("tables: rows of the cosine transform are orthonormal", "[once]") {
  for (const std::int64_t n : {1, 2, 7, 16}) {
    const auto transform = apps::cosine_transform(n, n);
    for (std::int64_t a = 0; a < n; ++a)
      for (std::int64_t b = 0; b < n; ++b) {
        double product = 0;
        for (std::int64_t i = 0; i < n; ++i)
          product += static_cast<double>(transform[Index{a, i}]) * transform[Index{b, i}];
        CHECK(std::abs(product - (a == b ? 1 : 0)) < 1e-6);
      }
    // The first one is the mean, but for a factor; all others begin above zero.
    for (std::int64_t i = 0; i < n; ++i) CHECK(transform[Index{0, i}] == transform[0]);
    for (std::int64_t a = 1; a < n; ++a) CHECK(transform[Index{a, 0}] > 0);
  }
}

}  // namespace anabranch::testing
