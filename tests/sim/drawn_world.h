// SPDX-License-Identifier: GPL-3.0-or-later
// A random world: a list of settings drawn from a seed, each with a name and a value that can be
// printed. A setting can be left out, and the others stay what they were: so a world that violates
// an invariant can be made smaller, setting by setting.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "traffic.h"

namespace wip::sim {

using name_set = std::set<std::string, std::less<>>;

template <class Script>
class drawn_world {
public:
    explicit drawn_world(std::uint64_t seed) : dice(seed) {}

    // `value` has been drawn; apply(script) puts it in place.
    template <class Value, class Apply>
    void set(const char* name, const Value& value, Apply&& apply) {
        if constexpr (std::is_same_v<Value, std::string>)
            settings_.push_back({name, value, std::forward<Apply>(apply)});
        else
            settings_.push_back({name, std::to_string(value), std::forward<Apply>(apply)});
    }
    std::vector<std::string> names(const name_set& without) const {
        std::vector<std::string> all;
        for (const auto& s : settings_)
            if (!without.contains(s.name)) all.push_back(s.name);
        return all;
    }
    std::string text(const name_set& without) const {
        std::string all;
        for (const auto& s : settings_)
            if (!without.contains(s.name)) all += (all.empty() ? "" : " ") + s.name + "=" + s.value;
        return all;
    }
    void apply(Script& script, const name_set& without) const {
        for (const auto& s : settings_)
            if (!without.contains(s.name)) s.apply(script);
    }

    random_source dice;

private:
    struct setting {
        std::string name, value;
        std::function<void(Script&)> apply;
    };
    std::vector<setting> settings_;
};

// The parts of a kind of worlds that random_worlds.cpp needs. run() throws std::logic_error at the
// first violation; its return value is printed in sums.
struct world_kind {
    std::string name;
    std::function<std::vector<std::string>(std::uint64_t seed, const name_set& without)> settings;
    std::function<std::string(std::uint64_t seed, const name_set& without)> text;
    struct totals {
        std::uint64_t slots = 0, delivered = 0, damaged = 0, altered_headers = 0, dropped = 0;
    };
    std::function<totals(std::uint64_t seed, const name_set& without)> run;
};

template <class Script, class Draw, class Run>
world_kind make_kind(std::string name, Draw draw, Run run) {
    return {std::move(name),
            [draw](std::uint64_t seed, const name_set& w) { return draw(seed).names(w); },
            [draw](std::uint64_t seed, const name_set& w) { return draw(seed).text(w); },
            [draw, run](std::uint64_t seed, const name_set& w) {
                Script script;
                draw(seed).apply(script, w);
                return run(script);
            }};
}

world_kind cell_worlds();      // one terminal, everything that can be lost: random_cell.cpp
world_kind user_worlds();      // several terminals and the scheduler: random_users.cpp
world_kind emulated_worlds();  // the emulator's cell: random_emulated.cpp
world_kind relay_worlds();     // TCP segments over it, damaged, and the relay: random_relay.cpp

// Bytes that the MACs hold now; 0 in a program that does not count them.
inline std::int64_t (*mac_memory)() = nullptr;

// Memory that grows without an end grows in every phase. Buffers that grow to the size that the
// link needs do so in some; the least growth of the last phases is checked, less the amount that
// every queue's spare buffers may still gain.
class memory_watch {
public:
    explicit memory_watch(int largest_packet) : allowance_(64 * (largest_packet + 1024)) {}
    void after_phase();  // throws std::logic_error

private:
    static constexpr std::size_t phases = 6;
    std::int64_t allowance_;
    std::vector<std::int64_t> held_;
};

}  // namespace wip::sim
