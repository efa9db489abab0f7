// SPDX-License-Identifier: GPL-3.0-or-later
// A radio that UHD opens, set up as a station does: its rate, its tuning, its streams. What UHD
// refuses is bad_input in one line.
#pragma once

#include <atomic>
#include <complex>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <uhd/usrp/multi_usrp.hpp>
#include <vector>

namespace wip::radio {

using cf32 = std::complex<float>;
using usrp = uhd::usrp::multi_usrp;

enum class side { receive, transmit };

struct tuning {
    double frequency_hz = 1.8e9;
    // without it: the receiver at the middle of its range, the transmitter at its lowest gain
    std::optional<double> gain_db;
    std::string antenna;  // empty: the device's own choice
};

usrp::sptr open(const std::string& arguments);

// The rate that flowgraphs/apps/usrp.py chooses: 7.68 MS/s, or else the lowest rate above it that
// is the clock divided by an even number, with a rate converter.
struct station_rate {
    double clock_hz, rate_hz;
    bool converted;
};
station_rate set_rate(usrp& radio, side s);

// The result of a tuning request.
struct tuned {
    double frequency_hz, lo_hz, gain_db, gain_lowest_db, gain_highest_db;
    std::string antenna;
};
tuned tune(usrp& radio, side s, const tuning& wish);

// A continuous stream of the radio's first channel.
class receiver {
public:
    explicit receiver(usrp::sptr radio);
    ~receiver();
    // The next samples, without a gap: after one it begins again, five times at most. Forgets the
    // first `skip`.
    std::vector<cf32> take(std::size_t count, std::size_t skip);
    int gaps() const noexcept { return gaps_; }

private:
    usrp::sptr radio_;
    uhd::rx_streamer::sptr stream_;
    int gaps_ = 0;
};

// Sends exp(2 pi i cycles n / 7680) times an amplitude until it is destroyed.
class tone {
public:
    static constexpr int period = 7680;  // samples
    tone(usrp::sptr radio, int cycles, double amplitude);
    ~tone();
    // Number of times that the transmitter ran out of samples or got them too late since the last
    // call.
    int gaps();
    void forget_gaps() { gaps(), gaps_ = 0; }

private:
    usrp::sptr radio_;
    uhd::tx_streamer::sptr stream_;
    std::vector<cf32> samples_;
    std::atomic<bool> ends_ = false;
    int gaps_ = 0;
    std::thread thread_;
};

}  // namespace wip::radio
