// SPDX-License-Identifier: GPL-3.0-or-later
// Cholesky factorisation of a small Hermitian positive definite matrix (row-major, n x n), real or
// complex, and the solution of A x = b with it. Used for the Wiener filters of channel estimation
// (when they are designed, in the constructor) and of prediction (order 8, while running).
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <span>

namespace wip::phy {

namespace detail {
inline double conjugate(double v) { return v; }
inline std::complex<double> conjugate(std::complex<double> v) { return std::conj(v); }
inline double real_part(double v) { return v; }
inline double real_part(std::complex<double> v) { return v.real(); }
}  // namespace detail

// Overwrites the lower triangle of `a` with L of A = L L^H. False when A is not positive definite.
template <class T>
bool cholesky(std::span<T> a, std::size_t n) noexcept {
    for (std::size_t j = 0; j < n; ++j) {
        double d = detail::real_part(a[j * n + j]);
        for (std::size_t k = 0; k < j; ++k) d -= std::norm(a[j * n + k]);
        if (!(d > 0) || !std::isfinite(d)) return false;
        const double root = std::sqrt(d);
        a[j * n + j] = root;
        for (std::size_t i = j + 1; i < n; ++i) {
            T s = a[i * n + j];
            for (std::size_t k = 0; k < j; ++k) s -= a[i * n + k] * detail::conjugate(a[j * n + k]);
            a[i * n + j] = s / root;
        }
    }
    return true;
}

// Solves L L^H x = b in place.
template <class T>
void cholesky_solve(std::span<const T> l, std::size_t n, std::span<T> b) noexcept {
    for (std::size_t i = 0; i < n; ++i) {
        T s = b[i];
        for (std::size_t k = 0; k < i; ++k) s -= l[i * n + k] * b[k];
        b[i] = s / l[i * n + i];
    }
    for (std::size_t i = n; i-- > 0;) {
        T s = b[i];
        for (std::size_t k = i + 1; k < n; ++k) s -= detail::conjugate(l[k * n + i]) * b[k];
        b[i] = s / l[i * n + i];
    }
}

}  // namespace wip::phy
