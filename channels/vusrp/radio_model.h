// SPDX-License-Identifier: GPL-3.0-or-later
// The kind of radio that the device models, and its state between property tree and streams: the
// ideal radio, which has no faults and only the medium's rate, or a product with its master clock,
// rates, oscillator, levels and latencies. Clock, oscillator and transport are common to its
// channels; each channel has rates, analog filters and faults of its own. Device arguments:
// docs/reference/devices.md.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <uhd/types/device_addr.hpp>
#include <uhd/types/time_spec.hpp>
#include <vector>

#include "air/layout.h"
#include "sample/exact_rate.h"
#include "sample/rate_converter.h"
#include "sample/stage_chain.h"
#include "vusrp/analog_edge.h"
#include "vusrp/fpga/family.h"
#include "vusrp/product.h"

namespace wip::vusrp {

using air::tick;
using sample_model::exact_rate;

// Returns the number in a device argument; throws uhd::value_error with key, value and range.
double number_of(const uhd::device_addr_t& args, const std::string& key, double fallback,
                 double low, double high);

using bandwidth_setting = std::atomic<double>;  // Hz

enum class side { receive, transmit };
constexpr const char* name_of(side s) { return s == side::receive ? "rx" : "tx"; }
constexpr const char* capital_name_of(side s) { return s == side::receive ? "RX" : "TX"; }

// Device time is an offset (in ticks of the device's clock at the medium's rate) plus the time of
// sample n at a rate.
uhd::time_spec_t to_time(tick n, const exact_rate& rate, tick offset);
tick to_sample(const uhd::time_spec_t& time, const exact_rate& rate, tick offset);

class radio_model {
public:
    explicit radio_model(const uhd::device_addr_t& args);

    std::size_t channels() const noexcept { return ideal() ? 1 : kind_->subdevices.size(); }
    // The model for a stream of this channel.
    radio_model of(std::size_t channel) const;

    bool ideal() const noexcept { return kind_ == nullptr; }
    const product& kind() const noexcept { return *kind_; }
    const front_end& front(side s) const {
        return s == side::receive ? kind_->receive : kind_->transmit;
    }

    // --- clock and rates ---
    double clock() const;
    double set_clock(double hz);  // returns the clock that results
    // Call it before a stream of `channels_of_stream` channels is made, after which
    // `channels_in_all` channels of the direction have streams. If the radio chooses its clock
    // automatically, it is set for this stream. Throws uhd::value_error if the clock is too high
    // for that many channels.
    void prepare_clock(side s, std::size_t channels_of_stream, std::size_t channels_in_all);
    double set_rate(side s, std::size_t channel, double requested_rate);
    const exact_rate& rate(side s) const noexcept { return own().rate[s == side::transmit]; }
    double nominal_rate(side s, std::size_t channel) const noexcept {
        const exact_rate& r = channels_[channel].rate[s == side::transmit];
        return static_cast<double>(r.clock) / static_cast<double>(r.divider);
    }
    double ppm() const noexcept { return 1e-6 * static_cast<double>(parts_); }
    // Selects the clock of the streams that are made from now on: an exact reference, or the
    // oscillator with its error.
    void follow_reference(bool on);
    // --- control logic in the FPGA ---
    const fpga::family& control() const noexcept { return *control_; }
    bool ideal_control() const noexcept { return control_ == &fpga::ideal_family(); }
    // Whether UHD restarts the receiver after an overflow, as it does from 4.2 on.
    bool restarts() const noexcept { return restarts_; }
    exact_rate master() const noexcept { return {clock_hz_, 1, parts_}; }
    // The most samples that are stored in the device before the transmitter, and after the
    // receiver.
    std::int64_t transmit_store() const noexcept { return transmit_store_; }
    std::int64_t receive_store() const noexcept { return receive_store_; }
    // Samples of a packet that fit into one USB transfer; 0: the radio has no USB.
    std::int64_t usb_frame() const noexcept { return usb_frame_; }
    std::int64_t receive_frames() const noexcept { return receive_frames_; }

