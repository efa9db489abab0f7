// SPDX-License-Identifier: GPL-3.0-or-later
// A controller without its board: flash that can lose its power, ticks by hand, and what has gone
// to the chips.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/controller.h"

namespace wip::attenuator {

// Flash that behaves as such: what breaks its rules is a failed write.
class fake_flash final : public flash_port {
public:
    static constexpr std::uint32_t bytes = 256;  // four records, so that sectors are full soon

    std::uint32_t sector_bytes() const override { return bytes; }
    bool read(int sector, std::uint32_t offset, std::span<std::uint8_t> to) override {
        std::copy_n(at(sector).begin() + offset, to.size(), to.begin());
        return true;
    }
    bool write(int sector, std::uint32_t offset, std::span<const std::uint8_t> from) override {
        for (std::size_t k = 0; k < from.size(); ++k) {
            if (!spend()) return false;
            auto& byte = at(sector)[offset + k];
            if ((byte & from[k]) != from[k]) return false;
            byte = from[k];
        }
        return true;
    }
    bool erase(int sector) override {
        for (auto& byte : at(sector)) {
            if (!spend()) return false;
            byte = 0xff;
        }
        return true;
    }
    // Bytes until the power goes; -1: it stays.
    int power = -1;

    fake_flash() {
        for (auto& s : sectors_) s.fill(0xff);
    }

private:
    using sector_array = std::array<std::uint8_t, bytes>;
    sector_array& at(int sector) { return sectors_.at(static_cast<unsigned>(sector)); }
    bool spend() { return power < 0 || (power > 0 && power-- > 0); }

    std::array<sector_array, nof_sectors> sectors_{};
};

struct fake_board final : board_port {
    std::string_view serial_number() const override { return "test"; }
    std::uint32_t ticks() const override { return now; }
    std::uint32_t missed_ticks() const override { return missed; }
    tick_figures take_figures() override { return {1200, 3400}; }
    bool after_fault() const override { return faulty; }

    explicit fake_board(bool after_a_fault = false) : faulty(after_a_fault) {}
    std::uint32_t now = 0, missed = 0;
    bool faulty;
};

// The whole firmware with a fake board, and the chips.
struct rig {
    fake_flash flash;
    fake_board board;
    playback player;
    controller device{player, flash, board};
    std::array<int, nof_chips> chips{};  // words in the chips; -1: none yet
    int switch_position = -1, pulses = 0;
    std::vector<std::uint32_t> steps;       // steps that went to the chips
    std::vector<std::uint32_t> step_ticks;  // ticks at which they did

    explicit rig(bool after_a_fault = false, const fake_flash& saved = {})
        : flash(saved), board(after_a_fault) {
        chips.fill(-1);
    }
    void tick(int times = 1) {
        for (int k = 0; k < times; ++k) {
            const tick_output out = player.tick();
            for (unsigned c = 0; c < nof_chips; ++c)
                if ((out.chips >> c & 1) != 0) chips[c] = out.word[c];
            if (out.set_switch) switch_position = out.switch_position;
            if (out.trigger_pulse) ++pulses;
            if (out.is_step) {
                steps.push_back(out.step);
                step_ticks.push_back(board.now);
            }
            ++board.now;
            device.poll();
        }
    }
    void give(std::string_view text) {
        for (const char c : text) device.on_byte(static_cast<std::uint8_t>(c));
        device.poll();
    }
    std::string sent() {
        const auto b = device.output().bytes();
        std::string text(b.begin(), b.end());
        device.output().clear();
        return text;
    }
    // The answer to a line, without its end.
    std::string ask(std::string_view line) {
        give(std::string(line) + "\n");
        tick();
        std::string text = sent();
        if (!text.empty() && text.back() == '\n') text.pop_back();
        return text;
    }
    std::string error() { return ask("SYST:ERR?"); }
};

}  // namespace wip::attenuator
