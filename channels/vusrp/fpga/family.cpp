// SPDX-License-Identifier: GPL-3.0-or-later
#include "vusrp/fpga/family.h"

#include <charconv>
#include <stdexcept>
#include <string>

namespace wip::vusrp::fpga {
namespace {

constexpr int report_store = 33;

std::vector<family> make_families() {
    std::vector<family> all;
    for (const bool converter : {false, true}) {
        const std::string_view name = converter ? "rfnoc_duc" : "rfnoc";
        family f{.name = name, .versions = "4.0-4.3", .transmit = {}, .receive = {}};
        f.transmit.has_converter = converter;
        f.transmit.report_store = report_store;
        f.transmit.after_dry_between = after_dry::lost_at_once;
        f.transmit.dry_obeys_policy = true;
        f.receive.late_ticks = 1;
        all.push_back(f);
        f.versions = "4.4-4.8";
        f.transmit.head_ticks = 1;
        f.receive.late_ticks = 0;
        all.push_back(f);
        f.versions = "4.9";
        f.transmit.after_dry_between = after_dry::begins_burst;
        f.transmit.dry_obeys_policy = false;
        f.receive.command_ticks = 3;
        all.push_back(f);
        f.versions = "4.10";
        f.receive.command_ticks = 2;
        all.push_back(f);
    }
    all.push_back({.name = "b200",
                   .versions = "4.0-4.10",
                   .transmit = {.after_dry_between = after_dry::is_dropped,
                                .dry_obeys_policy = true,
                                .header_ticks = 2,
                                .late_ticks = 1,
                                .word_samples = 2,
                                .has_sequence = true,
                                .event_delay = 4,
                                .event_spacing = 4},
                   .receive = {.command_ticks = 3,
                               .start_ticks = 1,
                               .check_ticks = 0,
                               .turnaround_ticks = 1,
                               .event_ticks = 2,
                               .overflow_ends_burst = false,
                               .stop_is_queued = true,
                               .start_takes_over = true,
                               .chains = true,
                               .reports_in_stream = true,
                               .waits_for_acknowledgement = false,
                               .header_store = 64,
                               .word_samples = 2,
                               .reserve = 1,
                               .output_words = 34,
                               .header_words = 2}});
    return all;
}

}  // namespace

const std::vector<family>& families() {
    static const std::vector<family> all = make_families();
    return all;
}

const family& ideal_family() {
    static const family ideal{.name = "ideal",
                              .versions = "any",
                              .transmit = {.restart_ticks = 0,
                                           .word_samples = 1 << 20,
                                           .reads_time_in_burst = true,
                                           .dry_packet_is_dropped = false},
                              .receive = {}};
    return ideal;
}

const family& family_of_release(std::string_view name, std::string_view release) {
    const std::string_view minor =
        release.starts_with("4.") ? release.substr(2) : std::string_view();
    int number = -1;
    const auto [end, error] = std::from_chars(minor.data(), minor.data() + minor.size(), number);
    if (error != std::errc() || end != minor.data() + minor.size() || number < 0 || number > 10)
        throw std::invalid_argument("release of UHD is " + std::string(release) +
                                    "; valid: 4.0 to 4.10");
    if (name == ideal_family().name) return ideal_family();
    if (name == "b200") return find_family(name, "4.0-4.10");
    return find_family(name, number <= 3   ? "4.0-4.3"
                             : number <= 8 ? "4.4-4.8"
                             : number == 9 ? "4.9"
                                           : "4.10");
}

const family& find_family(std::string_view name, std::string_view versions) {
    std::string valid;
    for (const family& f : families()) {
        if (f.name == name && f.versions == versions) return f;
        valid += " " + std::string(f.name) + " " + std::string(f.versions) + ",";
    }
    throw std::invalid_argument("there is no FPGA family " + std::string(name) + " of UHD " +
                                std::string(versions) +
                                "; valid:" + valid.substr(0, valid.size() - 1));
}

}  // namespace wip::vusrp::fpga
