#pragma once

#include <complex>
#include <cstdint>
#include <functional>

#include <anabranch/anabranch.h>

/// The fast Fourier transform, written in the language: no library's is called, so its bits are the same everywhere.
namespace anabranch::apps {

/// The discrete Fourier transform X[k] = sum of x[i] exp(-2 pi i k / n) over i, of n = 2^j elements, as many as x has to have.
Acc<Vector<std::complex<float>>> fft(std::int64_t n, Acc<Vector<std::complex<float>>> x);

/// |X[k]|^2 for k = 0 ... n / 2, where X is the transform of the n = 2^j >= 2 real numbers sample(0), sample(1) ...
Acc<Vector<float>> power_spectrum(std::int64_t n,
                                  const std::function<Exp<float>(const Exp<std::int64_t>&)>& sample);

}  // namespace anabranch::apps
