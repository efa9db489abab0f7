// SPDX-License-Identifier: GPL-3.0-or-later
// Lets test_uplink_model.py talk to the C++ uplink.
//   uplink_tool send CELL TERMINAL EDGE < JSON lines, one slot each > cf32 samples
//   uplink_tool receive CELL TERMINAL GRANTS < cf32 samples > JSON lines, one slot each. GRANTS: a
//     file with the uplink grants of the 30 slots of a frame
//   uplink_tool grants < JSON lines > JSON lines: puts uplink grants, and takes those of the model
// Codes of a form are as they are on the air.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "phy/receiver/uplink_receiver.h"
#include "phy/transmitter/slot_modulator.h"
#include "types/short_uplink_grant.h"
#include "wire/feedback_bits.h"

namespace {
using nlohmann::json;
using namespace wip;

uplink_grant grant_of(const json& j) {
    uplink_grant g;
    g.first_new_sn = j.at("first_new_sn");
    g.window_edge = j.at("window_edge");
    g.bits_per_symbol = j.at("k");
    g.bins = j.at("bins");
    g.timing_step = j.at("timing");
    g.power_step_db = j.at("power");
    for (const auto& sn : j.at("sns")) g.sn[g.retransmissions++] = sn;
    return g;
}

json json_of(const uplink_grant& g) {
    return {{"first_new_sn", g.first_new_sn},
            {"window_edge", g.window_edge},
            {"k", g.bits_per_symbol},
            {"bins", g.bins},
            {"timing", g.timing_step},
            {"power", g.power_step_db},
            {"sns", std::vector<wire_sn>(g.sn.begin(), g.sn.begin() + g.retransmissions)}};
}

// A short one has an age.
uplink_command command_of(const json& j) {
    if (!j.contains("age")) return grant_of(j);
    short_uplink_grant s;
    s.age = j.at("age");
    s.advance = j.at("advance");
    if (!j.at("window_edge").is_null()) s.window_edge = j.at("window_edge").get<std::uint8_t>();
    if (!j.at("bins").is_null())
        s.changed =
            uplink_allocation{j.at("bins").get<std::uint8_t>(), j.at("k").get<std::uint8_t>()};
    s.timing_step = j.at("timing");
    s.power_step_db = j.at("power");
    for (const auto& back : j.at("backs")) s.back[s.retransmissions++] = back;
    return s;
}

json json_of(const uplink_command& c) {
    if (const auto* full = std::get_if<uplink_grant>(&c)) return json_of(*full);
    const auto& s = std::get<short_uplink_grant>(c);
    json j{{"age", s.age},
           {"advance", s.advance},
           {"window_edge", nullptr},
           {"bins", nullptr},
           {"k", nullptr},
           {"timing", s.timing_step},
           {"power", s.power_step_db},
           {"backs", std::vector<int>(s.back.begin(), s.back.begin() + s.retransmissions)}};
    if (s.window_edge) j["window_edge"] = *s.window_edge;
    if (s.changed) {
        j["bins"] = s.changed->bins;
        j["k"] = s.changed->bits_per_symbol;
    }
    return j;
}

// The grant that a short one stands for, after the reference of the line; null: it is refused.
json whole_of(const uplink_command& c, const json& j) {
    const auto* brief = std::get_if<short_uplink_grant>(&c);
    if (brief == nullptr) return json_of(c);
    const json& r = j.at("reference");
    const uplink_reference reference{
        r.at("first_new_sn").get<wire_sn>(),
        {r.at("bins").get<std::uint8_t>(), r.at("k").get<std::uint8_t>()}};
    const auto whole = expanded(*brief, reference, j.at("known_edge").get<wire_sn>());
    return whole ? json_of(*whole) : json();
}

feedback_content form_of(const json& j) {
    feedback_content f;
    const int slot = j.at("slot");
    f.frame_number = static_cast<std::uint8_t>(slot / slots_per_frame % feedback_frame_modulus);
    f.slot_in_frame = static_cast<std::uint8_t>(slot % slots_per_frame);
    f.grant_ok = j.at("grant_ok");
    for (std::size_t b = 0; b < nof_bins; ++b) {
        f.ack |= j.at("ack").at(b).get<std::uint32_t>() << b;
        f.predicted_snr_db[b] = snr_of_code(j.at("snr").at(b)).single();
    }
    f.prediction_nmse = nmse_of_code(j.at("nmse"));
    f.buffer = j.at("buffer");
    return f;
}

json json_of(const feedback_content& f) {
    json j{{"slot", f.frame_number * slots_per_frame + f.slot_in_frame},
           {"grant_ok", f.grant_ok},
           {"ack", json::array()},
           {"snr", json::array()},
           {"nmse", nmse_code(f.prediction_nmse)},
           {"buffer", f.buffer}};
    for (std::size_t b = 0; b < nof_bins; ++b) {
        j["ack"].push_back(f.ack >> b & 1);
        j["snr"].push_back(snr_code(db(f.predicted_snr_db[b])));
    }
    return j;
}

int send(int cell, int terminal, int edge) {
    phy::slot_modulator modulator({.cell = cell, .terminal = terminal, .edge_samples = edge});
    std::vector<phy::cf32> out(slot_samples);
    for (std::string line; std::getline(std::cin, line);) {
        const json j = json::parse(line);
        control_content form;
        pack_feedback(form_of(j.at("form")), form);
        std::array<std::vector<std::uint8_t>, nof_bins> bytes;
        std::array<std::span<const std::uint8_t>, nof_bins> payload;
        for (std::size_t b = 0; b < nof_bins; ++b) {
            bytes[b] = j.at("bytes").at(b).get<std::vector<std::uint8_t>>();
            payload[b] = bytes[b];
        }
        if (!modulator.work_uplink(slot(j.at("slot")), form, units_of(grant_of(j.at("up"))),
                                   payload, std::span<phy::cf32, slot_samples>(out)))
            return std::fprintf(stderr, "a payload has the wrong size\n"), 1;
        std::fwrite(out.data(), sizeof(phy::cf32), out.size(), stdout);
    }
    return 0;
}

int receive(int cell, int terminal, const char* path) {
    std::ifstream file(path);
    std::vector<slot_grant> units;
    for (const auto& up : json::parse(file)) units.push_back(units_of(grant_of(up)));
    phy::uplink_receiver receiver({.cell = cell, .terminal = terminal});
    std::vector<phy::cf32> in(slot_samples);
    sample first(0);
    while (std::fread(in.data(), sizeof(phy::cf32), in.size(), stdin) == in.size()) {
        receiver.process(
            first, in,
            [&](sample, int slot_in_frame) {
                return &units.at(static_cast<std::size_t>(slot_in_frame));
            },
            [](const phy::uplink_slot& r) {
                json j{{"start", r.start.value},
                       {"heard", r.heard},
                       {"slot_in_frame", r.slot_in_frame},
                       {"form", nullptr},
                       {"bins", json::array()}};
                if (r.heard && r.form_ok)
                    if (const auto form = unpack_feedback(r.form)) j["form"] = json_of(*form);
                for (const auto& b : r.bins)
                    j["bins"].push_back(
                        {{"used", b.outcome != frame_outcome::unused},
                         {"good", b.outcome == frame_outcome::good},
                         {"bytes", std::vector<std::uint8_t>(b.payload.begin(), b.payload.end())}});
                std::cout << j.dump() << '\n';
            });
        first += sample_count(slot_samples);
    }
    return 0;
}

packed_grant bytes_of(const json& bits) {
    packed_grant out{};
    for (std::size_t i = 0; i < 8 * out.size(); ++i)
        out[i / 8] = static_cast<std::uint8_t>(out[i / 8] << 1 | bits.at(i).get<int>());
    return out;
}
json bits_of(const packed_grant& bytes) {
    json bits = json::array();
    for (std::size_t i = 0; i < 8 * bytes.size(); ++i)
        bits.push_back(bytes[i / 8] >> (7 - i % 8) & 1);
    return bits;
}

int grants() {
    for (std::string line; std::getline(std::cin, line);) {
        const json j = json::parse(line);
        packed_grant put = bytes_of(j.at("alone")), taken = bytes_of(j.at("both"));
        if (!put_uplink_command(command_of(j.at("up")), put))
            return std::fprintf(stderr, "the uplink grant does not fit\n"), 1;
        const auto up = take_uplink_command(taken);
        json out = j;
        out["both"] = bits_of(put);
        out["up"] = up ? json_of(*up) : json();
        out["alone"] = bits_of(taken);
        if (j.contains("whole")) out["whole"] = up ? whole_of(*up, j) : json();
        std::cout << out.dump() << '\n';
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc >= 2 ? argv[1] : "";
    if (argc == 5 && what == "send")
        return send(std::stoi(argv[2]), std::stoi(argv[3]), std::stoi(argv[4]));
    if (argc == 5 && what == "receive")
        return receive(std::stoi(argv[2]), std::stoi(argv[3]), argv[4]);
    if (argc == 2 && what == "grants") return grants();
    std::fprintf(stderr,
                 "usage: uplink_tool send CELL TERMINAL EDGE, receive CELL TERMINAL GRANTS or "
                 "grants\n");
    return 2;
}
