// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <uhd/utils/log.hpp>

#include "vusrp/streams.h"

namespace wip::vusrp {
namespace {

using namespace std::chrono_literals;

}  // namespace

transmit_stream::transmit_stream(std::shared_ptr<node_port> port, const radio_model& model,
                                 sample_format format, std::size_t samples_per_packet, bool hold)
    : port_(std::move(port)),
      model_(model),
      writer_(*port_, model),
      format_(format),
      samples_per_packet_(samples_per_packet),
      hold_(hold),
      scratch_(8192) {
    port_->block().transmit_latency.store(model.latency() + model.spread());
    announced_ = delivered_ = port_->block().events.written.load();
}

transmit_stream::~transmit_stream() {
    if (!writer_.close()) writer_.abandon();
}

bool transmit_stream::open(tick time, clock::time_point deadline) {
    while (!writer_.open(time, hold_)) {
        port_->check();
        if (clock::now() >= deadline) return false;
        const auto& bursts = port_->block().bursts;
        const std::uint64_t taken = bursts.taken.load();
        port_->block().room.wait([&] { return bursts.taken.load() != taken; }, 100ms);
    }
    return true;
}

// False: the filter's last samples found no room in time.
bool transmit_stream::close(clock::time_point deadline) {
    while (!writer_.close()) {
        port_->check();
        const auto left = deadline - clock::now();
        if (left <= 0ns) return writer_.abandon(), false;
        writer_.wait_room(std::min<std::chrono::nanoseconds>(left, 200ms));
    }
    return true;
}

size_t transmit_stream::send(const buffs_type& buffs, size_t size,
                             const uhd::tx_metadata_t& metadata, double timeout) {
    using outcome = sampled_writer::outcome;
    const std::lock_guard lock(mutex_);
    const auto deadline = clock::now() + std::chrono::duration_cast<clock::duration>(
                                             std::chrono::duration<double>(timeout));
    announce_events();
    tick time = air::as_soon_as_possible;
    if (metadata.has_time_spec) {
        time = to_sample(metadata.time_spec, writer_.rate(), port_->offset());
        if (writer_.is_open() && writer_.end_time() != time) close(deadline);
    }
    bool opened_here = false;
    if (!writer_.is_open()) {
        if (size == 0 && (!metadata.has_time_spec || metadata.end_of_burst)) return 0;
        if (!open(time, deadline)) return 0;
        opened_here = true;
    }
    std::size_t done = 0;
    while (done < size || writer_.pending()) {
        const auto [what, taken] = writer_.write(samples(buffs, done, size));
        if (what == outcome::late && opened_here) return size;  // all of this call was too late
        done += taken;
        if (what != outcome::published) {
            // The burst was refused before. Samples with a time keep it, each packet of them, as in
            // a USRP; others go on as soon as possible.
            opened_here = time != air::as_soon_as_possible;
            if (!open(opened_here ? time + static_cast<tick>(done) : time, deadline)) return done;
            continue;
        }
        if (taken > 0) continue;
        port_->check();
        const auto left = deadline - clock::now();
        if (left <= 0ns) return done;
        writer_.wait_room(std::min<std::chrono::nanoseconds>(left, 200ms));
    }
    if (metadata.end_of_burst) close(deadline);
    return done;
}

// Of the caller's samples, from `done` on; other formats than ours by pieces.
std::span<const air::cf32> transmit_stream::samples(const buffs_type& buffs, std::size_t done,
                                                    std::size_t size) {
    const char* from = static_cast<const char*>(buffs[0]) + done * sample_bytes(format_);
    if (format_ == sample_format::fc32)
        return {reinterpret_cast<const air::cf32*>(from), size - done};
    const std::span<air::cf32> part(scratch_.data(), std::min(scratch_.size(), size - done));
    from_host(format_, from, part);
    return part;
}

void transmit_stream::announce_events() noexcept {
    auto& events = port_->block().events;
    const std::uint64_t written = events.written.load(std::memory_order_acquire);
    if (announced_ == written) return;
    const std::lock_guard lock(announce_mutex_);
    announced_ = std::max(announced_, written > events.size ? written - events.size : 0);
    for (; announced_ < written; ++announced_) {
        const air::event_kind kind = events.at(announced_).kind;
        if (kind == air::event_kind::underflow) UHD_LOG_FASTPATH("U")
        if (kind == air::event_kind::late) UHD_LOG_FASTPATH("L")
    }
}

bool transmit_stream::recv_async_msg(uhd::async_metadata_t& message, double timeout) {
    const std::lock_guard lock(message_mutex_);
    const auto deadline = clock::now() + std::chrono::duration_cast<clock::duration>(
                                             std::chrono::duration<double>(timeout));
    auto& block = port_->block();
    const auto ready = [&] { return block.events.written.load() != delivered_; };
    while (!ready()) {
        const auto left = deadline - clock::now();
        if (left <= 0ns) return false;
        block.happened.wait(ready, std::min<std::chrono::nanoseconds>(left, 200ms));
        if (!port_->connected()) return false;
    }
    const std::uint64_t written = block.events.written.load(std::memory_order_acquire);
    if (written - delivered_ > block.events.size) delivered_ = written - block.events.size;
    const air::event e = block.events.at(delivered_++);
    announce_events();
    message.channel = 0;
    message.has_time_spec = true;
    message.time_spec =
        to_time(model_.own_of_medium(e.time), {model_.base().clock}, port_->offset());
    switch (e.kind) {
        case air::event_kind::burst_acknowledged:
            message.event_code = uhd::async_metadata_t::EVENT_CODE_BURST_ACK;
            break;
        case air::event_kind::underflow:
            message.event_code = uhd::async_metadata_t::EVENT_CODE_UNDERFLOW;
            break;
        case air::event_kind::late:
            message.event_code = uhd::async_metadata_t::EVENT_CODE_TIME_ERROR;
            break;
    }
    return true;
}

}  // namespace wip::vusrp
