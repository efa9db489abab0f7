// SPDX-License-Identifier: GPL-3.0-or-later
// The two streamers of a software USRP (uhd::rx_streamer, uhd::tx_streamer) over a node of a
// medium. Time stamps are device time: samples of the stream's rate, plus an offset.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <uhd/stream.hpp>
#include <uhd/version.hpp>
#if UHD_VERSION >= 4080000
#include <uhd/rfnoc/actions.hpp>
#endif

#include "vusrp/node_port.h"
#include "vusrp/radio_model.h"
#include "vusrp/sample_format.h"
#include "vusrp/sampled_reader.h"
#include "vusrp/sampled_writer.h"

namespace wip::vusrp {

inline constexpr std::size_t default_samples_per_packet = 2560;  // half a slot

class receive_stream : public uhd::rx_streamer {
public:
    // At the rate that the radio has now.
    receive_stream(std::shared_ptr<node_port> port, const radio_model& model, sample_format format,
                   std::size_t samples_per_packet);
    ~receive_stream() override;

    size_t get_num_channels() const override { return 1; }
    size_t get_max_num_samps() const override { return samples_per_packet_; }
    size_t recv(const buffs_type& buffs, size_t size, uhd::rx_metadata_t& metadata, double timeout,
                bool one_packet) override;
    void issue_stream_cmd(const uhd::stream_cmd_t& command) override;
#if UHD_VERSION >= 4080000
    void post_input_action(const std::shared_ptr<uhd::rfnoc::action_info>&, const size_t) override {
    }
#endif

private:
    using clock = std::chrono::steady_clock;
    bool wait(tick n, clock::time_point deadline);

    std::shared_ptr<node_port> port_;
    sampled_reader reader_;
    sample_format format_;
    std::size_t samples_per_packet_;
    std::vector<air::cf32> scratch_;
    std::mutex mutex_;
};

class transmit_stream : public uhd::tx_streamer {
public:
    transmit_stream(std::shared_ptr<node_port> port, const radio_model& model, sample_format format,
                    std::size_t samples_per_packet, bool hold);
    ~transmit_stream() override;

    size_t get_num_channels() const override { return 1; }
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
    bool open(tick time, clock::time_point deadline);
    bool close(clock::time_point deadline);
    std::span<const air::cf32> samples(const buffs_type& buffs, std::size_t done, std::size_t size);
    void announce_events() noexcept;  // "U" and "L" on the console, as UHD does

    std::shared_ptr<node_port> port_;
    const radio_model model_;  // a copy: a stream may outlive its device
    sampled_writer writer_;
    sample_format format_;
    std::size_t samples_per_packet_;
    bool hold_;
    std::vector<air::cf32> scratch_;
    std::mutex mutex_, announce_mutex_, message_mutex_;
    std::uint64_t announced_, delivered_;
};

}  // namespace wip::vusrp
