// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sync_block.h>
#include <gnuradio/wip/api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gr::wip {

class WIP_API fading_channel : virtual public gr::sync_block {
public:
    using sptr = std::shared_ptr<fading_channel>;
    // The description of the block and its parameters; Python shows it as its help.
    static constexpr const char* doc =
        R"(Multipath with Clarke's Doppler spectrum and white Gaussian noise: the models of
channels/sample, functions of (seed, sample number), from a list of taps or a channel definition
(channels/profiles: trains, tracks, shadowing, blackouts). Mean power gain of the taps 1, latency
6 samples.

delays_ns   of the taps, 0..12500, 1 to 64 of them
powers_db   of the taps, -100..100, relative: their sum is made 1. The typical urban channel of
            Alfredsson 2012, of whose 12 taps two are off: 0, 200, 600, 800, 1200, 1400, 1600, 1800,
            2000, 2200 ns with -5.7, -7.6, -4.4428, -13.4, -13.5793, -14.2371, -14.4794, -16.9543,
            -20.0164, -24.3 dB
doppler_hz  0..2000 (125: 75 km/h at 1800 MHz); 0: the channel stands still
fading      'rayleigh', or 'constant': fixed amplitudes, random phases
snr_db      -30..100; can change while it runs. SNR of a subcarrier, mean over the fading, when the
            input has the level of slot_transmitter (-15 dBFS)
seed        of fading and noise
channel     'taps': the lists above; or a channel definition, its name ('jakes', 'eva', ...)
            or a file NAME.yaml, which then says taps and fading (doppler_hz only if it does not
            move by itself)
shadowing_db standard deviation of the slow fading, 0..20; 0: none

ValueError, in C++ invalid_argument, names parameter, value and range.)";

    static sptr make(const std::vector<double>& delays_ns = {0},
                     const std::vector<double>& powers_db = {0}, double doppler_hz = 125,
                     const std::string& fading = "rayleigh", double snr_db = 30,
                     std::uint64_t seed = 1, const std::string& channel = "taps",
                     double shadowing_db = 0);

    virtual void set_snr_db(double snr_db) = 0;
    // Frequency response at the offset hz, for output sample number `index`, without the latency.
    virtual gr_complex response(std::int64_t index, double hz) const = 0;
};

}  // namespace gr::wip
