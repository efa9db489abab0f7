// SPDX-License-Identifier: GPL-3.0-or-later
// The receiver, the modulator and the channel beside those of liquid-dsp, by turns in one run, for
// the same work: as many payload bits in OFDM symbols of 500 subcarriers of an FFT of 768 with a
// prefix of 85, uncoded, at 40 dB; a channel of as many taps with noise over as many samples.
//   bench_liquid [slots]     default 1000
// The differences are listed in docs/results/speed.md: liquid's frame brings its own preamble and
// header, and its channel does not fade.

#include <complex>
//
#include <liquid/liquid.h>  // its complex numbers are those of <complex> when that came first

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "../curves/curve_world.h"
#include "bench_length.h"
#include "profiles/channel_definition.h"
#include "sample/noise.h"
#include "sample/tapped_delay_line.h"
#include "slot_times.h"

namespace {

using namespace wip;
using namespace wip::phy;
using namespace wip::phy::test;
using bench::slot_times;

void print(const std::string& what, int bits, const slot_times& ours, const slot_times& liquid,
           double samples_share, bool last = false) {
    for (const auto* side : {&ours, &liquid}) {
        std::printf("  {\"what\": \"%s\", \"by\": \"%s\", \"bits_per_symbol\": %d, ", what.c_str(),
                    side == &ours ? "openwip" : "liquid-dsp", bits);
        side->print();
        std::printf("%s}%s\n",
                    side == &ours
                        ? ""
                        : (", \"samples_of_a_slot\": " + std::to_string(samples_share) +
                           ", \"times_ours\": " + std::to_string(liquid.median() / ours.median()))
                              .c_str(),
                    last && side == &liquid ? "" : ",");
    }
}

// One frame of liquid's that carries what a slot carries.
class flexframe {
public:
    explicit flexframe(int bits) {
        std::vector<unsigned char> allocation(fft, 0);
        // Around DC, 250 subcarriers on each side; every tenth is a pilot.
        for (unsigned int n = 1; n <= 250; ++n)
            for (const unsigned int at : {n, fft - n})
                allocation[at] = n % 10 == 5 ? OFDMFRAME_SCTYPE_PILOT : OFDMFRAME_SCTYPE_DATA;
        ofdmflexframegenprops_s properties;
        ofdmflexframegenprops_init_default(&properties);
        properties.check = LIQUID_CRC_24;
        properties.fec0 = LIQUID_FEC_NONE;
        properties.fec1 = LIQUID_FEC_NONE;
        properties.mod_scheme = bits == 2   ? LIQUID_MODEM_QPSK
                                : bits == 4 ? LIQUID_MODEM_QAM16
                                : bits == 6 ? LIQUID_MODEM_QAM64
                                            : LIQUID_MODEM_QAM256;
        generator_ = ofdmflexframegen_create(fft, prefix, 0, allocation.data(), &properties);
        synchroniser_ = ofdmflexframesync_create(fft, prefix, 0, allocation.data(), on_frame, this);
        // The payload of a slot: in each bin 108 symbols less a CRC of 24 bits.
        payload_.resize(static_cast<std::size_t>(nof_bins * (108 * bits - 24) / 8));
        for (std::size_t i = 0; i < payload_.size(); ++i)
            payload_[i] = static_cast<unsigned char>(i * 29);
    }
    ~flexframe() {
        ofdmflexframegen_destroy(generator_);
        ofdmflexframesync_destroy(synchroniser_);
    }
    flexframe(const flexframe&) = delete;
    flexframe& operator=(const flexframe&) = delete;

    void transmit() {
        const unsigned char header[8] = {};
        ofdmflexframegen_assemble(generator_, header, payload_.data(),
                                  static_cast<unsigned int>(payload_.size()));
        const std::size_t symbols = ofdmflexframegen_getframelen(generator_);
        samples.resize(symbols * (fft + prefix));
        ofdmflexframegen_write(generator_, samples.data(),
                               static_cast<unsigned int>(samples.size()));
    }
    void receive() {
        ofdmflexframesync_execute(synchroniser_, samples.data(),
                                  static_cast<unsigned int>(samples.size()));
    }
    int good() const { return good_; }

