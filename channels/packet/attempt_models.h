// SPDX-License-Identifier: GPL-3.0-or-later
// Which attempts to send a frame fail (port/attempt_errors.h), each seeded:
//
//   burst            `burst` consecutive attempts of every 100 fail, from a phase that the seed
//                    gives (Fotiadis 2005, 5.2): the channel is counted in attempts, not in time
//   gilbert_elliott  two states with exponential durations and a loss probability each: the state
//                    also changes while a sender waits (Gilbert 1960, Elliott 1963)
//   fading           Rayleigh fading of Clarke and Jakes (sample/flat_fading.h): an attempt fails
//                    when the SNR at its begin is below what the rate needs
#pragma once

#include <cstdint>
#include <memory>

#include "port/attempt_errors.h"
#include "types/setting_limits.h"

namespace wip::packet_model {

struct attempt_config {
    enum class model : std::uint8_t { none, burst, gilbert_elliott, fading };
    model kind = model::none;
    int burst = setting::wlan_burst.initial;  // attempts of every 100
    double good_ms = setting::wlan_good_ms.initial, bad_ms = setting::wlan_bad_ms.initial;  // mean
    double good_loss = 0, bad_loss = 1;  // 0 .. 1
    double snr_db = 20;                  // mean
    double needed_db = 10;               // -60 .. 80, of the rate: needed_db_of()
    double doppler_hz = 5;               // 0 .. 2000
    double from_s = 0, for_s = 0;        // attempts fail only in these for_s seconds; 0: to the end
    std::uint64_t seed = 1;
    bool operator==(const attempt_config&) const = default;
    void check() const;  // throws std::invalid_argument naming key, value and what would be valid
};

// SNR in 22 MHz at which half of all frames of 1536 bytes at this rate of 802.11b (1, 2, 5.5, 11
// Mbit/s) get through: DBPSK, DQPSK and CCK as ns-3 3.37 has them (dsss-error-rate-model.cc with
// GSL), a receiver without losses of its own. 10 % get through at 0.6 to 0.7 dB less, 90 % at 0.8
// to 0.9 dB more, so that a threshold is accurate enough.
double needed_db_of(double rate_mbps);

// `purpose` tells apart channels that share a seed. Null for none. Throws as check() does.
std::unique_ptr<attempt_errors> make_attempt_errors(const attempt_config& config,
                                                    std::uint32_t purpose);

}  // namespace wip::packet_model
