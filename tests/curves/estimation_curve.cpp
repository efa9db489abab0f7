// SPDX-License-Identifier: GPL-3.0-or-later
// Estimators of the channel compared: NMSE = E|h^ - h|^2 / E|h|^2 over all elements of a slot
// (truth in the middle of each symbol), and what a slot takes, on typical urban.
//   ls        pilots divided, linear interpolation over frequency, then over time
//   pilots    LMMSE from the pilots (the receiver's first estimate)
//   control   LMMSE from pilots and control symbols (the receiver's second)
//   kalman    the same elements and all slots before, told Doppler and SNR (slot_kalman.h)
//   decided   `control`, then decision feedback from all sliced payload symbols (the receiver's
//             second look; wrong decisions included)
// All get the same samples, the right timing and SNR; the control symbols are taken as decoded.
// `us`: time of a call without what comes before it, the 20th percentile of this run; it is the
// only number here that is not the same in each run. The Wiener bounds are added by curves.py.
#include <algorithm>
#include <chrono>

#include "curve_world.h"
#include "phy/coding/control_region.h"
#include "phy/estimation/channel_estimator.h"
#include "phy/estimation/decision_feedback.h"
#include "phy/grid/pilots.h"
#include "phy/ofdm/slot_extractor.h"
#include "phy/qam/constellation.h"
#include "slot_kalman.h"

namespace wip::curves {

namespace {

using grid = std::array<phy::plane, symbols_per_slot>;
using timer = std::chrono::steady_clock;

// An estimate h = a + t b + (t^2 - 35/12) c.
struct response {
    phy::plane a, b, c;
};

struct score {
    double error = 0;
    std::vector<double> times;

    double us() {
        const auto at = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 5);
        std::nth_element(times.begin(), at, times.end());
        return *at;
    }

