// SPDX-License-Identifier: GPL-3.0-or-later
// Lets test_phy_model.py talk to the C++ PHY through files.
//   phy_tool modulate CELL < JSON lines, one slot each > cf32 samples
//   phy_tool receive CELL < cf32 samples > JSON lines, one received slot each
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "phy/receiver/slot_receiver.h"
#include "phy/transmitter/slot_modulator.h"

namespace {
using nlohmann::json;
using namespace wip;

// A nibble, "none", or null: not said.
json border_json(std::uint8_t border) {
    if (border == unknown_border) return nullptr;
    return border == no_border ? json("none") : json(border);
}
std::uint8_t read_border(const json& j) {
    if (j.is_null()) return unknown_border;
    return j.is_string() ? no_border : j.get<std::uint8_t>();
}

int modulate(int cell) {
    phy::slot_modulator modulator({.cell = cell});
    std::string line;
    std::vector<phy::cf32> out(slot_samples);
    while (std::getline(std::cin, line)) {
        const auto j = json::parse(line);
        slot_grant g;
        g.first_new_sn = j.at("first_new_sn");
        g.window_edge = j.at("window_edge");
        std::array<std::vector<std::uint8_t>, nof_bins> bytes;
        std::array<std::span<const std::uint8_t>, nof_bins> payload;
        for (std::size_t b = 0; b < nof_bins; ++b) {
            const auto& in = j.at("bins").at(b);
            auto& out_bin = g.bins[b];
            out_bin.bits_per_symbol = in.at("k");
            out_bin.retransmission = in.at("retransmission");
            out_bin.sn = in.at("sn");
            out_bin.whole = in.at("whole");
            out_bin.offset = in.at("offset");
            out_bin.last = in.at("last");
            out_bin.border = read_border(in.at("border"));
            bytes[b] = in.at("bytes").get<std::vector<std::uint8_t>>();
            payload[b] = bytes[b];
        }
        for (std::size_t i = 0; i < j.at("runs").size(); ++i) {
            const auto& in = j.at("runs").at(i);
            g.runs[i] = {in.at("first"), in.at("frames"), read_border(in.at("border"))};
        }
        if (!modulator.work(slot(j.at("slot")), g, payload,
                            std::span<phy::cf32, slot_samples>(out)))
            return std::fprintf(stderr, "the grant was refused\n"), 1;
        std::fwrite(out.data(), sizeof(phy::cf32), out.size(), stdout);
    }
    return 0;
}

int receive(int cell) {
    phy::slot_receiver receiver({.cell = cell});
    std::vector<phy::cf32> in(slot_samples);
    sample first(0);
    while (std::fread(in.data(), sizeof(phy::cf32), in.size(), stdin) == in.size()) {
        receiver.process(first, in, [](const phy::received_slot& r) {
            json j{{"start", r.start.value},       {"locked", r.locked},
                   {"slot", r.slot_in_hyperframe}, {"grant_ok", r.grant_ok},
                   {"bins", json::array()},        {"runs", json::array()}};
            for (const border_run& run : r.grant.runs)
                if (r.grant_ok && run.frames > 0)
                    j["runs"].push_back({{"first", run.first},
                                         {"frames", run.frames},
                                         {"border", border_json(run.border)}});
            if (r.grant_ok)
                for (std::size_t b = 0; b < nof_bins; ++b)
                    j["bins"].push_back(
                        {{"k", r.grant.bins[b].bits_per_symbol},
                         {"sn", r.grant.bins[b].sn},
                         {"border", border_json(r.grant.bins[b].border)},
                         {"good", r.bins[b].outcome == phy::bin_outcome::good},
                         {"bytes", std::vector<std::uint8_t>(r.bins[b].payload.begin(),
                                                             r.bins[b].payload.end())}});
            std::cout << j.dump() << '\n';
        });
        first += sample_count(slot_samples);
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc == 3 ? argv[1] : "";
    if (what == "modulate") return modulate(std::stoi(argv[2]));
    if (what == "receive") return receive(std::stoi(argv[2]));
    std::fprintf(stderr, "usage: phy_tool modulate|receive CELL\n");
    return 2;
}
