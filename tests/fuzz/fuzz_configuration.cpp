// SPDX-License-Identifier: GPL-3.0-or-later
// Configuration that anybody may have written: the files, flags and run-time changes of every
// process that has a table of settings, the medium's file, and channel definitions. The input is
// text in parts, divided by lines of "%%": whose configuration it is, then the file; of a process
// with a table also a change at run time, and assignments, one a line.
//
// All of it is taken, or refused: with the one kind of exception that a program makes exit code 2
// of, in one line that says where, and, of a value, its key and what would be valid. What is taken
// reads back as the same values, lies in the range that the table says, and a refusal changes
// nothing.
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "configured_processes.h"
#include "fuzz_input.h"
#include "medium/air_config.h"
#include "profiles/channel_definition.h"

using namespace wip;
using namespace wip::fuzz;
using wip::test::configured_process;

namespace {

std::vector<std::string> pieces(const std::string& text, const std::string& at) {
    std::vector<std::string> parts;
    for (std::size_t from = 0;;) {
        const std::size_t to = text.find(at, from);
        parts.push_back(text.substr(from, to == std::string::npos ? to : to - from));
        if (to == std::string::npos) return parts;
        from = to + at.size();
    }
}

void expect_one_line(const std::string& why) {
    expect(!why.empty(), "a refusal without words");
    for (const char c : why)
        expect(static_cast<unsigned char>(c) >= 0x20, "a refusal with control characters: " + why);
}

// Whether a refusal says what is valid, or that there is nothing valid about it.
bool says_what_is_valid(const std::string& why) {
    for (const auto* word :
         {"expected", "valid", "must be", "unknown key", "not YAML", "a key must", "not a YAML",
          "given twice", "missing", "cannot change", "1 MiB"})
        if (why.find(word) != std::string::npos) return true;
    return false;
}

template <class Merge>
bool merged(config::settings& s, Merge&& merge) {
    const std::string before = s.to_yaml();
    try {
        merge(s);
        return true;
    } catch (const config::error& e) {
        expect_one_line(e.what());
        expect(says_what_is_valid(e.what()),
               std::string("a refusal that does not help: ") + e.what());
        expect(s.to_yaml() == before, "a refusal that has changed something");
        return false;
    }
}

void expect_in_range(const config::settings& s, const config::key& k) {
    if (k.type == config::kind::integer) {
        const auto v = static_cast<double>(s.integer(k.path));
        expect(v >= k.lowest && v <= k.highest, k.path + " is outside its range");
    } else if (k.type == config::kind::real) {
        const double v = s.real(k.path);
        expect(std::isfinite(v) && v >= k.lowest && v <= k.highest,
               k.path + " is outside its range");
    }
}

void check_process(const configured_process& p, const std::vector<std::string>& parts) {
    config::settings s = wip::test::started(p);
    const auto part = [&](std::size_t i) { return i < parts.size() ? parts[i] : std::string(); };
    merged(s, [&](auto& t) { t.merge_yaml(part(1), "file.yaml"); });
    for (const auto& line : pieces(part(3), "\n"))
        if (!line.empty()) merged(s, [&](auto& t) { t.merge_assignment(line); });
    try {
        p.translate(s);
    } catch (const config::error& e) {
        expect_one_line(e.what());
        return;
    }
    for (const auto& k : *p.keys) expect_in_range(s, k);
    config::settings again = wip::test::started(p);
    try {
        again.merge_yaml(s.to_yaml(), "again");
    } catch (const config::error& e) {
        violated(std::string("what was taken is not taken again: ") + e.what());
    }
    expect(again.changed_from(s).empty(),
           "what was taken reads back as something else: " + s.to_yaml());
    const config::settings running = s;
    if (!merged(s, [&](auto& t) { t.merge_yaml(part(2), "configure", true); })) return;
    for (const auto& path : s.changed_from(running))
        for (const auto& k : *p.keys)
            expect(k.path != path || k.runtime, path + " has changed in a running process");
    for (const auto& k : *p.keys) expect_in_range(s, k);
    try {
        p.translate(s);
    } catch (const config::error& e) {
        expect_one_line(e.what());
    }
}

void check_medium(const std::string& text) {
    try {
        air::parse_config(text, "air.yaml");
    } catch (const config::error& e) {
        expect_one_line(e.what());
        expect(std::string(e.what()).starts_with("air.yaml:"),
               "a refusal that does not name the file");
    }
}

void check_channel(const std::string& text) {
    try {
        const auto definition = profiles::parse_definition(text, "channel.yaml");
        expect(definition.nof_users() >= 1, "a channel for nobody");
        profiles::channel_choice choice;
        choice.user = definition.nof_users() - 1;
        profiles::realise(definition, choice, 1);
    } catch (const std::invalid_argument& e) {
        expect_one_line(e.what());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto processes = wip::test::configured_processes();
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto parts = pieces(text, "\n%%\n");
    const std::string file = parts.size() > 1 ? parts[1] : std::string();
    if (parts[0] == "medium") check_medium(file);
    if (parts[0] == "channel") check_channel(file);
    for (const auto& p : processes)
        if (parts[0] == p.name) check_process(p, parts);
    return 0;
}