    template <class Work>
    void timed(Work work) {
        const auto start = timer::now();
        work();
        times.push_back(std::chrono::duration<double, std::micro>(timer::now() - start).count());
    }
    void evaluate(const response& e, const truth& t) {
        for (std::size_t l = 0; l < symbols_per_slot; ++l) {
            const double at = static_cast<double>(phy::symbol_time(static_cast<int>(l)));
            for (int n = 0; n < nof_subcarriers; ++n) {
                const auto part = [&](const float* a, const float* b, const float* c) {
                    return static_cast<double>(a[n]) + at * static_cast<double>(b[n]) +
                           (at * at - 35.0 / 12) * static_cast<double>(c[n]);
                };
                const cf64 h(part(e.a.re, e.b.re, e.c.re), part(e.a.im, e.b.im, e.c.im));
                error += std::norm(h - t.h[l][static_cast<std::size_t>(n)]);
            }
        }
    }
};

// Pilots of symbol `l` over all subcarriers, straight lines between them and beyond.
void interpolate(const phy::plane& y, const phy::cf32* sent, int l, phy::plane& out) {
    std::array<int, 2 * nof_bins> place;
    std::array<phy::cf32, 2 * nof_bins> value;
    std::size_t count = 0;
    for (int p = 0; p < phy::nof_pilots; ++p) {
        const auto& e = phy::pilot_elements[static_cast<std::size_t>(p % pilots_per_bin)];
        if (e.symbol != l) continue;
        const int n = p / pilots_per_bin * subcarriers_per_bin + e.subcarrier;
        place[count] = n;
        value[count++] = phy::cf32(y.re[n], y.im[n]) * std::conj(sent[p]);
    }
    for (std::size_t i = 0; i + 1 < count; ++i) {
        const int from = i == 0 ? 0 : place[i];
        const int to = i + 2 == count ? nof_subcarriers : place[i + 1];
        const phy::cf32 step =
            (value[i + 1] - value[i]) / static_cast<float>(place[i + 1] - place[i]);
        for (int n = from; n < to; ++n) {
            const phy::cf32 v = value[i] + step * static_cast<float>(n - place[i]);
            out.re[n] = v.real();
            out.im[n] = v.imag();
        }
    }
}

void least_squares(const grid& y, const phy::cf32* sent, response& out) {
    phy::plane first, second;
    interpolate(y[1], sent, 1, first);
    interpolate(y[4], sent, 4, second);
    const auto line = [](const float* p, const float* q, float* a, float* b) {
        for (int n = 0; n < nof_subcarriers; ++n) {
            a[n] = (p[n] + q[n]) / 2;
            b[n] = (q[n] - p[n]) / 3;
        }
    };
    line(first.re, second.re, out.a.re, out.b.re);
    line(first.im, second.im, out.a.im, out.b.im);
    out.c = {};
}

// Nearest points of all payload elements.
void decide(const grid& y, const phy::channel_estimate& h, const phy::constellation& points,
            grid& out) {
    phy::plane z;
    std::array<std::uint8_t, phy::plane_size> label;
    for (std::size_t l = 0; l < symbols_per_slot; ++l) {
        const float t = phy::symbol_time(static_cast<int>(l));
        for (int n = 0; n < phy::plane_size; ++n) {
            const float hr = h.middle.re[n] + t * h.slope.re[n];
            const float hi = h.middle.im[n] + t * h.slope.im[n];
            const float inverse = 1 / (hr * hr + hi * hi + 1e-30F);
            z.re[n] = (y[l].re[n] * hr + y[l].im[n] * hi) * inverse;
            z.im[n] = (y[l].im[n] * hr - y[l].re[n] * hi) * inverse;
        }
        points.slice(z.re, z.im, label.data(), phy::plane_size);
        points.points_of(z.re, z.im, label.data(), out[l].re, out[l].im, phy::plane_size);
        for (int n = nof_subcarriers; n < phy::plane_size; ++n) out[l].re[n] = out[l].im[n] = 0;
    }
}

// Elements of the world's slot and its truth with the mean delay of the channel taken out: whole
// samples by the window, as the receiver does (interference between subcarriers depends on where
// it lies), the rest by turning.
class observer {
public:
    explicit observer(const world& w) : shift_(std::lround(w.mean_delay())) {
        extractor_.set_fraction(w.mean_delay() - static_cast<double>(shift_));
        for (int n = 0; n < nof_subcarriers; ++n)
            turn_[static_cast<std::size_t>(n)] = std::polar(
                1.0, 2 * std::numbers::pi * phy::signed_subcarrier(n) * w.mean_delay() / fft_size);
    }
    void look(const world& w, grid& y, truth& t) {
        extractor_.extract(w.noisy.data() + shift_, 0, y);
        w.look(t);
        for (std::size_t l = 0; l < symbols_per_slot; ++l)
            for (std::size_t n = 0; n < nof_subcarriers; ++n) t.h[l][n] *= turn_[n];
    }

private:
    std::int64_t shift_;  // less than window_advance: the window still ends within the slot
    phy::slot_extractor extractor_;
    std::array<cf64, nof_subcarriers> turn_;
};

std::vector<known_element> list_elements() {
    std::vector<known_element> all;
    const auto add = [&](const auto& elements) {
        for (int b = 0; b < nof_bins; ++b)
            for (const auto& e : elements)
                all.push_back({e.symbol, b * subcarriers_per_bin + e.subcarrier, {}});
    };
    add(phy::pilot_elements);
    add(phy::control_elements);
    return all;
}

}  // namespace

