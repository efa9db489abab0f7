// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "packets.h"
#include "rlc/reassembler.h"
#include "rlc/segmenter.h"
#include "rlc/transmit_window.h"

namespace wip::test {

// A sender and a receiver of frames at k = 4 (profile wipemu: 54 bytes a frame), with verbs.
class link {
public:
    explicit link(reassembler_config c = {}, bool packing = true)
        : config(with_profile(c)),
          queue(packing),
          window(config.profile),
          assembly(config, [this](std::span<const std::uint8_t> p, bool damaged) {
              got.push_back({p.begin(), p.end()});
              marks.push_back(damaged);
          }) {}

    void give(const std::vector<std::uint8_t>& packet) {
        queue.push(packet);
        window.on_sdu(packet.size());
        sent.push_back(packet);
    }
    // Gives n packets of that size, each filled with its number.
    void give_packets(int n, std::size_t bytes) {
        for (int i = 0; i < n; ++i) give(ipv4(bytes, static_cast<std::uint8_t>(i)));
    }
    void cut_all(int k = 4) {
        while (!queue.empty()) {
            frame f{k, std::vector<std::uint8_t>(
                           static_cast<std::size_t>(frame_payload_bytes(config.profile, k)))};
            window.write_payload(window.open_frame(k, queue), f.payload);
            frames.push_back(f);
        }
        assembly.frames().extend(last());
        if (tells)
            for (frame_sn sn = 0; sn < last(); ++sn) tell(sn);
    }
    void tell(frame_sn sn) { assembly.frames().tell_boundary(sn, window.frame(sn).boundary); }
    void put(frame_sn sn, bool good = true) {
        const frame& f = frames[static_cast<std::size_t>(sn)];
        assembly.frames().put({sn, f.k, true, 0, true}, good, f.payload);
    }
    void bring(frame_sn sn, bool good = true) {
        put(sn, good);
        assembly.advance();
    }
    void bring_all_but(std::vector<frame_sn> skipped) {
        for (frame_sn sn = 0; sn < static_cast<frame_sn>(frames.size()); ++sn)
            if (std::ranges::find(skipped, sn) == skipped.end()) bring(sn);
    }
    void lose_below(frame_sn sn) {
        assembly.frames().raise_edge(sn);
        assembly.advance();
    }
    frame_sn last() const { return static_cast<frame_sn>(frames.size()); }

    struct frame {
        int k;
        std::vector<std::uint8_t> payload;
    };
    static reassembler_config with_profile(reassembler_config c) {
        c.profile = link_profile::wipemu;
        return c;
    }
    reassembler_config config;
    bool tells = true;  // the boundaries of all frames are sent as soon as they are cut
    segmenter queue;
    transmit_window window;
    reassembler assembly;
    std::vector<std::vector<std::uint8_t>> sent, got;
    std::vector<bool> marks;
    std::vector<frame> frames;
};

inline reassembler_config as_completed() {
    reassembler_config c;
    c.in_order = false;
    return c;
}
inline reassembler_config corrupt() {
    reassembler_config c;
    c.deliver_corrupt = true;
    return c;
}

}  // namespace wip::test
