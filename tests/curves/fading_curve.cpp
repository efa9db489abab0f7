// SPDX-License-Identifier: GPL-3.0-or-later
// Frame error rate on the typical urban channel: the receiver as it is, and receivers that are told
// the channel, on the same samples.
//   told:  y of each payload element divided by the true channel in the middle of its symbol. What
//          the channel moves within a symbol (interference between subcarriers) stays.
//   exact: divided by the noiseless y over the symbol sent: that interference is gone too, what is
//          left is the noise. No receiver does better with one tap and the nearest point.
// second_passes: share of the slots that were detected a second time, with decision feedback.
// A frame in a slot whose grant was lost counts as an error of our receiver. The channel estimator
// and the tracking have `warm_up` slots to settle in each realisation.
#include "curve_world.h"
#include "phy/coding/frame_coder.h"
#include "phy/grid/sequence.h"
#include "phy/ofdm/slot_extractor.h"
#include "phy/qam/constellation.h"

namespace wip::curves {

namespace {

struct counts {
    std::int64_t frames = 0, estimated = 0, informed = 0, exact = 0, grants_lost = 0;
    std::uint64_t second_passes = 0;
};

class genie {
public:
    explicit genie(int k) : k_(k), points_(k) {}

    // Counts the frames of the world's slot with a wrong symbol: for a receiver that knows the
    // gains of the channel (informed), and for one that knows each received sample without noise
    // (exact).
    void evaluate(const world& w, counts& c) {
        // The channel model's filter delays by a few samples; the extractor's window has room.
        extractor_.extract(w.clean.data(), 0, clean_);
        extractor_.extract(w.noisy.data(), 0, noisy_);
        w.look(truth_);
        for (std::size_t b = 0; b < nof_bins; ++b) {
            phy::label_array sent{};
            phy::encode_frame(w.sent.payload[b], k_,
                              phy::payload_key(0, w.sent.grant.bins[b].sn, 0), sent);
            bool informed_wrong = false, exact_wrong = false;
            for (std::size_t i = 0; i < phy::nof_labels; ++i) {
                const auto& e = phy::payload_elements[i];
                const auto l = static_cast<std::size_t>(e.symbol);
                const auto n = b * subcarriers_per_bin + static_cast<std::size_t>(e.subcarrier);
                const cf64 y(static_cast<double>(noisy_[l].re[n]),
                             static_cast<double>(noisy_[l].im[n]));
                const cf64 y0(static_cast<double>(clean_[l].re[n]),
                              static_cast<double>(clean_[l].im[n]));
                const cf64 x(points_.points()[sent[i]]);
                informed_wrong = informed_wrong || label(y / truth_.h[l][n]) != sent[i];
                exact_wrong = exact_wrong || label(y / (y0 / x)) != sent[i];
            }
            ++c.frames;
            c.informed += informed_wrong;
            c.exact += exact_wrong;
        }
    }

private:
    std::uint8_t label(cf64 v) const {
        const auto re = static_cast<float>(v.real()), im = static_cast<float>(v.imag());
        std::uint8_t got;
        points_.slice(&re, &im, &got, 1);
        return got;
    }
    int k_;
    phy::constellation points_;
    phy::slot_extractor extractor_;
    std::array<phy::plane, symbols_per_slot> clean_, noisy_;
    truth truth_;
};

}  // namespace

void fading_curve(const options& o) {
    struct series {
        int k;
        std::vector<double> snr_db;
    };
    const std::vector<series> all =
        o.full ? std::vector<series>{{4, {19, 22, 25, 28, 31, 34, 37}},
                                     {6, {25, 28, 31, 34, 37, 40, 44}},
                                     {8, {31, 34, 38, 42, 46, 50, 55}}}
               : std::vector<series>{{4, {26, 32}}, {6, {34, 40}}, {8, {40, 46}}};
    const std::vector<double> speeds =
        o.full ? std::vector<double>{3, 30, 75} : std::vector<double>{75};
    constexpr int warm_up = 250, measured = 250;
    phy::slot_receiver receiver({.combining = false});
    for (const auto& s : all)
        for (const double kmh : speeds)
            for (const double snr_db : s.snr_db) {
                counts c;
                genie informed(s.k);
                for (int t = 0; t < o.trials; ++t) {
                    const auto seed = o.seed + 1000 * static_cast<std::uint64_t>(t);
                    world w({.profile = "jakes",
                             .doppler_hz = doppler_of(kmh),
                             .snr_db = snr_db,
                             .bits_per_symbol = s.k,
                             .seed = seed});
                    std::uint64_t passes_before = 0;
                    for (int i = 0; i < warm_up + measured; ++i) {
                        if (i == warm_up) passes_before = receiver.state().second_passes;
                        w.next();
                        feed(receiver, w, [&](const phy::received_slot& r) {
                            if (i < warm_up) return;
                            c.grants_lost += !r.grant_ok;
                            for (const auto& b : r.bins)
                                c.estimated += b.outcome != frame_outcome::good;
                        });
                        if (i >= warm_up) informed.evaluate(w, c);
                    }
                    c.second_passes += receiver.state().second_passes - passes_before;
                }
                const auto rate = [&](std::int64_t n) {
                    return static_cast<double>(n) / static_cast<double>(c.frames);
                };
                std::printf(
                    "{\"curve\":\"fading\",\"bits\":%d,\"kmh\":%g,\"snr_db\":%g,\"fer\":%.6g,"
                    "\"fer_told\":%.6g,\"fer_exact\":%.6g,\"frames\":%lld,\"grants_lost\":%lld,"
                    "\"second_passes\":%.4g}\n",
                    s.k, kmh, snr_db, rate(c.estimated), rate(c.informed), rate(c.exact),
                    static_cast<long long>(c.frames), static_cast<long long>(c.grants_lost),
                    rate(static_cast<std::int64_t>(c.second_passes) * nof_bins));
                std::fflush(stdout);
            }
}

}  // namespace wip::curves
