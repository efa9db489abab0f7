// SPDX-License-Identifier: GPL-3.0-or-later
#include "rlc/reassembler.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "wire/ip_header.h"

namespace wip {
namespace {
constexpr std::size_t most_chains = 64;
}

reassembler::reassembler(const reassembler_config& config, deliver_fn deliver)
    : config_(config),
      deliver_(std::move(deliver)),
      frames_(config.profile, config.deliver_corrupt) {
    restart(0, true);
}

void reassembler::restart(frame_sn sn, bool in_step) {
    for (const chain& c : chains_) {
        for (const packet& p : c.packets)
            if (!p.done) lose(p.start, p.bytes);
        if (c.measuring > 0) lose(c.at, c.bytes);
    }
    chains_.clear();
    frames_.restart(sn);
    chain& c = chains_.emplace_back(config_.packing);
    c.at = c.origin = {sn, 0};
    if (!in_step) begin_search(c, c.at);
}

void reassembler::begin_search(chain& c, stream_position at) {
    if (c.in_step) ++counts_.searches;
    c.searching = true;
    c.measuring = 0;
    c.origin = at;
    c.search.start(at);
}

void reassembler::begin_confirmation(chain& c) {
    c.searching = c.confirming = true;
    c.origin = c.at;
    c.search.start(c.at, true);
}

void reassembler::end_confirmation(chain& c, bool confirmed) {
    if (c.confirming && !confirmed && c.in_step) ++counts_.searches;
    c.confirming = false;
}

void reassembler::lose(stream_position start, std::size_t bytes) {
    ++counts_.lost_packets;
    counts_.lost_bytes += bytes;
    if (log_ == nullptr) return;
    packet_word w;
    w.sn = w.last_frame = static_cast<wire_sn>(start.sn);
    w.nibble = static_cast<std::uint8_t>(start.nibble);
    w.end = packet_end::lost;
    w.bytes = static_cast<std::uint32_t>(bytes);
    w.complete = frames_.now();
    log_->add(w);
}

void reassembler::report(const packet& p, packet_end end) const {
    if (log_ == nullptr) return;
    packet_word w;
    w.sn = w.last_frame = static_cast<wire_sn>(p.start.sn);
    w.nibble = static_cast<std::uint8_t>(p.start.nibble);
    w.end = end;
    w.bytes = static_cast<std::uint32_t>(p.bytes);
    w.complete = frames_.settled(p.start.sn);
    const frame_sn last = p.end.nibble == 0 ? p.end.sn - 1 : p.end.sn;
    for (frame_sn sn = p.start.sn + 1; sn <= last; ++sn) {
        if (frames_.settled(sn) <= w.complete) continue;
        w.complete = frames_.settled(sn);
        w.last_frame = static_cast<wire_sn>(sn);
    }
    log_->add(w);
}

// A packet begins at `at` and its header runs into a lost frame: count it, with its length when
// that much of the header is there.
void reassembler::lose_packet_at(stream_position at) {
    std::array<std::uint8_t, 8> start{};
    if (!frames_.readable(at.sn)) return;
    if (frames_.read(at, 12, start.data(), nullptr) != receive_window::read_result::ok)
        return lose(at, 0);
    const std::size_t at_2 = static_cast<std::size_t>(start[2]) << 8 | start[3];
    const std::size_t at_4 = static_cast<std::size_t>(start[4]) << 8 | start[5];
    lose(at, start[0] >> 4 == 4 ? at_2 : 40 + at_4);
}

void reassembler::absorb_next(chain_iterator c, std::size_t first) {
    const auto n = std::next(c);
    for (std::size_t i = first; i < n->packets.size(); ++i) c->packets.push_back(n->packets[i]);
    c->searching = n->searching;
    c->confirming = n->confirming;
    c->origin = n->origin;
    c->found = n->found;
    c->search = n->search;
    c->at = n->at;
    c->measuring = n->measuring;
    c->bytes = n->bytes;
    c->reached = n->reached;
    chains_.erase(n);
}

void reassembler::take_over_search(chain_iterator c) {
    end_confirmation(*c, false);
    const auto n = std::next(c);
    // What it took for packets in front of our search is behind us.
    const auto first = std::ranges::lower_bound(n->packets, c->origin, {}, &packet::start);
    if (first == n->packets.end() && (n->searching ? n->origin : n->at) < c->origin)
        chains_.erase(n);
    else
        absorb_next(c, static_cast<std::size_t>(first - n->packets.begin()));
}

// At a packet border: does the chain reach the next one here?
void reassembler::meet_next(chain_iterator c) {
    while (std::next(c) != chains_.end()) {
        const auto n = std::next(c);
        if (n->searching && n->packets.empty()) {
            if (c->at < n->origin) return;
            chains_.erase(n);  // has found nothing that we do not come across ourselves
            continue;
        }
        const auto same = std::ranges::find(n->packets, c->at, &packet::start);
        if (same != n->packets.end()) {
            absorb_next(c, static_cast<std::size_t>(same - n->packets.begin()));
            continue;
        }
        const stream_position last = n->searching ? n->origin : n->at;
        if (c->at < last) return;
        if (c->at == last)
            absorb_next(c, n->packets.size());
        else
            chains_.erase(n);  // ours is the true border, so that one was none
    }
}

// True when the search is over; then c->at is a packet border.
bool reassembler::search_on(chain_iterator c) {
    while (c->searching) {
        const auto n = std::next(c);
        // The next chain has searched from its origin on already. Up to there it is our search,
        // with every candidate that is still open. But the next chain may have been taken in by
        // data: whether there is a header where ours is due is judged here.
        const auto is_for_next = [&](stream_position at) {
            return n != chains_.end() && at >= n->origin && !(c->confirming && at == c->origin);
        };
        if (is_for_next(c->search.oldest())) {
            take_over_search(c);
            continue;
        }
        const auto found = c->search.advance(frames_);
        if (!found) {
            if (c->search.oldest() > c->origin) end_confirmation(*c, false);
            if (is_for_next(c->search.oldest())) continue;
            return false;
        }
        if (is_for_next(*found)) {
            take_over_search(c);
            continue;
        }
        end_confirmation(*c, *found == c->origin);
        c->searching = false;
        c->at = c->found = *found;
        c->measuring = 0;
    }
    return true;
}

frame_sn reassembler::follow(chain_iterator c) {
    for (;;) {
        if (c->searching && !search_on(c)) {
            frame_sn sn = c->search.at().sn;
            while (frames_.readable(sn)) ++sn;
            return sn;
        }
        if (c->measuring > 0) {
            if (!move_on(frames_, c->reached, c->measuring)) {
                const frame_sn sn = c->reached.sn;
                if (sn >= frames_.end() || frames_.state(sn) != frame_state::lost) return sn;
                lose(c->at, c->bytes);  // where it ends cannot be known
                begin_search(*c, {sn + 1, 0});
                continue;
            }
            c->packets.push_back({c->at, c->reached, c->bytes, c->at.sn});
            c->at = c->reached;
        }
        meet_next(c);
        if (c->searching || c->measuring > 0) continue;
        if (c->at.sn >= frames_.end()) return c->at.sn;
        const header_reading h = read_header(frames_, c->at);
        switch (h.state) {
            case header_state::packet:
                if (h.damaged && c->found != c->at) {
                    begin_confirmation(*c);
                    break;
                }
                c->bytes = h.bytes;
                c->measuring = 2 * h.bytes;
                c->reached = c->at;
                break;
            case header_state::padding:
                c->at = {c->at.sn + 1, 0};
                break;
            case header_state::none:
                begin_search(*c, {c->at.sn, c->at.nibble + 1});
                break;
            case header_state::lost: {
                lose_packet_at(c->at);
                frame_sn sn = c->at.sn;
                while (frames_.readable(sn)) ++sn;
                begin_search(*c, {sn + 1, 0});
                break;
            }
            case header_state::blocked: {
                frame_sn sn = c->at.sn;
                while (frames_.readable(sn)) ++sn;
                return sn;
            }
        }
    }
}

void reassembler::advance() {
    for (auto c = chains_.begin(); c != chains_.end(); ++c) {
        const frame_sn stuck = follow(c);
        if (config_.in_order || std::next(c) != chains_.end() || chains_.size() >= most_chains)
            continue;
        if (stuck + 1 >= frames_.end()) continue;
        chain& ahead = chains_.emplace_back(config_.packing);
        ahead.in_step = false;
        begin_search(ahead, {stuck + 1, 0});
    }
    deliver();
    release_frames();
}

bool reassembler::finish(packet& p) {
    const frame_sn last = p.end.nibble == 0 ? p.end.sn - 1 : p.end.sn;
    for (; p.complete_to <= last; ++p.complete_to) {
        switch (frames_.state(p.complete_to)) {
            case frame_state::pending:
                return false;
            case frame_state::lost:
                lose(p.start, p.bytes);
                p.done = true;
                return true;
            case frame_state::damaged:
                p.damaged = true;
                break;
            case frame_state::complete:
                break;
        }
    }
    p.done = true;
    buffer_.resize(p.bytes);
    frames_.read(p.start, static_cast<int>(2 * p.bytes), buffer_.data(), nullptr);
    ++counts_.delivered_packets;
    counts_.delivered_bytes += p.bytes;
    if (p.damaged) {
        ++counts_.damaged_packets;
        counts_.damaged_bytes += p.bytes;
    }
    report(p, p.damaged ? packet_end::damaged : packet_end::delivered);
    deliver_(buffer_, p.damaged);
    return true;
}

void reassembler::deliver() {
    for (chain& c : chains_) {
        for (std::size_t i = c.in_step ? 0 : 1; i < c.packets.size(); ++i) {
            packet& p = c.packets[i];
            if (!p.done && !finish(p) && config_.in_order) break;
        }
        if (config_.in_order) break;
    }
    auto& first = chains_.front().packets;
    while (!first.empty() && first.front().done) first.pop_front();
}

void reassembler::release_frames() {
    const chain& c = chains_.front();
    if (!c.packets.empty())
        frames_.release(c.packets.front().start.sn);
    else
        frames_.release(c.searching ? c.search.oldest().sn : c.at.sn);
}

}  // namespace wip
