// SPDX-License-Identifier: GPL-3.0-or-later
// The WCDMA cells (channels/cells) alone, for tests/bench/wcdma_cells.py: their configuration as
// KEY=VALUE, a summary as JSON on standard output.
//   wcdma_cells [KEY=VALUE ...]     keys of the settings cells.*, and:
//     blocks=N    blocks of 10 ms to compute (default 1000)
//     seed=N
//     lost=FILE   a byte for each block and user: 1, it was lost
//     sir=FILE    a float of 32 bits for each block and user: its SIR, dB
#include "cells/wcdma_cells.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace wip::cells;

double processor_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct asked {
    cells_config cells;
    std::int64_t blocks = 1000;
    std::uint64_t seed = 1;
    std::string lost, sir;
};

asked read(int argc, char** argv) {
    asked a;
    cells_config& c = a.cells;
    const std::map<std::string, std::function<void(const std::string&)>> keys{
        {"count", [&](const auto& v) { c.cells = std::stoi(v); }},
        {"wrap", [&](const auto& v) { c.wrap = v == "on"; }},
        {"users", [&](const auto& v) { c.users = std::stoi(v); }},
        {"carriers", [&](const auto& v) { c.carriers = std::stoi(v); }},
        {"spreading", [&](const auto& v) { c.spreading = std::stoi(v); }},
        {"direction",
         [&](const auto& v) { c.of = v == "uplink" ? direction::uplink : direction::downlink; }},
        {"orthogonality", [&](const auto& v) { c.orthogonality = std::stod(v); }},
        {"doppler_hz", [&](const auto& v) { c.doppler_hz = std::stod(v); }},
        {"rays", [&](const auto& v) { c.rays = std::stoi(v); }},
        {"loop_slots", [&](const auto& v) { c.loop_slots = std::stoi(v); }},
        {"target_low_db", [&](const auto& v) { c.target_low_db = std::stod(v); }},
        {"target_high_db", [&](const auto& v) { c.target_high_db = std::stod(v); }},
        {"margin_db", [&](const auto& v) { c.margin_db = std::stod(v); }},
        {"curve_db", [&](const auto& v) { c.curve_db = std::stod(v); }},
        {"eesm_beta", [&](const auto& v) { c.eesm_beta = std::stod(v); }},
        {"path_exponent", [&](const auto& v) { c.path_exponent = std::stod(v); }},
        {"shadowing_db", [&](const auto& v) { c.shadowing_db = std::stod(v); }},
        {"noise_dbw", [&](const auto& v) { c.noise_dbw = std::stod(v); }},
        {"power_dbw", [&](const auto& v) { c.power_dbw = std::stod(v); }},
        {"power_range_db", [&](const auto& v) { c.power_range_db = std::stod(v); }},
        {"step_db", [&](const auto& v) { c.step_db = std::stod(v); }},
        {"speed_kmh", [&](const auto& v) { c.speed_kmh = std::stod(v); }},
        {"blocks", [&](const auto& v) { a.blocks = std::stoll(v); }},
        {"seed", [&](const auto& v) { a.seed = std::stoull(v); }},
        {"lost", [&](const auto& v) { a.lost = v; }},
        {"sir", [&](const auto& v) { a.sir = v; }},
    };
    for (int n = 1; n < argc; ++n) {
        const std::string word = argv[n];
        const auto equal = word.find('=');
        const auto key = keys.find(word.substr(0, equal));
        if (equal == std::string::npos || key == keys.end())
            throw std::invalid_argument(
                word + ": valid: KEY=VALUE with a key of tests/bench/wcdma_cells.cpp");
        key->second(word.substr(equal + 1));
    }
    return a;
}

void write(const std::string& name, const void* data, std::size_t bytes) {
    if (name.empty()) return;
    std::FILE* const out = std::fopen(name.c_str(), "wb");
    if (out == nullptr || std::fwrite(data, 1, bytes, out) != bytes || std::fclose(out) != 0)
        throw std::invalid_argument(name + ": cannot be written");
}

void run(const asked& a) {
    wcdma_cells w(a.cells, a.seed);
    std::vector<unsigned char> lost;
    std::vector<float> sir;
    double all_lost = 0, all_sir = 0;
    const double before = processor_s();
    for (std::int64_t b = 0; b < a.blocks; ++b) {
        w.advance_to(b);
        for (int u = 0; u < w.users(); ++u) {
            all_lost += w.lost(u) ? 1 : 0;
            all_sir += w.sir_db(u);
            if (!a.lost.empty()) lost.push_back(w.lost(u) ? 1 : 0);
            if (!a.sir.empty()) sir.push_back(static_cast<float>(w.sir_db(u)));
        }
    }
    const double seconds = processor_s() - before;
    int highest = 0;
    for (int u = 0; u < w.users(); ++u)
        highest += w.power_dbw(u) > a.cells.power_dbw - 0.01 ? 1 : 0;
    write(a.lost, lost.data(), lost.size());
    write(a.sir, sir.data(), sir.size() * sizeof(float));
    const double blocks = static_cast<double>(a.blocks) * w.users();
    std::printf(
        "{\"benchmark\": \"wcdma_cells\", \"users\": %d, \"blocks\": %.0f, \"lost\": %.0f, "
        "\"mean_sir_db\": %.4f, \"users_at_highest_power\": %d, \"processor_s\": %.4f, "
        "\"part_of_a_core\": %.5f, \"budget\": 0.05}\n",
        w.users(), blocks, all_lost, all_sir / blocks, highest, seconds,
        seconds / (static_cast<double>(a.blocks) * 0.01));
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run(read(argc, argv));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "wcdma_cells: %s\n", e.what());
        return 2;
    }
    return 0;
}
