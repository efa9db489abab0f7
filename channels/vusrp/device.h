// SPDX-License-Identifier: GPL-3.0-or-later
// A software USRP as UHD sees it: a property tree with all properties that multi_usrp and gr-uhd
// use. Frequencies and gains go to the medium as (timed) commands; the tree reports the commanded
// value at once, as multi_usrp's tuner expects. Each of its channels (a subdevice, a DSP and a node
// of the medium) has tuning, gains and streams of its own; clock and time are common.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <uhd/device.hpp>
#include <uhd/types/device_addr.hpp>
#include <uhd/usrp/subdev_spec.hpp>
#include <vector>

#include "vusrp/node_port.h"
#include "vusrp/radio_model.h"
#include "vusrp/streams.h"

namespace wip::vusrp {

// Which clock inputs of the radio are connected and working, from the device arguments.
struct clock_inputs {
    bool reference, pps, gpsdo, lo;
};
clock_inputs inputs_of(const uhd::device_addr_t& args);

class device : public uhd::device {
public:
    explicit device(const uhd::device_addr_t& args);

    uhd::rx_streamer::sptr get_rx_stream(const uhd::stream_args_t& args) override;
    uhd::tx_streamer::sptr get_tx_stream(const uhd::stream_args_t& args) override;
    bool recv_async_msg(uhd::async_metadata_t& message, double timeout) override;

private:
    // The properties of one direction in the property tree.
    struct side_properties;
    side_properties properties(side s) const;

    // A subdevice, in the order of the full subdevice specification, with the DSP of the same
    // number.
    struct channel {
        std::string board, front;         // "A" and "0" of "A:0"
        std::shared_ptr<node_port> port;  // null: the channel is not connected to the medium
        std::weak_ptr<receive_stream> receive{};
        std::weak_ptr<transmit_stream> transmit{};
        double front_end_hz[2] = {air::default_frequency, air::default_frequency};
        double dsp_hz[2] = {0, 0};
        double requested_gain[2] = {0, 0};  // dB; the gain that results may depend on the frequency
        actual_gain gain[2] = {};           // the real gain, after the last change has settled
        double lo_turns[2] = {0, 0};        // phase of the LO, drawn when it locked
        tick last_command = air::as_soon_as_possible;  // when the last command is executed; the
                                                       // next one is not earlier
        // The times at which the commands in the radio's queue are executed.
        std::deque<tick> queue{};
    };
    void make_channels(const uhd::device_addr_t& args);
    uhd::fs_path front_path(side s, std::size_t i) const;
    uhd::fs_path dsp_path(side s, std::size_t i) const;
    void make_subdevices(side s);
    uhd::usrp::subdev_spec_t choose_subdevices(side s, const uhd::usrp::subdev_spec_t& spec);
    // The channels of a stream, as indexes into channels_.
    std::vector<std::size_t> chosen(const uhd::stream_args_t& args, side s);
    std::size_t streaming(side s) const;
    void make_motherboard(const uhd::device_addr_t& args);
    void make_sources(const uhd::device_addr_t& args);
    void make_time(const uhd::device_addr_t& args);
    void choose_clock(const std::string& source);
    void choose_time(const std::string& source);
    tick last_edge() const;
    void make_side(side s, std::size_t i);
    void make_antennas(side s, std::size_t i, const side_properties& p);
    void make_tuning(side s, std::size_t i, const side_properties& p);
    void make_power(side s, std::size_t i, const side_properties& p);
    void make_rate(side s, std::size_t i);
    tick command_time();
    // The times at which a change of gain or LO begins and is complete. schedule_command() waits
    // until there is room in the radio's command queue.
    struct execution {
        tick begins, holds;
    };
    execution schedule_command(channel& c);
    void lock_anew(side s, std::size_t i);
    void tune(side s, std::size_t i);
    void set_level(side s, std::size_t i, double gain);
    std::vector<stream_channel> lanes(const std::vector<std::size_t>& positions) const;
    std::size_t packet_of(const uhd::stream_args_t& args, side s) const;

    radio_model model_;
    std::vector<channel> channels_;
    std::shared_ptr<node_port> port_;    // port of the first channel, whose time all channels have
    std::vector<std::size_t> order_[2];  // [side][channel number]: index into channels_
    const clock_inputs inputs_;
    std::string clock_source_ = "internal";
    bool follows_reference_ = false;  // locked to a reference that is not internal
    // Last edge before a time source without edges was chosen; -1: the source has edges.
    tick stopped_edge_ = -1;
    std::mutex mutex_, queue_mutex_;
    bool holds_clock_ = false;
    bool timed_ = false;
    uhd::time_spec_t command_time_{0.0};
};

// The name of the node from the device arguments; shared by find() and the device.
std::string node_of(const uhd::device_addr_t& args);

}  // namespace wip::vusrp