    // Device time is counted in ticks of the medium's rate, as the radio's own clock has it.
    const exact_rate& base() const noexcept { return base_; }
    tick own_of_medium(tick t) const noexcept { return clock_map_.at_or_after(t); }
    tick medium_of_own(tick n) const noexcept;
    // The real frequency of a carrier with the oscillator's constant error, without its wander.
    double carrier(double hz) const noexcept { return hz * (1 + 1e-12 * double(parts_)); }

    // --- analog filter ---
    std::optional<analog_shape> filter(side s) const {
        return kind_ ? front(s).filter : std::nullopt;
    }
    double set_bandwidth(side s, std::size_t channel,
                         double hz);  // returns the bandwidth that UHD then reports
    // The present setting, which streams read while they run.
    std::shared_ptr<const bandwidth_setting> bandwidth(side s) const {
        return own().bandwidth[s == side::transmit];
    }

    // --- analog edge (analog_edge.h); absent with analog=0 or without faults ---
    bool has_edge() const noexcept { return kind_ && faults_ && analog_; }
    // The real gain of the front end for a gain setting; its level is relative to the medium.
    actual_gain gain_setting(side s, std::size_t channel, double gain) const;
    double random_turns();  // phase of an LO that has just locked
    // In samples at the rate of that side, with a fraction.
    double chain_delay(side s) const;
    std::int64_t ramp_samples() const;
    std::optional<tracked_errors> tracked() const;
    std::optional<wander_stage> wander(side s) const;
    // Streams follow it while they run.
    void set_carrier(side s, std::size_t channel, double hz) {
        *channels_[channel].carrier[s == side::transmit] = hz;
    }

    // --- transport and commands, in ticks ---
    tick latency() const noexcept { return latency_; }
    tick spread() const noexcept { return spread_; }
    tick random_spread();    // uniform from 0 to spread()
    tick random_settling();  // random settling time of a command
    bool timed_commands() const noexcept { return ideal() || kind_->timed_commands; }
    std::uint32_t seed() const noexcept { return seed_of(channel_); }

    // --- samples ---
    std::vector<sample_model::impairment_config> impairments(side s) const;
    db gain_at(side s, double hz, db asked) const {
        return ideal() ? asked : front(s).gain_at(hz, asked);
    }
    // The level relative to the medium of a gain setting.
    db level(side s, db gain) const;
    // UHD's reference power: the power at the connector (dBm) that corresponds to full scale, and
    // the gain for it. Only for a product with calibration data (calibrated=1).
    bool calibrated() const noexcept { return calibrated_; }
    dbm reference(side s, db gain) const;
    db gain_for(side s, dbm reference) const;
    std::string front_name(side s, std::size_t channel) const;
    std::string antenna_refusal(side s, const std::string& antenna) const;
    std::string source_refusal(bool of_time, const std::string& source,
                               const std::string& sources) const;

private:
    struct channel_state {
        double requested_rate[2];
        exact_rate rate[2];
        std::array<std::shared_ptr<bandwidth_setting>, 2> bandwidth, carrier;
    };
    double first_clock(const uhd::device_addr_t& args);
    void divide_clock();
    std::uint32_t seed_of(std::size_t channel) const noexcept {
        return seed_ + 7919 * std::uint32_t(channel);
    }
    const channel_state& own() const noexcept { return channels_[channel_]; }

    void read_control(const uhd::device_addr_t& args);

    const product* kind_ = nullptr;
    const fpga::family* control_ = nullptr;
    bool restarts_ = true, follows_reference_ = false;
    std::int64_t transmit_store_ = 0, receive_store_ = 0, receive_frames_ = 0, usb_frame_ = 0;
    // `parts`: errors of the clock in 10^-12, in use and of the radio's own oscillator.
    std::int64_t clock_hz_, parts_ = 0, oscillator_parts_ = 0;
    bool automatic_ = false, faults_ = true, analog_ = true, calibrated_ = false;
    std::vector<channel_state> channels_;
    std::size_t channel_ = 0;
    exact_rate base_;
    sample_model::rate_map clock_map_;  // from ticks of the radio's clock to those of the medium
    tick latency_, spread_, settling_;
    std::uint32_t seed_;
    std::minstd_rand random_;
};

}  // namespace wip::vusrp
