// SPDX-License-Identifier: GPL-3.0-or-later
// Lets test_phy_model.py talk to the C++ PHY through files.
//   phy_tool modulate CELL EDGE < JSON lines, one slot each > cf32 samples
//     (with `sections`, of several terminals, if the file says so)
//   phy_tool receive CELL [TERMINAL] < cf32 samples > JSON lines, one received slot each
//   phy_tool cell CELL SAMPLES < JSON settings > JSON: a base station that sends to a terminal,
//     which is told that frames and grants failed, at random. What is sent goes to the file
//     SAMPLES; the new frames of each slot, what was said to have failed in it, and the packets of
//     both ends come out
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "link/base_station_mac.h"
#include "link/terminal_mac.h"
#include "phy/receiver/slot_receiver.h"
#include "phy/transmitter/slot_modulator.h"
#include "wire/ip_header.h"

namespace {
using nlohmann::json;
using namespace wip;

// A nibble, "none", or null: not said.
json boundary_json(std::uint8_t boundary) {
    if (boundary == unknown_boundary) return nullptr;
    return boundary == no_boundary ? json("none") : json(boundary);
}
std::uint8_t read_boundary(const json& j) {
    if (j.is_null()) return unknown_boundary;
    return j.is_string() ? no_boundary : j.get<std::uint8_t>();
}

using bytes_of_bins = std::array<std::vector<std::uint8_t>, nof_bins>;

// A grant, or a section of one; what its bins carry goes to `bytes`.
slot_grant read_grant(const json& j, bytes_of_bins& bytes) {
    slot_grant g;
    g.first_new_sn = j.at("first_new_sn");
    g.edge_said = !j.at("window_edge").is_null();
    if (g.edge_said) g.window_edge = j.at("window_edge");
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const auto& in = j.at("bins").at(b);
        auto& out_bin = g.bins[b];
        out_bin.bits_per_symbol = in.at("k");
        out_bin.retransmission = in.at("retransmission");
        out_bin.sn = in.at("sn");
        out_bin.whole = in.at("whole");
        out_bin.offset = in.at("offset");
        out_bin.last = in.at("last");
        out_bin.boundary = read_boundary(in.at("boundary"));
        if (out_bin.bits_per_symbol != 0)
            bytes[b] = in.at("bytes").get<std::vector<std::uint8_t>>();
    }
    for (std::size_t i = 0; i < j.at("runs").size(); ++i) {
        const auto& in = j.at("runs").at(i);
        g.runs[i] = {in.at("first"), in.at("frames"), read_boundary(in.at("boundary"))};
    }
    return g;
}

int modulate(int cell, int edge) {
    phy::slot_modulator modulator({.cell = cell, .edge_samples = edge});
    phy::slot_modulator common(
        {.cell = cell, .control = phy::control_kind::common_grant, .edge_samples = edge});
    std::string line;
    std::vector<phy::cf32> out(slot_samples);
    const std::span<phy::cf32, slot_samples> samples(out);
    while (std::getline(std::cin, line)) {
        const auto j = json::parse(line);
        const slot air(j.at("slot").get<std::int64_t>());
        bytes_of_bins bytes;
        std::array<slot_grant, most_terminals> grants;
        common_grant_sections all{.frame_number = frame_number_of(air), .of = {}};
        const bool several = j.contains("sections");
        if (several) {
            for (std::size_t t = 0; t < most_terminals; ++t)
                if (const auto& section = j.at("sections").at(t); !section.is_null()) {
                    grants[t] = read_grant(section, bytes);
                    all.of[t] = &grants[t];
                }
        } else {
            grants[0] = read_grant(j, bytes);
        }
        std::array<std::span<const std::uint8_t>, nof_bins> payload;
        for (std::size_t b = 0; b < nof_bins; ++b) payload[b] = bytes[b];
        if (!(several ? common.work(air, all, payload, samples)
                      : modulator.work(air, grants[0], payload, samples)))
            return std::fprintf(stderr, "the grant was refused\n"), 1;
        std::fwrite(out.data(), sizeof(phy::cf32), out.size(), stdout);
    }
    return 0;
}

int receive(int cell, int terminal) {
    phy::slot_receiver receiver({.cell = cell, .terminal = terminal});
    std::vector<phy::cf32> in(slot_samples);
    sample first(0);
    while (std::fread(in.data(), sizeof(phy::cf32), in.size(), stdin) == in.size()) {
        receiver.process(first, in, [](const phy::received_slot& r) {
            json j{{"start", r.start.value},       {"locked", r.locked},
                   {"slot", r.slot_in_hyperframe}, {"grant_ok", r.grant_ok},
                   {"bins", json::array()},        {"runs", json::array()}};
            for (const boundary_run& run : r.grant.runs)
                if (r.grant_ok && run.frames > 0)
                    j["runs"].push_back({{"first", run.first},
                                         {"frames", run.frames},
                                         {"boundary", boundary_json(run.boundary)}});
            if (r.grant_ok)
                for (std::size_t b = 0; b < nof_bins; ++b)
                    j["bins"].push_back(
                        {{"k", r.grant.bins[b].bits_per_symbol},
                         {"sn", r.grant.bins[b].sn},
                         {"boundary", boundary_json(r.grant.bins[b].boundary)},
                         {"good", r.bins[b].outcome == frame_outcome::good},
                         {"bytes", std::vector<std::uint8_t>(r.bins[b].payload.begin(),
                                                             r.bins[b].payload.end())}});
            std::cout << j.dump() << '\n';
        });
        first += sample_count(slot_samples);
    }
    return 0;
}

