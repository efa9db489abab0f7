// SPDX-License-Identifier: GPL-3.0-or-later
// A software USRP as UHD sees it: one channel, one subdevice "A:0", a property tree with everything
// that multi_usrp and gr-uhd ask for. Frequencies and gains go to the medium as (timed) commands;
// what the tree reports back is the commanded value at once, as multi_usrp's tuner expects.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <uhd/device.hpp>
#include <uhd/types/device_addr.hpp>

#include "vusrp/node_port.h"
#include "vusrp/radio_model.h"
#include "vusrp/streams.h"

namespace wip::vusrp {

// What is connected to the radio that device arguments describe, and works.
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
    // What the property tree says of one direction.
    struct side_properties;
    side_properties properties(side s) const;

    uhd::fs_path front_path(side s) const;
    void make_motherboard(const uhd::device_addr_t& args);
    void make_sources(const uhd::device_addr_t& args);
    void make_time(const uhd::device_addr_t& args);
    void choose_clock(const std::string& source);
    void choose_time(const std::string& source);
    tick last_edge() const;
    void make_side(side s);
    void make_antennas(side s, const side_properties& p);
    void make_tuning(side s, const side_properties& p);
    void make_power(side s, const side_properties& p);
    void make_rate(side s, const uhd::fs_path& dsp);
    tick command_time();
    // When a change of gain or LO holds; waits for room in the radio's queue of commands.
    tick execution_time();
    void tune(side s);
    void set_level(side s, double gain);
    std::size_t packet_of(const uhd::stream_args_t& args) const;

    radio_model model_;
    std::shared_ptr<node_port> port_;
    const clock_inputs inputs_;
    std::string clock_source_ = "internal";
    tick stopped_edge_ = -1;  // the last one of the second before the source had none; -1: it has
    std::weak_ptr<receive_stream> receive_;
    std::weak_ptr<transmit_stream> transmit_;
    std::mutex mutex_, queue_mutex_;
    bool hold_ = false;
    bool timed_ = false;
    uhd::time_spec_t command_time_{0.0};
    tick last_command_ = air::as_soon_as_possible;  // executed then; the next one not before
    std::deque<tick> queue_;  // when the commands of the radio will have been executed
    double front_end_hz_[2], dsp_hz_[2];
};

// Of the device arguments; shared by find() and the device.
std::string node_of(const uhd::device_addr_t& args);

}  // namespace wip::vusrp