    std::vector<std::complex<float>> samples;

private:
    static int on_frame(unsigned char*, int, unsigned char*, unsigned int, int payload_valid,
                        framesyncstats_s, void* self) {
        static_cast<flexframe*>(self)->good_ += payload_valid;
        return 0;
    }
    static constexpr unsigned int fft = 768, prefix = 85;
    ofdmflexframegen generator_;
    ofdmflexframesync synchroniser_;
    std::vector<unsigned char> payload_;
    int good_ = 0;
};

bool frames(int bits, int slots) {
    curves::world w({.snr_db = 40, .bits_per_symbol = bits});
    slot_modulator modulator({});
    slot_receiver receiver({});
    flexframe peer(bits);
    sample_model::noise noise(1e-4, 7);
    slot_times tx, rx, peer_tx, peer_rx;
    std::vector<cf32> out(slot_samples);
    std::uint64_t good = 0;
    const auto count = [&](const received_slot& s) {
        for (const auto& b : s.bins) good += b.outcome == frame_outcome::good;
    };
    for (int i = 0; i < 250; ++i) {
        w.next();
        curves::feed(receiver, w, count);
    }
    good = 0;
    std::int64_t at = 0;
    for (int i = 0; i < slots; ++i) {
        w.next();
        std::array<std::span<const std::uint8_t>, nof_bins> views;
        for (std::size_t b = 0; b < nof_bins; ++b) views[b] = w.sent.payload[b];
        tx.measure([&] {
            modulator.work(w.sent.air, w.sent.grant, views,
                           std::span<cf32, slot_samples>(out.data(), slot_samples));
        });
        rx.measure([&] { receiver.process(first_sample(w.now()), w.noisy, count); });
        peer_tx.measure([&] { peer.transmit(); });
        float power = 0;
        for (const auto& v : peer.samples) power += std::norm(v);
        const float scale = 1 / std::sqrt(power / static_cast<float>(peer.samples.size()));
        for (auto& v : peer.samples) v *= scale;
        noise.seek(at);
        noise.work(peer.samples, peer.samples);
        at += static_cast<std::int64_t>(peer.samples.size());
        peer_rx.measure([&] { peer.receive(); });
    }
    const double share =
        static_cast<double>(peer.samples.size()) / static_cast<double>(slot_samples);
    print("modulator", bits, tx, peer_tx, share);
    print("receiver", bits, rx, peer_rx, share);
    if (good == static_cast<std::uint64_t>(slots) * nof_bins && peer.good() == slots) return true;
    std::fprintf(stderr, "bench_liquid: %d bits: %llu of %d frames, liquid %d of %d\n", bits,
                 static_cast<unsigned long long>(good), slots * nof_bins, peer.good(), slots);
    return false;
}

void channels(int slots) {
    using namespace sample_model;
    const auto profile = profiles::load("jakes");
    constexpr double doppler_hz = 125;
    tapped_delay_line line(profile, doppler_hz, {static_cast<double>(sample_rate_hz), 1, 0});
    noise awgn(0.001, 1);
    // The longest delay in samples, and 16 taps for the interpolation between samples, for which
    // the line has 14 (sample/tapped_delay_line.h).
    const unsigned int taps =
        2 * 8 + static_cast<unsigned int>(profile.taps.back().delay_s *
                                          static_cast<double>(sample_rate_hz));
    channel_cccf peer = channel_cccf_create();
    channel_cccf_add_awgn(peer, -30, 30);
    channel_cccf_add_multipath(peer, nullptr, taps);
    std::vector<cf32> in(slot_samples, cf32(0.1F, 0.05F)), out(slot_samples);
    slot_times ours, liquid;
    for (int s = 0; s < slots; ++s) {
        const std::int64_t at = first_sample(slot(1000 + s)).value;
        ours.measure([&] {
            line.work(at, in, out);
            awgn.seek(at);
            awgn.work(out, out);
        });
        liquid.measure(
            [&] { channel_cccf_execute_block(peer, in.data(), slot_samples, out.data()); });
    }
    channel_cccf_destroy(peer);
    print("multipath and noise, fading taps (liquid: " + std::to_string(taps) + " fixed ones)", 0,
          ours, liquid, 1, true);
}

}  // namespace

int main(int argc, char** argv) {
    const int slots = bench::length(argc, argv, "slots", 1000, 100);
    std::printf(
        "{\"benchmark\": \"liquid\", \"liquid\": \"%s\", \"budget_us\": %.1f, \"results\": [\n",
        liquid_libversion(), bench::slot_budget_us);
    bool good = true;
    for (const int bits : {2, 4, 6, 8}) good = frames(bits, slots) && good;
    channels(slots);
    std::printf("]}\n");
    return good ? 0 : 1;
}