using bytes = std::vector<std::uint8_t>;

// IPv4 (with its header checksum) or IPv6, filled at random.
bytes random_packet(std::mt19937& rng) {
    const std::size_t size = std::uniform_int_distribution<std::size_t>(48, 700)(rng);
    bytes p(size);
    for (auto& b : p) b = static_cast<std::uint8_t>(rng());
    if (rng() % 4 == 0) {
        p[0] = 0x60;
        p[4] = static_cast<std::uint8_t>((size - 40) >> 8);
        p[5] = static_cast<std::uint8_t>(size - 40);
        return p;
    }
    p[0] = 0x45;
    p[2] = static_cast<std::uint8_t>(size >> 8);
    p[3] = static_cast<std::uint8_t>(size);
    p[10] = p[11] = 0;
    const std::uint32_t sum = internet_sum(std::span(p).first(20));
    const std::uint32_t folded = (sum & 0xffff) + (sum >> 16);
    const std::uint32_t check = ~(folded + (folded >> 16)) & 0xffff;
    p[10] = static_cast<std::uint8_t>(check >> 8);
    p[11] = static_cast<std::uint8_t>(check);
    return p;
}

int cell(int number, const char* path) {
    const json in = json::parse(std::cin);
    link_config config;
    config.bins = in.at("bins");
    config.modulation = in.at("modulation");
    config.packing = in.at("packing");
    config.max_retransmissions = in.at("max_retransmissions");
    std::mt19937 rng(in.at("seed").get<unsigned>());
    const auto happens = [&](double probability) {
        return std::uniform_real_distribution<>(0, 1)(rng) < probability;
    };
    base_station_mac base(config, in.at("first_sn").get<frame_sn>());
    json out{{"slots", json::array()}, {"sent", json::array()}, {"delivered", json::array()}};
    terminal_mac terminal(config, [&](std::span<const std::uint8_t> p, bool) {
        out["delivered"].push_back(bytes(p.begin(), p.end()));
    });
    phy::slot_modulator modulator({.cell = number, .edge_samples = in.at("edge")});
    std::vector<phy::cf32> samples(slot_samples);
    std::ofstream file(path, std::ios::binary);
    const slot first(in.at("first_slot").get<std::int64_t>());
    const int slots = in.at("slots"), quiet = in.at("quiet_slots");
    float level_db = 20;
    for (int i = 0; i < slots; ++i) {
        // A level for some slots: where it falls, frames are cut.
        if (i % 6 == 0) level_db = std::uniform_real_distribution<float>(5, 31)(rng);
        const slot air = first + slot_count(i);
        // Packets come in crowds, so that there is padding too; none at the end: all get through.
        for (int n = i < slots - quiet && i / 16 % 2 == 0 ? in.at("packets_a_slot").get<int>() : 0;
             n > 0; --n)
            if (const bytes p = random_packet(rng); base.on_sdu(p, air)) out["sent"].push_back(p);
        const slot_plan plan = base.plan(air);
        std::array<std::span<const std::uint8_t>, nof_bins> payload;
        for (std::size_t b = 0; b < nof_bins; ++b) payload[b] = plan.payload[b];
        if (!modulator.work(air, plan.grant, payload, std::span<phy::cf32, slot_samples>(samples)))
            return std::fprintf(stderr, "the grant was refused\n"), 1;
        file.write(reinterpret_cast<const char*>(samples.data()),
                   static_cast<std::streamsize>(samples.size() * sizeof(phy::cf32)));

        slot_report report;
        report.air = air;
        report.locked = true;
        report.grant_ok = !happens(in.at("grant_loss"));
        report.grant = plan.grant;
        json failed = json::array(), frames = json::array();
        for (std::size_t b = 0; b < nof_bins; ++b) {
            report.predicted_snr_db[b] =
                level_db + std::uniform_real_distribution<float>(-2, 2)(rng);
            const bin_grant& bin = plan.grant.bins[b];
            if (bin.bits_per_symbol == 0) continue;
            if (!bin.retransmission)
                frames.push_back({{"sn", bin.sn},
                                  {"k", bin.bits_per_symbol},
                                  {"bytes", bytes(payload[b].begin(), payload[b].end())}});
            const bool bad = happens(in.at("frame_loss"));
            report.outcome[b] = bad ? frame_outcome::bad : frame_outcome::good;
            report.payload[b] = plan.payload[b];
            if (bad) failed.push_back(b);
        }
        const slot_feedback feedback = terminal.on_slot(report);
        if (!happens(in.at("feedback_loss"))) base.on_feedback(feedback);
        out["slots"].push_back(
            {{"grant", report.grant_ok}, {"failed", failed}, {"frames", frames}});
    }
    out["given_up"] = base.statistics().frames_dropped;
    std::cout << out.dump() << '\n';
    return file.good() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc >= 3 ? argv[1] : "";
    if (argc == 3 && what == "receive") return receive(std::stoi(argv[2]), only_terminal);
    if (argc == 4 && what == "receive") return receive(std::stoi(argv[2]), std::stoi(argv[3]));
    if (argc == 4 && what == "modulate") return modulate(std::stoi(argv[2]), std::stoi(argv[3]));
    if (argc == 4 && what == "cell") return cell(std::stoi(argv[2]), argv[3]);
    std::fprintf(
        stderr,
        "usage: phy_tool receive CELL [TERMINAL], modulate CELL EDGE or cell CELL SAMPLES\n");
    return 2;
}
