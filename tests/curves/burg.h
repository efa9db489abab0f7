// SPDX-License-Identifier: GPL-3.0-or-later
// Autoregressive model of a complex series by Burg's method (Burg 1975): order by order, the
// reflection coefficient that minimises the sum of forward and backward prediction errors,
//     k_m = -2 sum f[n] conj(b[n-1]) / sum (|f[n]|^2 + |b[n-1]|^2).
// Here only to be compared with: the classical per-bin predictor of the literature.
#pragma once

#include <complex>
#include <span>
#include <vector>

namespace wip::curves {

struct autoregression {
    std::vector<std::complex<double>> a;  // x[n] = -sum a[i] x[n-1-i] + e
    double variance = 0;                  // of e
};

inline autoregression burg(std::span<const std::complex<double>> x, int order) {
    using cf64 = std::complex<double>;
    std::vector<cf64> f(x.begin(), x.end()), b(f), a;
    double variance = 0;
    for (const auto v : x) variance += std::norm(v) / static_cast<double>(x.size());
    for (int m = 0; m < order; ++m) {
        cf64 over{};
        double under = 0;
        for (std::size_t n = x.size() - 1; n > static_cast<std::size_t>(m); --n) {
            over += f[n] * std::conj(b[n - 1]);
            under += std::norm(f[n]) + std::norm(b[n - 1]);
        }
        if (!(under > 0)) break;
        const cf64 k = -2.0 * over / under;
        for (std::size_t n = x.size() - 1; n > static_cast<std::size_t>(m); --n) {
            const cf64 before = f[n];
            f[n] += k * b[n - 1];
            b[n] = b[n - 1] + std::conj(k) * before;
        }
        const auto old = a;
        for (std::size_t i = 0; i < old.size(); ++i) a[i] += k * std::conj(old[old.size() - 1 - i]);
        a.push_back(k);
        variance *= 1 - std::norm(k);
    }
    return {a, variance};
}

// Prediction `horizon` steps after the newest of `past` (oldest first), and its error variance.
struct ar_prediction {
    std::complex<double> value;
    double variance = 0;
};

inline ar_prediction predict(const autoregression& model,
                             std::span<const std::complex<double>> past, int horizon) {
    const auto order = model.a.size();
    std::vector<std::complex<double>> x(past.end() - static_cast<std::ptrdiff_t>(order),
                                        past.end());
    std::vector<std::complex<double>> response{1.0};
    double spread = 0;
    for (int h = 0; h < horizon; ++h) {
        std::complex<double> next{}, tail{};
        for (std::size_t i = 0; i < order; ++i) {
            next -= model.a[i] * x[x.size() - 1 - i];
            if (i < response.size()) tail -= model.a[i] * response[response.size() - 1 - i];
        }
        x.push_back(next);
        spread += std::norm(response.back());
        response.push_back(tail);
    }
    return {x.back(), model.variance * spread};
}

}  // namespace wip::curves
