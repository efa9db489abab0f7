// SPDX-License-Identifier: GPL-3.0-or-later
// The two streamers of a software USRP (uhd::rx_streamer, uhd::tx_streamer), each with one node of
// a medium for each channel. Time stamps are device time: ticks of the master clock, plus an
// offset. The channels of one stream are aligned sample by sample: after a gap in one of them the
// samples of the others at that time are skipped, as UHD does.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <uhd/stream.hpp>
#include <uhd/version.hpp>
#if UHD_VERSION >= 4080000
#include <uhd/rfnoc/actions.hpp>
#endif

#include "vusrp/node_port.h"
#include "vusrp/radio_model.h"
#include "vusrp/receive_core.h"
#include "vusrp/sample_format.h"
#include "vusrp/transmit_core.h"

namespace wip::vusrp {

inline constexpr std::size_t default_samples_per_packet = 2560;  // half a slot

struct stream_channel {
    std::shared_ptr<node_port> port;
    radio_model model;  // a copy: a stream may outlive its device
};

class receive_stream : public uhd::rx_streamer {
public:
    // Makes a stream at the present rate of the radio. recv() reports an error if a packet does not
    // fit into a USB transfer.
    receive_stream(const std::vector<stream_channel>& channels, sample_format format,
                   std::size_t samples_per_packet);

    size_t get_num_channels() const override { return lanes_.size(); }
    size_t get_max_num_samps() const override { return samples_per_packet_; }
    size_t recv(const buffs_type& buffs, size_t size, uhd::rx_metadata_t& metadata, double timeout,
                bool one_packet) override;
    void issue_stream_cmd(const uhd::stream_cmd_t& command) override;
    void issue_to(const node_port& port, const uhd::stream_cmd_t& command);  // for one channel
#if UHD_VERSION >= 4080000
    void post_input_action(const std::shared_ptr<uhd::rfnoc::action_info>&, const size_t) override {
    }
#endif

private:
    using clock = std::chrono::steady_clock;
    using state = receive_core::state;
    // The next state of all channels: an event of one (`lane`), or samples that all have from the
    // same time on.
    state look(std::size_t& lane);
    // Returns false at the deadline.
    bool wait(clock::time_point deadline);
    void report(std::size_t lane, const state& s, uhd::rx_metadata_t& metadata);
    void restart(std::size_t lane);
    void command(receive_core& l, const uhd::stream_cmd_t& command);

    std::deque<receive_core> lanes_;  // a deque, since they cannot be moved
    sample_format format_;
    std::size_t samples_per_packet_;
    bool reports_in_stream_;  // this FPGA's reports come in the stream
    bool restarts_, ideal_;
    bool is_overlong_;                      // a packet does not fit into a transfer
    bool last_command_continuous_ = false;  // the last command was a continuous start
    bool late_report_waits_ = false;  // a report of a late command that does not come in the stream
    std::vector<air::cf32> scratch_;
    std::mutex mutex_;          // held by recv()
    std::mutex command_mutex_;  // held for commands while recv() waits
};

// send() divides its samples into packets of at most samples_per_packet, each with its time, the
// last with the end of burst; a call without samples sends a packet of one zero
// (docs/explanation/software-usrp.md).
class transmit_stream : public uhd::tx_streamer {
public:
    transmit_stream(std::vector<stream_channel> channels, sample_format format,
                    std::size_t samples_per_packet, fpga::error_policy policy, bool hold);

    size_t get_num_channels() const override { return lanes_.size(); }
    size_t get_max_num_samps() const override { return samples_per_packet_; }
    size_t send(const buffs_type& buffs, size_t size, const uhd::tx_metadata_t& metadata,
                double timeout) override;
    bool recv_async_msg(uhd::async_metadata_t& message, double timeout) override;
#if UHD_VERSION >= 4080000
    void post_output_action(const std::shared_ptr<uhd::rfnoc::action_info>&,
                            const size_t) override {}
#endif

private:
    using clock = std::chrono::steady_clock;
    bool send_packet(const buffs_type* buffs, std::size_t done, std::size_t size,
                     const uhd::tx_metadata_t& metadata, double timeout);
    std::span<const air::cf32> samples(const void* from, std::size_t done, std::size_t size);
    bool take_event(std::size_t channel, uhd::async_metadata_t& message);

    std::deque<transmit_core> lanes_;  // stay where they are
    sample_format format_;
    std::size_t samples_per_packet_;
    exact_rate rate_;
    // Metadata of a call with a start of burst and no samples.
    std::optional<uhd::tx_metadata_t> kept_{};
    std::vector<air::cf32> scratch_;
    std::mutex mutex_, message_mutex_;
};

}  // namespace wip::vusrp
