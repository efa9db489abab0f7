// SPDX-License-Identifier: GPL-3.0-or-later
// Radios of the fader behind UHD. Times are samples of 7.68 MHz since the device's time 0.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <uhd/usrp/multi_usrp.hpp>
#include <vector>

#include "cabled/fader_config.h"
#include "fader/fading_radio.h"

namespace wip::cabled {

class usrp_radio final : public fading_radio {
public:
    // Throws bad_input naming the node and what the device does not have or give.
    usrp_radio(uhd::usrp::multi_usrp::sptr device, const radio_config& config, double frequency_hz);

    void start(mix::tick time, bool receives, bool transmits) override;
    received receive(std::span<mix::cf32> out) override;
    void send(mix::tick time, std::span<const mix::cf32> x) override;
    events take_events() override;
    mix::tick now() override;
    void stop() override;

    // Returns what the device says that it is.
    nlohmann::json identity() const;

private:
    void listen();  // takes in the events that the device reports for its transmitter

    uhd::usrp::multi_usrp::sptr device_;
    radio_config config_;
    uhd::rx_streamer::sptr receiver_;
    uhd::tx_streamer::sptr transmitter_;
    // the property in which UHD keeps the device's time
    uhd::property<uhd::time_spec_t>* now_ = nullptr;
    bool burst_begins_ = true;
    bool is_behind_ = false;  // the burst has to end, because its samples are no longer on time
    // while the transmitter is silent: the first time of the next burst
    std::optional<mix::tick> resumes_{};
    events events_{};  // since take_events()
};

// Opens each device once, and gives them a common time (common_time.h). Throws as usrp_radio.
std::vector<std::unique_ptr<usrp_radio>> open_radios(const fader_config& config);

}  // namespace wip::cabled
