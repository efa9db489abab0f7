// SPDX-License-Identifier: GPL-3.0-or-later
// The model of a USRP's FPGA against 308 scenarios that the public logic was simulated with, for
// each family and version; and for each of the 33 rules a model that breaks it, which scenarios
// catch.
#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <random>
#include <set>

#include "fpga_scenarios.h"

namespace wip::vusrp::fpga {
namespace {

const std::vector<scenario>& scenarios() {
    static const std::vector<scenario> all = read_scenarios(SCENARIOS);
    return all;
}

const char* name_of(transmit_event_kind kind) {
    switch (kind) {
        case transmit_event_kind::acknowledged:
            return "eob_ack";
        case transmit_event_kind::underflow:
            return "underflow";
        case transmit_event_kind::late:
            return "late";
        case transmit_event_kind::sequence:
            return "sequence";
        case transmit_event_kind::sequence_in_burst:
            return "sequence_in_burst";
    }
    return "";
}

const char* name_of(receive_event_kind kind) {
    switch (kind) {
        case receive_event_kind::late:
            return "late";
        case receive_event_kind::overflow:
            return "overflow";
        case receive_event_kind::broken_chain:
            return "broken_chain";
    }
    return "";
}

// Results as texts that are equal when the results are. The time in a report counts only where all
// is compared: the mutants have to be caught without.
enum class with { all, kinds_of_events };

template <class Air, class Dropped>
void write_transmitted(std::ostream& out, const Air& air, const Dropped& dropped, tick step) {
    const auto follows = [](const auto& before, const auto& r) {
        return before.packet == r.packet && before.first + before.samples == r.first;
    };
    std::vector<air_run> runs;
    for (const air_run& r : air) {
        const bool joins = !runs.empty() && follows(runs.back(), r) &&
                           runs.back().start + runs.back().samples * step == r.start;
        if (joins)
            runs.back().samples += r.samples;
        else
            runs.push_back(r);
    }
    std::vector<dropped_run> drops;
    for (const dropped_run& r : dropped) {
        if (!drops.empty() && follows(drops.back(), r))
            drops.back().samples += r.samples;
        else
            drops.push_back(r);
    }
    out << "on the air";
    for (const air_run& r : runs)
        out << ' ' << r.start << ':' << r.packet << '[' << r.first << '+' << r.samples << ']';
    out << "\ndropped";
    for (const dropped_run& r : drops)
        out << ' ' << r.packet << '[' << r.first << '+' << r.samples << ']';
}

void write_received(std::ostream& out, const std::vector<received_packet>& packets) {
    out << "received";
    for (const received_packet& p : packets)
        out << ' ' << p.time << '[' << p.samples << ']' << (p.end_of_burst ? "." : "");
}

void write_event(std::ostream& out, const std::string& kind, tick time, int after_packets,
                 with what) {
    out << ' ' << kind;
    if (what == with::all) out << '@' << time;
    if (after_packets >= 0) out << " behind " << after_packets;
}

std::string text_of(const scenario& s, const expected_result& r, with what) {
    std::ostringstream out;
    if (s.transmit)
        write_transmitted(out, r.air, r.dropped, s.ticks_per_sample);
    else
        write_received(out, r.received);
    out << "\nevents";
    for (const expected_event& e : r.events)
        write_event(out, e.kind, e.time, e.after_packets, what);
    return out.str();
}

std::string text_of(const scenario& s, const transmit_outcome& o, with what) {
    std::ostringstream out;
    write_transmitted(out, o.air, o.dropped, s.ticks_per_sample);
    out << "\nevents";
    for (const transmit_event& e : o.events) write_event(out, name_of(e.kind), e.time, -1, what);
    return out.str();
}

std::string text_of(const receive_outcome& o, with what) {
    std::ostringstream out;
    write_received(out, o.packets);
    out << "\nevents";
    for (const receive_event& e : o.events)
        write_event(out, name_of(e.kind), e.time, e.after_packets, what);
    return out.str();
}

std::string run(const scenario& s, const family& f, with what) {
    return s.transmit ? text_of(s, run_transmit(s, f.transmit), what)
                      : text_of(run_receive(s, f.receive), what);
}

// The results of a B200's receiver are those of 4.2 on: before, only the order of reports and data
// in the stream was another.
const family& family_of(const scenario& s, const std::string& versions) {
    return find_family(s.family, s.family == "b200" ? "4.0-4.10" : versions);
}

// Scenarios that the model does not reproduce, each with the reason. There is none.
const std::map<std::string, std::string> skipped{};

TEST(FpgaControl, reproduces_every_scenario_to_the_tick) {
    std::map<std::string, int> of_family;
    int runs = 0;
    for (const scenario& s : scenarios()) {
        if (skipped.contains(s.name())) continue;
        ++of_family[s.family + (s.transmit ? "_tx" : "_rx")];
        for (const expected_result& r : s.results)
            for (const std::string& versions : r.versions) {
                SCOPED_TRACE(s.name() + " of " + versions + ": " + s.title);
                EXPECT_EQ(run(s, family_of(s, versions), with::all), text_of(s, r, with::all));
                ++runs;
            }
    }
    EXPECT_EQ(of_family, (std::map<std::string, int>{{"b200_rx", 42},
                                                     {"b200_tx", 91},
                                                     {"rfnoc_duc_tx", 72},
                                                     {"rfnoc_rx", 41},
                                                     {"rfnoc_tx", 62}}));
    EXPECT_EQ(runs, 833);
}

// A device works its packets and commands off as they come, and takes what is ready.
TEST(FpgaControl, says_the_same_when_it_is_asked_step_by_step) {
    for (const scenario& s : scenarios()) {
        SCOPED_TRACE(s.name());
        const family& f = family_of(s, s.results[0].versions[0]);
        if (s.transmit) {
            transmit_control control(f.transmit, s.ticks_per_sample, s.policy, s.report_ticks);
            transmit_outcome all;
            const auto take = [&] {
                const transmit_outcome part = control.take();
                all.air.insert(all.air.end(), part.air.begin(), part.air.end());
                all.dropped.insert(all.dropped.end(), part.dropped.begin(), part.dropped.end());
                all.events.insert(all.events.end(), part.events.begin(), part.events.end());
            };
            for (const transmit_packet& p : s.packets) {
                control.advance(p.arrival);
                control.packet(p);
                take();
            }
            control.advance(end_of_transmission);
            take();
            EXPECT_EQ(text_of(s, all, with::all), run(s, f, with::all));
        } else {
            receive_control control(f.receive, setting_of(s));
            receive_outcome all;
            for (const refusal& r : s.refuses) control.refuse(r);
            for (tick t = 0; t < end_of_reception; t += 7) {
                for (const receive_command& c : s.commands)
                    if (t <= c.written && c.written < t + 7) control.command(c);
                control.advance(t + 7);
                const receive_outcome part = control.take();
                all.packets.insert(all.packets.end(), part.packets.begin(), part.packets.end());
                all.events.insert(all.events.end(), part.events.begin(), part.events.end());
            }
            EXPECT_EQ(text_of(all, with::all), run(s, f, with::all));
        }
    }
}

// Random commands and refusals, spread over many packets, so that the model counts nearly all of
// the packets in one step.
TEST(FpgaControl, counts_runs_as_it_counts_ticks) {
    std::mt19937 random(1);
    const auto up_to = [&random](tick most) {
        return std::uniform_int_distribution<tick>(0, most)(random);
    };
    const command_kind kinds[] = {command_kind::start, command_kind::stop, command_kind::finite,
                                  command_kind::chained};
    int events = 0;
    for (int round = 0; round < 400; ++round) {
        const family& f = families()[static_cast<std::size_t>(up_to(8))];
        receive_setting setting{.ticks_per_sample = 1 + up_to(5),
                                .report_ticks = up_to(50),
                                .samples_per_packet = static_cast<int>(2 + up_to(300)),
                                .store_samples = static_cast<int>(64 + 2 * up_to(1000))};
        receive_control runs(f.receive, setting);
        setting.counts_runs = false;
        receive_control ticks(f.receive, setting);
        tick at = 0, refused = 0;
        for (tick t = 0; t < 60'000;) {
            while (at < t + 8000) {
                receive_command c{
                    .written = at, .kind = kinds[up_to(3)], .samples = 1 + up_to(2000)};
                if (c.kind != command_kind::stop && up_to(1)) c.time = at + up_to(3000) - 100;
                runs.command(c);
                ticks.command(c);
                at += 1 + up_to(9000);
            }
            while (refused < t + 8000) {
                const refusal r{refused + up_to(9000), 0};
                refused = r.from + 1 + up_to(4000);
                runs.refuse({r.from, refused});
                ticks.refuse({r.from, refused});
            }
            t += 1 + up_to(4000);
            runs.advance(t);
            ticks.advance(t);
            const receive_outcome a = runs.take(), b = ticks.take();
            ASSERT_EQ(text_of(a, with::all), text_of(b, with::all)) << f.name << " round " << round;
            events += static_cast<int>(a.events.size());
        }
    }
    EXPECT_GT(events, 1000);
}

// A model that breaks a rule. Each scenario of `caught_by` has to notice it; they are of the
// evidence in tests/vectors/usrp/README.md.
struct mutant {
    int rule;
    std::string change;
    std::function<void(family&)> apply;
    std::vector<std::string> caught_by;
};

void reads_times(family& f) {  // reads the DUC's time as well
    f.transmit.reads_time_in_burst = true;
    f.transmit.converter_counts_time = false;
}

const std::vector<mutant>& mutants() {
    static const std::vector<mutant> all{
        {1,
         "a time inside a burst is read",
         reads_times,
         {"rfnoc_tx_jump_fwd_1_full", "rfnoc_duc_tx_jump_fwd_1_full", "b200_tx_jump_past_full"}},
        {2,
         "a slot left out ends the burst",
         reads_times,
         {"rfnoc_tx_slots_skip_1", "rfnoc_duc_tx_slots_skip_1", "b200_tx_slots_skip_1"}},
        {3,
         "an end of burst does not end it",
         [](family& f) { f.transmit.end_of_burst_ends = false; },
         {"rfnoc_tx_eob_inside", "rfnoc_duc_tx_start_untimed_bursts", "b200_tx_eob_inside"}},
        {4,
         "running dry is not reported",
         [](family& f) { f.transmit.reports_dry = false; },
         {"rfnoc_tx_dry_end", "rfnoc_duc_tx_dry_end", "b200_tx_dry_end"}},
        {5,
         "the packet after running dry is dropped, as in a B200",
         [](family& f) { f.transmit.after_dry_between = after_dry::is_dropped; },
         {"rfnoc_tx_dry_then_future", "rfnoc_tx_dry_untimed_chain"}},
        {5,
         "the packet in the tick after running dry is not lost, or is",
         [](family& f) {
             auto& after = f.transmit.after_dry_between;
             if (after == after_dry::begins_burst)
                 after = after_dry::lost_at_once;
             else if (after == after_dry::lost_at_once)
                 after = after_dry::begins_burst;
         },
         {"rfnoc_tx_dry_arrival_sweep"}},
        {6,
         "the packet after running dry begins a burst, as in an RFNoC radio",
         [](family& f) { f.transmit.after_dry_between = after_dry::begins_burst; },
         {"b200_tx_dry_then_future", "b200_tx_dry_untimed_chain", "b200_tx_dry_eob_only",
          "b200_tx_jump_fwd_1_dry", "b200_tx_slots_skip_4_late_eob"}},
        {7,
         "the DUC reads every packet's time",
         [](family& f) { f.transmit.converter_counts_time = false; },
         {"rfnoc_duc_tx_dry_then_future", "rfnoc_duc_tx_slots_skip_4_no_eob"}},
        {8,
         "the DUC counts on after an end of burst",
         [](family& f) { f.transmit.converter_end_ends = false; },
         {"rfnoc_duc_tx_slots_skip_4_late_eob", "rfnoc_duc_tx_jump_fwd_1_dry"}},
        {9,
         "the rest of a packet that ran dry goes out",
         [](family& f) { f.transmit.dry_packet_is_dropped = false; },
         {"rfnoc_tx_dry_in_packet", "b200_tx_dry_in_packet"}},
        {10,
         "a late packet goes out at once",
         [](family& f) { f.transmit.late_is_dropped = false; },
         {"rfnoc_tx_late_single", "rfnoc_duc_tx_start_time_zero", "b200_tx_late_first_rest_timed"}},
        {11,
         "a packet of the host is one packet of the DUC",
         [](family& f) { f.transmit.converter_cuts = false; },
         {"rfnoc_duc_tx_late_single", "rfnoc_duc_tx_same_time_two_bursts"}},
        {12,
         "dropping is as fast as in the other family",
         [](family& f) { f.transmit.word_samples = 3 - f.transmit.word_samples; },
         {"rfnoc_tx_late_all_until_ahead", "rfnoc_duc_tx_dry_timed_chain",
          "b200_tx_late_all_until_ahead"}},
        {13,
         "the policy holds between packets where it does not, and the reverse",
         [](family& f) { f.transmit.dry_obeys_policy = !f.transmit.dry_obeys_policy; },
         {"rfnoc_tx_dry_untimed_chain_pb", "rfnoc_duc_tx_dry_untimed_chain_pb",
          "b200_tx_dry_untimed_chain_pb"}},
        {14,
         "the least gap is another by a tick",
         [](family& f) { f.transmit.head_ticks = 1 - f.transmit.head_ticks; },
         {"rfnoc_tx_eob_gap_sweep", "rfnoc_duc_tx_eob_gap_sweep", "b200_tx_eob_gap_sweep"}},
        {15,
         "bursts without a time touch each other",
         [](family& f) { f.transmit.restart_ticks = 0; },
         {"rfnoc_tx_start_untimed_bursts", "rfnoc_duc_tx_start_untimed_bursts",
          "b200_tx_start_untimed_bursts"}},
        {16,
         "a packet that waits for its time lets others pass",
         [](family& f) { f.transmit.head_blocks = false; },
         {"rfnoc_tx_start_wait_head", "rfnoc_duc_tx_start_wait_head", "b200_tx_start_wait_head"}},
        {17,
         "the least lead is another by a tick",
         [](family& f) { f.transmit.header_ticks += 1; },
         {"rfnoc_tx_start_arrival_sweep", "b200_tx_start_arrival_sweep"}},
        {18,
         "an end of burst that was dropped is acknowledged",
         [](family& f) { f.transmit.acknowledges_dropped = true; },
         {"rfnoc_tx_late_single", "rfnoc_duc_tx_late_single", "b200_tx_dry_eob_only"}},
        {19,
         "every report reaches the host",
         [](family& f) { f.transmit.report_store = 0; },
         {"rfnoc_tx_late_events_flood", "rfnoc_duc_tx_late_events_flood"}},
        {20,
         "sequence numbers are not looked at",
         [](family& f) { f.transmit.has_sequence = false; },
         {"b200_tx_seq_gap_start", "b200_tx_seq_gap_inside", "b200_tx_seq_repeat"}},
        {21,
         "an end of burst without samples ends the burst",
         [](family& f) { f.transmit.empty_packet_is_lost = false; },
         {"b200_tx_zero_length_eob"}},
        {22,
         "the end of a lone sample is not lost",
         [](family& f) { f.transmit.converter_loses_lone_end = false; },
         {"rfnoc_duc_tx_lone_one_sample", "rfnoc_duc_tx_lone_one_sample_between",
          "rfnoc_duc_tx_bursts_one_sample"}},
        {23,
         "a late command starts at once",
         [](family& f) { f.receive.refuses_late = false; },
         {"rfnoc_rx_start_late", "rfnoc_rx_start_lead_sweep", "b200_rx_start_late"}},
        {24,
         "the least gap between commands is another by a tick",
         [](family& f) { f.receive.turnaround_ticks += f.receive.chains ? 1 : -1; },
         {"rfnoc_rx_done_gap_sweep", "b200_rx_done_gap_sweep"}},
        {25,
         "a stop is queued where it is not, and the reverse",
         [](family& f) { f.receive.stop_is_queued = !f.receive.stop_is_queued; },
         {"rfnoc_rx_stop_before_time", "rfnoc_rx_stop_finite", "b200_rx_stop_before_time",
          "b200_rx_stop_finite"}},
        {26,
         "a second start takes over where it waits, and the reverse",
         [](family& f) { f.receive.start_takes_over = !f.receive.start_takes_over; },
         {"b200_rx_start_while_running", "b200_rx_start_timed_while_running"}},
        {27,
         "num_samps_and_more is as in the other family",
         [](family& f) { f.receive.chains = !f.receive.chains; },
         {"rfnoc_rx_more_then_done", "rfnoc_rx_more_broken", "b200_rx_more_then_done",
          "b200_rx_more_broken"}},
        {28,
         "the receiver starts anew by itself",
         [](family& f) { f.receive.overflow_stops = false; },
         {"rfnoc_rx_overflow", "b200_rx_overflow"}},
        {28,
         "the end flag of an overflow is as in the other family",
         [](family& f) { f.receive.overflow_ends_burst = !f.receive.overflow_ends_burst; },
         {"rfnoc_rx_overflow", "b200_rx_overflow"}},
        {29,
         "the report does not stand in the stream",
         [](family& f) { f.receive.reports_in_stream = false; },
         {"b200_rx_overflow_restart_now", "b200_rx_overflow_twice"}},
        {30,
         "a start keeps to the grid of the samples before",
         [](family& f) { f.receive.starts_on_any_tick = false; },
         {"b200_rx_overflow_restart_timed"}},
        {31,
         "a finite command goes on after an overflow",
         [](family& f) { f.receive.overflow_ends_command = false; },
         {"rfnoc_rx_overflow_finite", "b200_rx_overflow_finite"}},
        {32,
         "commands are taken before the host acknowledges",
         [](family& f) { f.receive.waits_for_acknowledgement = false; },
         {"rfnoc_rx_overflow_slow_ack"}},
        {33,
         "any number of headers is held",
         [](family& f) { f.receive.header_store = 0; },
         {"b200_rx_overflow_headers"}}};
    return all;
}

TEST(FpgaControl, breaking_a_rule_is_caught_by_its_scenarios) {
    std::set<int> rules;
    for (const mutant& m : mutants()) {
        SCOPED_TRACE("rule " + std::to_string(m.rule) + ": " + m.change);
        rules.insert(m.rule);
        std::set<std::string> caught;
        for (const scenario& s : scenarios())
            for (const expected_result& r : s.results)
                for (const std::string& versions : r.versions) {
                    family f = family_of(s, versions);
                    m.apply(f);
                    if (run(s, f, with::kinds_of_events) != text_of(s, r, with::kinds_of_events))
                        caught.insert(s.name());
                }
        std::cout << "rule " << m.rule << ", " << m.change << ": caught by " << caught.size();
        for (const std::string& name : m.caught_by) {
            EXPECT_TRUE(caught.contains(name)) << name;
            std::cout << ", " << name;
        }
        std::cout << "\n";
    }
    EXPECT_EQ(rules.size(), 33U);
}

TEST(FpgaControl, names_the_families_when_it_is_asked_for_another) {
    try {
        find_family("b300", "4.9");
        FAIL();
    } catch (const std::invalid_argument& e) {
        EXPECT_EQ(std::string(e.what()),
                  "there is no FPGA family b300 of UHD 4.9; valid: rfnoc 4.0-4.3, rfnoc 4.4-4.8, "
                  "rfnoc 4.9, "
                  "rfnoc 4.10, rfnoc_duc 4.0-4.3, rfnoc_duc 4.4-4.8, rfnoc_duc 4.9, "
                  "rfnoc_duc 4.10, b200 4.0-4.10");
    }
}

}  // namespace
}  // namespace wip::vusrp::fpga