void estimation_curve(const options& o) {
    const std::vector<double> snrs = o.full ? std::vector<double>{0, 5, 10, 16, 20, 25, 30, 35, 40}
                                            : std::vector<double>{10, 30};
    const std::vector<double> speeds =
        o.full ? std::vector<double>{3, 30, 75} : std::vector<double>{75};
    constexpr int warm_up = 100, measured = 100;
    static constexpr std::array<const char*, 5> names{"ls", "pilots", "control", "kalman",
                                                      "decided"};
    const phy::pilots pilots(0);
    const phy::control_region control(0);
    for (const double kmh : speeds)
        for (const double snr_db : snrs) {
            // The modulation is about that which the switch tables choose.
            const int k = snr_db < 12 ? 2 : snr_db < 22 ? 4 : snr_db < 32 ? 6 : 8;
            const phy::constellation points(k);
            const auto snr = static_cast<float>(from_db(snr_db));
            std::array<score, names.size()> scores;
            double power = 0;
            auto elements = list_elements();
            for (int trial = 0; trial < o.trials; ++trial) {
                world w({.profile = "jakes",
                         .doppler_hz = doppler_of(kmh),
                         .snr_db = snr_db,
                         .bits_per_symbol = k,
                         .seed = o.seed + 100 * static_cast<std::uint64_t>(trial)});
                observer sight(w);
                phy::channel_estimator estimator;
                phy::channel_estimate estimate;
                phy::decision_feedback feedback;
                slot_kalman kalman(4, doppler_of(kmh), from_db(snr_db), elements);
                grid y;
                truth t;
                response r;
                phy::control_symbols symbols;
                for (int i = 0; i < warm_up + measured; ++i) {
                    w.next();
                    sight.look(w, y, t);
                    const int at = static_cast<int>(w.now().value % slots_per_frame);
                    const auto* sent = pilots.of(at).data();
                    std::array<std::uint8_t, grant_bytes> bytes;
                    pack_grant(w.sent.grant, link_profile::radio, bytes);
                    control.encode(bytes, at, symbols);
                    for (std::size_t e = 0; e < elements.size(); ++e)
                        elements[e].value =
                            e < phy::nof_pilots ? sent[e] : symbols[e - phy::nof_pilots];
                    std::size_t method = 0;
                    const auto enter = [&](auto work) {
                        auto& s = scores[method++];
                        s.timed(work);
                        if (i >= warm_up) s.evaluate(r, t);
                    };
                    const auto take = [&] {
                        r.a = estimate.middle;
                        r.b = estimate.slope;
                        r.c = {};
                    };
                    enter([&] { least_squares(y, sent, r); });
                    scores[method].timed([&] { estimator.from_pilots(y, sent, snr, estimate); });
                    take();
                    if (i >= warm_up) scores[method].evaluate(r, t);
                    ++method;
                    scores[method].timed(
                        [&] { estimator.from_all(y, sent, symbols.data(), snr, estimate); });
                    take();
                    if (i >= warm_up) scores[method].evaluate(r, t);
                    ++method;
                    enter([&] { kalman.work(y, elements, r.a, r.b); });
                    decide(y, estimate, points, feedback.symbols());
                    const float noise = 1 / snr;
                    const float between = phy::intercarrier_power(estimate);
                    scores[method].timed([&] {
                        feedback.work(y, estimate, {sent, symbols.data(), &estimator.basis(), 1},
                                      noise,
                                      between > 0.05F * (noise + between)
                                          ? phy::decision_feedback::subtract::everywhere
                                          : phy::decision_feedback::subtract::nowhere);
                    });
                    r.a = feedback.middle();
                    r.b = feedback.slope();
                    r.c = feedback.curve();
                    if (i >= warm_up) {
                        scores[method].evaluate(r, t);
                        for (const auto& row : t.h)
                            for (const auto h : row) power += std::norm(h);
                    }
                }
            }
            std::printf("{\"curve\":\"estimation\",\"kmh\":%g,\"snr_db\":%g,\"bits\":%d", kmh,
                        snr_db, k);
            for (std::size_t i = 0; i < names.size(); ++i)
                std::printf(",\"%s_nmse_db\":%.3f,\"%s_us\":%.2f", names[i],
                            to_db(scores[i].error / power), names[i], scores[i].us());
            std::printf("}\n");
            std::fflush(stdout);
        }
}

}  // namespace wip::curves
