// SPDX-License-Identifier: GPL-3.0-or-later
// After lock: error of CFO and timing, and of the measured SNR.
//
// CFO: receiver_state::cfo_hz against the channel's. Timing: against the first path plus the mean
// delay of the profile (no profile: the sample of the slot's start); on a fading channel the mean
// delay itself moves, which is part of the spread shown.
//
// SNR bias: mean measured over mean true SNR of a bin, both linear. Lock is taken at 10 dB or more,
// then the noise rises to its value and 300 slots are left to settle. True SNR in two readings:
//   bias        against noise and interference between subcarriers, which is measured as
//               E|y0 - h x|^2 over all payload elements, y0 = noiseless y: what a detector meets.
//               A moving channel makes it: (2 pi f T)^2 / 24 of the power, -36 dB at 125 Hz
//   noise_only  against the noise alone
#include "curve_world.h"
#include "phy/coding/frame_coder.h"
#include "phy/grid/sequence.h"
#include "phy/ofdm/slot_extractor.h"
#include "phy/qam/constellation.h"

namespace wip::curves {

namespace {

// Power of y0 - h x over the payload elements of a slot.
class interference_meter {
public:
    double measure(const world& w, const truth& t) {
        extractor_.extract(w.clean.data(), 0, y_);
        double sum = 0;
        for (std::size_t b = 0; b < nof_bins; ++b) {
            phy::label_array sent{};
            phy::encode_frame(w.sent.payload[b], points_.bits(),
                              phy::payload_key(0, w.sent.grant.bins[b].sn, 0), sent);
            for (std::size_t i = 0; i < phy::nof_labels; ++i) {
                const auto& e = phy::payload_elements[i];
                const auto l = static_cast<std::size_t>(e.symbol);
                const auto n = b * subcarriers_per_bin + static_cast<std::size_t>(e.subcarrier);
                const cf64 y(static_cast<double>(y_[l].re[n]), static_cast<double>(y_[l].im[n]));
                sum += std::norm(y - t.h[l][n] * cf64(points_.points()[sent[i]]));
            }
        }
        return sum / (nof_bins * phy::nof_labels);
    }

private:
    phy::constellation points_{2};
    phy::slot_extractor extractor_;
    std::array<phy::plane, symbols_per_slot> y_;
};

struct moments {
    double sum = 0, squares = 0;
    std::int64_t n = 0;
    void add(double v) { sum += v, squares += v * v, ++n; }
    double mean() const { return n > 0 ? sum / static_cast<double>(n) : 0; }
    double rms() const { return n > 0 ? std::sqrt(squares / static_cast<double>(n)) : 0; }
};

constexpr int settle = 300, measured = 600;

// Runs one realisation and calls `look` with each settled slot's report.
void settled_slots(world& w, phy::slot_receiver& receiver, double snr_db,
                   const std::function<void(const phy::received_slot&)>& look) {
    w.set_snr(std::max(snr_db, 10.0));
    for (int i = 0; i < 100 + settle + measured; ++i) {
        if (i == 100) w.set_snr(snr_db);
        w.next();
        feed(receiver, w, [&](const phy::received_slot& r) {
            if (i >= 100 + settle) look(r);
        });
    }
}

}  // namespace

void tracking_curve(const options& o) {
    const std::vector<double> points =
        o.full ? std::vector<double>{4, 6, 8, 10, 15, 20, 25, 30, 35} : std::vector<double>{6, 20};
    phy::slot_receiver receiver({});
    for (const char* profile : {"", "jakes"})
        for (const double snr_db : points) {
            moments cfo, timing;
            std::int64_t unlocked = 0;
            for (int t = 0; t < o.trials; ++t) {
                world w({.profile = profile,
                         .doppler_hz = 125,
                         .cfo_hz = 3456.7 - 500.0 * t,
                         .seed = o.seed + 77 * static_cast<std::uint64_t>(t)});
                settled_slots(w, receiver, snr_db, [&](const phy::received_slot& r) {
                    if (!r.locked) {
                        ++unlocked;
                        return;
                    }
                    cfo.add(receiver.state().cfo_hz - w.config.cfo_hz);
                    const double late = receiver.state().timing_samples - w.mean_delay();
                    timing.add(std::remainder(late, slot_samples));
                });
            }
            std::printf(
                "{\"curve\":\"tracking\",\"channel\":\"%s\",\"snr_db\":%g,\"cfo_rms_hz\":%.5g,"
                "\"cfo_bias_hz\":%.4g,\"timing_rms_samples\":%.5g,\"timing_bias_samples\":%.4g,"
                "\"slots\":%lld,\"unlocked\":%lld}\n",
                *profile ? "typical urban 75 km/h" : "AWGN", snr_db, cfo.rms(), cfo.mean(),
                timing.rms(), timing.mean(), static_cast<long long>(cfo.n),
                static_cast<long long>(unlocked));
            std::fflush(stdout);
        }
}

void snr_curve(const options& o) {
    const std::vector<double> points = o.full ? std::vector<double>{0, 3, 6, 10, 15, 20, 25, 30, 35}
                                              : std::vector<double>{6, 20, 35};
    phy::slot_receiver receiver({});
    truth now;
    interference_meter meter;
    for (const char* profile : {"", "jakes"})
        for (const double kmh : *profile ? std::vector<double>{3, 75} : std::vector<double>{0})
            for (const double snr_db : points) {
                std::array<double, nof_bins> got{}, real{};
                double without = 0, between = 0;
                std::int64_t looked = 0;
                std::int64_t unlocked = 0;
                for (int t = 0; t < o.trials; ++t) {
                    world w({.profile = profile,
                             .doppler_hz = doppler_of(kmh),
                             .seed = o.seed + 77 * static_cast<std::uint64_t>(t)});
                    settled_slots(w, receiver, snr_db, [&](const phy::received_slot& r) {
                        if (!r.locked) {
                            ++unlocked;
                            return;
                        }
                        w.look(now);
                        const double extra = meter.measure(w, now);
                        between += extra;
                        ++looked;
                        for (std::size_t b = 0; b < nof_bins; ++b) {
                            without += now.power[b] * w.snr;
                            got[b] += from_db(static_cast<double>(r.snr_db[b]));
                            real[b] += now.power[b] / (1 / w.snr + extra);
                        }
                    });
                }
                double worst = 0, all_got = 0, all_real = 0;
                std::string bins;
                for (std::size_t b = 0; b < nof_bins; ++b) {
                    const double bias = to_db(got[b] / real[b]);
                    if (std::abs(bias) > std::abs(worst)) worst = bias;
                    all_got += got[b];
                    all_real += real[b];
                    char text[32];
                    std::snprintf(text, sizeof text, "%s%.4f", b == 0 ? "" : ",", bias);
                    bins += text;
                }
                if (all_got == 0) {  // without lock there is no number, which JSON does not have
                    worst = 99, all_got = all_real = without = 1, looked = 1;
                    bins.clear();
                }
                char name[48] = "AWGN";
                if (*profile) std::snprintf(name, sizeof name, "typical urban %g km/h", kmh);
                std::printf(
                    "{\"curve\":\"snr\",\"channel\":\"%s\",\"snr_db\":%g,\"bias_db\":%.4f,"
                    "\"worst_bin_db\":%.4f,\"noise_only_db\":%.4f,\"interference_db\":%.2f,"
                    "\"unlocked\":%lld,\"bins\":[%s]}\n",
                    name, snr_db, to_db(all_got / all_real), worst, to_db(all_got / without),
                    to_db(between / static_cast<double>(std::max<std::int64_t>(looked, 1)) + 1e-9),
                    static_cast<long long>(unlocked), bins.c_str());
                std::fflush(stdout);
            }
}

}  // namespace wip::curves
