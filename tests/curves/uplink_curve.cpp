// SPDX-License-Identifier: GPL-3.0-or-later
// The uplink through the whole PHY: feedback forms that are lost, and 16-QAM frames that fail, over
// SNR, in white noise and on typical urban. Beside it, for the forms, the same code decoded by a
// receiver that is told the channel of each control symbol (elements instead of samples, other
// noise), and in white noise the union bound of the code: the sum over all error events, which
// begin in any step of the code and have the weight d, of Q(sqrt(d SNR)). For the frames, in white
// noise, exact theory.
#include "../unit/phy/symbol_error_theory.h"
#include "curve_world.h"
#include "phy/coding/control_region.h"
#include "phy/receiver/uplink_receiver.h"

namespace wip::curves {

namespace {

constexpr int bits_per_symbol = 4;

// Number of error events of each weight, over all steps in which they can begin. An event leaves
// the zero state by a one, and ends when it is back there.
std::vector<double> event_weights(int most) {
    constexpr int steps = phy::code_information_bits + phy::code_memory;
    const auto sent = [](int step, unsigned encoder) {
        const bool punctured = phy::first_sent(step + 1) - phy::first_sent(step) == 1;
        return int{phy::code_output(encoder, 0)} +
               (punctured ? 0 : int{phy::code_output(encoder, 1)});
    };
    const auto width = static_cast<std::size_t>(most) + 1;
    std::vector<double> events(width);
    for (int begin = 0; begin < phy::code_information_bits; ++begin) {
        // numbers of paths by the last six bits and by weight
        std::array<std::vector<double>, 64> now, next;
        for (auto& paths : now) paths.assign(width, 0);
        now[1][static_cast<std::size_t>(sent(begin, 1))] = 1;
        for (int step = begin + 1; step < steps; ++step) {
            for (auto& paths : next) paths.assign(width, 0);
            for (unsigned state = 1; state < 64; ++state)
                for (unsigned bit = 0; bit < (step < phy::code_information_bits ? 2U : 1U); ++bit) {
                    const unsigned encoder = state << 1 | bit;
                    const auto more = static_cast<std::size_t>(sent(step, encoder));
                    for (std::size_t d = 0; d + more < width; ++d)
                        next[encoder & 63][d + more] += now[state][d];
                }
            for (std::size_t d = 0; d < width; ++d) events[d] += next[0][d];
            next[0].assign(width, 0);
            std::swap(now, next);
        }
    }
    return events;
}

double union_bound(const std::vector<double>& events, double snr) {
    double sum = 0;
    for (std::size_t d = 1; d < events.size(); ++d)
        sum += events[d] * 0.5 * std::erfc(std::sqrt(static_cast<double>(d) * snr / 2));
    return std::min(sum, 1.0);
}

// Counts the forms that a receiver loses that knows the channel of the world's slot exactly.
class told_receiver {
public:
    explicit told_receiver(std::uint64_t seed) : random_(seed) {}
    bool loses(const world& w, const truth& channel) {
        const int slot_in_frame = static_cast<int>(w.now().value % slots_per_frame);
        phy::control_symbols sent, again;
        region_.encode(w.form, slot_in_frame, sent);
        std::normal_distribution<double> gauss(0, std::sqrt(0.5 / w.snr));
        std::array<float, phy::code_sent_bits> soft, ordered;
        for (std::size_t s = 0; s < sent.size(); ++s) {
            const auto& e = phy::control_elements[s % control_symbols_per_bin];
            const std::size_t n = s / control_symbols_per_bin * subcarriers_per_bin +
                                  static_cast<std::size_t>(e.subcarrier);
            const cf64 h = channel.h[static_cast<std::size_t>(e.symbol)][n];
            const cf64 y =
                (h * cf64(sent[s]) + cf64(gauss(random_), gauss(random_))) * std::conj(h);
            soft[2 * s] = static_cast<float>(y.real());
            soft[2 * s + 1] = static_cast<float>(y.imag());
        }
        region_.order(soft, slot_in_frame, ordered);
        control_content got;
        return !region_.decode(ordered, slot_in_frame, {}, got, again);
    }

private:
    std::mt19937_64 random_;
    phy::control_region region_{phy::sender::on_uplink(0, 0)};
};

void point(const char* channel, const char* profile, double kmh, double snr_db, int slots,
           const options& o, const std::vector<double>& events) {
    constexpr int warm_up = 64;
    constexpr double warm_up_db = 30;
    world w({.profile = profile,
             .doppler_hz = doppler_of(kmh),
             .snr_db = warm_up_db,
             .bits_per_symbol = bits_per_symbol,
             .seed = o.seed + static_cast<std::uint64_t>(100 * snr_db + kmh),
             .terminal = 0});
    phy::uplink_receiver receiver({});
    told_receiver told(o.seed);
    truth now;
    std::int64_t heard = 0, lost = 0, wrong = 0, told_lost = 0, bad = 0, frames = 0;
    for (int i = 0; i < warm_up + slots; ++i) {
        if (i == warm_up / 2) w.set_snr(snr_db);
        w.next();
        receiver.process(
            first_sample(w.now()), w.noisy, [&](sample, int) { return &w.sent.grant; },
            [&](const phy::uplink_slot& r) {
                if (i < warm_up || !r.heard) return;
                ++heard;
                lost += !r.form_ok;
                wrong += r.form_ok && r.form != w.form;
                frames += nof_bins;
                for (const auto& bin : r.bins) bad += bin.outcome != frame_outcome::good;
            });
        if (i < warm_up) continue;
        w.look(now);
        told_lost += told.loses(w, now);
    }
    const auto rate = [](std::int64_t n, std::int64_t total) {
        return total > 0 ? static_cast<double>(n) / static_cast<double>(total) : 0.0;
    };
    const bool white = profile[0] == 0;
    const phy::test::exact_symbol_error_rate theory{phy::constellation(bits_per_symbol)};
    const double frame_theory = 1 - std::pow(1 - theory(from_db(-snr_db)), payload_symbols_per_bin);
    std::printf(
        "{\"curve\":\"uplink\",\"channel\":\"%s\",\"kmh\":%g,\"snr_db\":%g,\"slots\":%d,"
        "\"heard\":%lld,\"forms_lost\":%lld,\"form_errors\":%.6g,\"form_errors_told\":%.6g,"
        "\"form_errors_bound\":%.6g,\"forms_wrong\":%lld,\"fer\":%.6g,\"fer_theory\":%.6g}\n",
        channel, kmh, snr_db, slots, static_cast<long long>(heard), static_cast<long long>(lost),
        rate(lost, heard), rate(told_lost, slots),
        white ? union_bound(events, from_db(snr_db)) : 0.0, static_cast<long long>(wrong),
        rate(bad, frames), white ? frame_theory : 0.0);
    std::fflush(stdout);
}

}  // namespace

void uplink_curve(const options& o) {
    const auto events = event_weights(24);
    const std::vector<double> awgn = o.full ? std::vector<double>{2, 3, 3.5, 4, 4.5, 5, 6, 16, 17}
                                            : std::vector<double>{3, 5, 17};
    for (const double snr_db : awgn) point("AWGN", "", 0, snr_db, 100 * o.trials, o, events);
    const std::vector<double> urban =
        o.full ? std::vector<double>{6, 8, 10, 12, 14, 20, 24, 26, 28} : std::vector<double>{8, 24};
    for (const double kmh : {3.0, 75.0})
        for (const double snr_db : urban)
            point("typical urban", "jakes", kmh, snr_db, 100 * o.trials, o, events);
}

}  // namespace wip::curves
