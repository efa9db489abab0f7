// SPDX-License-Identifier: GPL-3.0-or-later
// A software USRP as UHD sees it: a property tree with everything that multi_usrp and gr-uhd ask
// for. Frequencies and gains go to the medium as (timed) commands; what the tree reports back is
// the commanded value at once, as multi_usrp's tuner expects. Each of its channels (a subdevice, a
// DSP and a node of the medium) has tuning, gains and streams of its own; clock and time are
// common.
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

// The clock inputs of the radio, as device arguments describe them: connected and working.
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

    // A subdevice, by its place in the full specification, which is that of its DSP too.
    struct channel {
        std::string board, front;         // "A" and "0" of "A:0"
        std::shared_ptr<node_port> port;  // none: nothing is connected
        std::weak_ptr<receive_stream> receive{};
        std::weak_ptr<transmit_stream> transmit{};
        double front_end_hz[2] = {air::default_frequency, air::default_frequency};
        double dsp_hz[2] = {0, 0};
        double asked_gain[2] = {0, 0};  // dB; what comes of it may depend on the frequency
        actual_gain gain[2] = {};       // as it is, when the last change has settled
        double lo_turns[2] = {0, 0};    // phase of the LO since it locked
        tick last_command = air::as_soon_as_possible;  // executed then; the next one not before
        std::deque<tick> queue{};  // when the commands of the radio will have been executed
    };
    void make_channels(const uhd::device_addr_t& args);
    uhd::fs_path front_path(side s, std::size_t i) const;
    uhd::fs_path dsp_path(side s, std::size_t i) const;
    void make_subdevices(side s);
    uhd::usrp::subdev_spec_t choose_subdevices(side s, const uhd::usrp::subdev_spec_t& spec);
    // The channels of a stream: positions of subdevices.
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
    // The times at which a change of gain or LO begins and is complete. execution_time() waits for
    // room in the radio's queue of commands.
    struct execution {
        tick begins, holds;
    };
    execution execution_time(channel& c);
    void lock_anew(side s, std::size_t i);
    void tune(side s, std::size_t i);
    void set_level(side s, std::size_t i, double gain);
    std::vector<stream_channel> lanes(const std::vector<std::size_t>& places) const;
    std::size_t packet_of(const uhd::stream_args_t& args, side s) const;

    radio_model model_;
    std::vector<channel> channels_;
    std::shared_ptr<node_port> port_;    // the first one's, with the time
    std::vector<std::size_t> order_[2];  // by channel number: places of subdevices
    const clock_inputs inputs_;
    std::string clock_source_ = "internal";
    bool follows_ = false;    // another one
    tick stopped_edge_ = -1;  // the last one of the second before the source had none; -1: it has
    std::mutex mutex_, queue_mutex_;
    bool hold_ = false;
    bool timed_ = false;
    uhd::time_spec_t command_time_{0.0};
};

// The name of the node from the device arguments; shared by find() and the device.
std::string node_of(const uhd::device_addr_t& args);

}  // namespace wip::vusrp
