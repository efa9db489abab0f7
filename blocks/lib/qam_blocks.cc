// SPDX-License-Identifier: GPL-3.0-or-later
// qam_mapper, qam_demapper, qam_soft_demapper over wip::phy::constellation.
#include <gnuradio/io_signature.h>
#include <gnuradio/wip/qam_demapper.h>
#include <gnuradio/wip/qam_mapper.h>
#include <gnuradio/wip/qam_soft_demapper.h>

#include <array>

#include "checked_parameter.h"
#include "phy/qam/constellation.h"

namespace gr::wip {

namespace {

// The constellation wants real and imaginary parts in separate arrays. They are copied piece by
// piece.
constexpr int piece = 256;
struct parts {
    alignas(64) std::array<float, piece> re, im;
    void load(const gr_complex* in, int n) {
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
            re[i] = in[i].real();
            im[i] = in[i].imag();
        }
    }
};

class qam_mapper_impl : public qam_mapper {
public:
    explicit qam_mapper_impl(int bits_per_symbol)
        : gr::sync_block("qam_mapper", gr::io_signature::make(1, 1, 1),
                         gr::io_signature::make(1, 1, sizeof(gr_complex))),
          constellation_(bits_per_symbol) {}
    std::vector<gr_complex> points() const override {
        const auto p = constellation_.points();
        return {p.begin(), p.end()};
    }
    int work(int n, gr_vector_const_void_star& in, gr_vector_void_star& out) override {
        const auto* labels = static_cast<const std::uint8_t*>(in[0]);
        auto* symbols = static_cast<gr_complex*>(out[0]);
        const auto points = constellation_.points();
        const std::size_t mask = points.size() - 1;
        for (int i = 0; i < n; ++i) symbols[i] = points[labels[i] & mask];
        return n;
    }

private:
    ::wip::phy::constellation constellation_;
};

class qam_demapper_impl : public qam_demapper {
public:
    explicit qam_demapper_impl(int bits_per_symbol)
        : gr::sync_block("qam_demapper", gr::io_signature::make(1, 1, sizeof(gr_complex)),
                         gr::io_signature::make(1, 1, 1)),
          constellation_(bits_per_symbol) {}
    int work(int n, gr_vector_const_void_star& in, gr_vector_void_star& out) override {
        const auto* symbols = static_cast<const gr_complex*>(in[0]);
        auto* labels = static_cast<std::uint8_t*>(out[0]);
        for (int i = 0; i < n; i += piece) {
            const int count = std::min(piece, n - i);
            parts_.load(symbols + i, count);
            constellation_.slice(parts_.re.data(), parts_.im.data(), labels + i, count);
        }
        return n;
    }

private:
    ::wip::phy::constellation constellation_;
    parts parts_;
};

class qam_soft_demapper_impl : public qam_soft_demapper {
public:
    qam_soft_demapper_impl(int bits_per_symbol, float noise_variance)
        : gr::sync_interpolator(
              "qam_soft_demapper", gr::io_signature::make(1, 1, sizeof(gr_complex)),
              gr::io_signature::make(1, 1, sizeof(float)),
              static_cast<unsigned>(checked_parameter("bits_per_symbol", bits_per_symbol, 1, 8))),
          constellation_(bits_per_symbol) {
        weight_.fill(1 / checked_parameter("noise_variance", noise_variance, 1e-12, 1e12));
    }
    int work(int n, gr_vector_const_void_star& in, gr_vector_void_star& out) override {
        const auto* symbols = static_cast<const gr_complex*>(in[0]);
        auto* soft = static_cast<float*>(out[0]);
        const int bits = constellation_.bits();
        for (int i = 0; i < n / bits; i += piece) {
            const int count = std::min(piece, n / bits - i);
            parts_.load(symbols + i, count);
            constellation_.soft(parts_.re.data(), parts_.im.data(), weight_.data(),
                                soft + static_cast<std::ptrdiff_t>(i) * bits, count);
        }
        return n;
    }

private:
    ::wip::phy::constellation constellation_;
    parts parts_;
    std::array<float, piece> weight_;
};

}  // namespace

qam_mapper::sptr qam_mapper::make(int bits_per_symbol) {
    return gnuradio::make_block_sptr<qam_mapper_impl>(bits_per_symbol);
}
qam_demapper::sptr qam_demapper::make(int bits_per_symbol) {
    return gnuradio::make_block_sptr<qam_demapper_impl>(bits_per_symbol);
}
qam_soft_demapper::sptr qam_soft_demapper::make(int bits_per_symbol, float noise_variance) {
    return gnuradio::make_block_sptr<qam_soft_demapper_impl>(bits_per_symbol, noise_variance);
}

}  // namespace gr::wip
