// SPDX-License-Identifier: GPL-3.0-or-later
#include "radio/levels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "iq/power_spectrum.h"
#include "types/failure.h"

namespace wip::radio {
namespace {

constexpr std::size_t block = 1 << 16;  // samples of a Fourier transform
constexpr double full_scale = 0.999;    // magnitude from which a sample counts as clipped
constexpr double lowest = 1e-20;        // least power, -200 dBFS
constexpr double tone_over_noise_db = 15;
// distance from a line at which its noise is measured, cycles per sample
constexpr double noise_offset = 6.0 / block;
constexpr double line_over_noise = 4.0;  // power ratio: 6 dB
using points = std::array<float, iq::power_spectrum::nof_points>;

double db(double power) { return 10 * std::log10(std::max(power, lowest)); }

points spectrum(std::span<const cf32> in) {
    points p{};
    if (!iq::power_spectrum().work(in, p))
        throw machine_error("the radio delivers samples that are not finite numbers");
    return p;
}

// The median; for an even count the lower of the two, since half of the points may be signal.
double median(points p) {
    std::nth_element(p.begin(), p.begin() + p.size() / 2, p.end());
    return p[p.size() / 2];
}

// A phasor that turns by `frequency` cycles a sample, without accumulating errors.
class turning {
public:
    explicit turning(double frequency)
        : step_(std::polar(1.0, -2 * std::numbers::pi * frequency)), frequency_(frequency) {}
    std::complex<double> next() {
        if (n_ % 256 == 0) {
            const double cycles = frequency_ * static_cast<double>(n_);
            now_ = std::polar(1.0, -2 * std::numbers::pi * (cycles - std::floor(cycles)));
        }
        ++n_;
        return std::exchange(now_, now_ * step_);
    }

private:
    std::complex<double> step_, now_;
    double frequency_;
    std::size_t n_ = 0;
};

std::complex<double> wide(cf32 x) { return {x.real(), x.imag()}; }

// Frequency left after the turn by `frequency`: from the phase between sums over `length` samples.
double refined(std::span<const cf32> in, double frequency, std::size_t length) {
    turning phasor(frequency);
    std::complex<double> sum{}, before{}, turned{};
    for (std::size_t n = 0; n < in.size(); ++n) {
        sum += wide(in[n]) * phasor.next();
        if ((n + 1) % length == 0) {
            if (n >= length) turned += sum * std::conj(before);
            before = std::exchange(sum, {});
        }
    }
    return frequency + std::arg(turned) / (2 * std::numbers::pi * static_cast<double>(length));
}

const std::vector<double>& window() {
    static const std::vector<double> made = [] {
        std::vector<double> w(block);
        double sum = 0;
        for (std::size_t n = 0; n < block; ++n) {
            const double x = 2 * std::numbers::pi * static_cast<double>(n) / block;
            w[n] = 0.35875 - 0.48829 * std::cos(x) + 0.14128 * std::cos(2 * x) -
                   0.01168 * std::cos(3 * x);
            sum += w[n];
        }
        for (double& v : w) v /= sum;
        return w;
    }();
    return made;
}

double power_at(std::span<const cf32> in, double frequency) {
    double total = 0;
    std::size_t blocks = 0;
    for (std::size_t at = 0; at + block <= in.size(); at += block, ++blocks) {
        turning phasor(frequency);
        std::complex<double> sum{};
        for (std::size_t n = 0; n < block; ++n)
            sum += wide(in[at + n]) * window()[n] * phasor.next();
        total += std::norm(sum);
    }
    if (blocks == 0)
        throw bad_input(
            "there are fewer samples than the measurement of a tone needs; valid: a longer "
            "--duration");
    return total / static_cast<double>(blocks);
}

double wrapped(double frequency) { return frequency - std::floor(frequency + 0.5); }

}  // namespace

level_summary levels_of(std::span<const cf32> in, double lo) {
    const points p = spectrum(in);
    double total = 0, peak = 0;
    std::size_t clipped = 0;
    for (const cf32 x : in) {
        const double most = std::max(std::abs(x.real()), std::abs(x.imag()));
        total += std::norm(wide(x));
        peak = std::max(peak, most);
        clipped += most >= full_scale;
    }
    const double n = static_cast<double>(in.size());
    constexpr double widths = sample_rate_hz / iq::power_spectrum::noise_bandwidth_hz;
    return {.power_dbfs = db(total / n),
            .peak_dbfs = 2 * db(peak),
            .noise_dbfs = median(p) + db(widths),
            .dc_dbfs = line_at(in, lo).dbfs,
            .clipped = static_cast<double>(clipped) / n};
}

spectrum_pair spectrum_of(std::span<const cf32> in, std::size_t stretch) {
    const points mean = spectrum(in);
    points most;
    most.fill(iq::power_spectrum::lowest_dbfs);
    for (std::size_t at = 0; at + stretch <= in.size(); at += stretch) {
        const points p = spectrum(in.subspan(at, stretch));
        for (std::size_t i = 0; i < p.size(); ++i) most[i] = std::max(most[i], p[i]);
    }
    return {{mean.begin(), mean.end()}, {most.begin(), most.end()}};
}

std::optional<double> find_tone(std::span<const cf32> in, double expected, double within) {
    const points p = spectrum(in);
    const double n = static_cast<double>(p.size());
    std::size_t best = p.size();
    for (std::size_t i = 0; i < p.size(); ++i) {
        const double frequency = static_cast<double>(i) / n - 0.5;
        if (std::abs(frequency - expected) > within + 1 / n) continue;
        if (best == p.size() || p[i] > p[best]) best = i;
    }
    if (best == p.size() || p[best] < median(p) + tone_over_noise_db) return std::nullopt;
    const double coarse = static_cast<double>(best) / n - 0.5;  // to half a point, 1/1536
    return refined(in, refined(in, coarse, 128), 8192);
}

line line_at(std::span<const cf32> in, double frequency) {
    const double here = power_at(in, frequency);
    const double noise =
        (power_at(in, frequency - noise_offset) + power_at(in, frequency + noise_offset)) / 2;
    if (here < line_over_noise * noise) return {db(std::max(here, noise)), false};
    return {db(here - noise), true};
}

std::optional<tone_summary> measure_tone(std::span<const cf32> in, const tone_places& places,
                                         double within) {
    const auto found = find_tone(in, places.tone, within);
    if (!found) return std::nullopt;
    const double tone = line_at(in, *found).dbfs;
    // The offset between the oscillators moves all that comes from the transmitter.
    const double transmitter = places.transmitter + (*found - places.tone);
    const auto below = [&](double frequency) {
        line l = line_at(in, wrapped(frequency));
        l.dbfs = tone - l.dbfs;
        return l;
    };
    return tone_summary{.frequency = *found,
                        .dbfs = tone,
                        .receive_image = below(2 * places.receiver - *found),
                        .transmit_image = below(2 * transmitter - *found),
                        .leakage = below(transmitter)};
}

}  // namespace wip::radio
