// SPDX-License-Identifier: GPL-3.0-or-later
#include "capture/capture.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace wip::capture {
namespace {

namespace tm = openwip::telemetry;

constexpr std::int64_t hold_ns = 50'000'000;
// A publisher that is silent for longer is not waited for.
constexpr std::int64_t longest_hold_ns = 2'000'000'000;
// Room in the section's comment for a verdict that comes later.
constexpr std::size_t verdict_bytes = 400;
// The most bytes of comments in the section's header on a pipe: dumpcap (of Wireshark 4.0.17) reads
// that header into 2048 bytes however long it is, and writes beyond them. The rest stands with the
// first interface, which it reads whole.
constexpr std::size_t most_in_a_stream = 1024;
const std::string verdict_not_known = "verdict: not known when the capture began";

// Five hundred days of slots; with that, no sum of times here leaves 64 bits, not at the slowest
// clock (1/100) and not at the latest wall clock.
constexpr std::int64_t most_slots = std::int64_t{1} << 36;
constexpr std::int64_t latest_sample_ns = most_slots * 2'000'000 / 3;

constexpr bool is_slot(std::int64_t slot) { return slot > -most_slots && slot < most_slots; }

// Whether the times in a message are plausible.
bool times_fit(const tm::Telemetry& m) {
    return is_slot(m.slot()) && m.wall_ns() >= 0 && m.wall_ns() <= latest_wall_ns &&
           std::ranges::all_of(m.frames().slot(), [](const auto& s) { return is_slot(s.air()); }) &&
           std::ranges::all_of(m.ip().packet(), [](const auto& p) {
               return p.time_ns() >= -latest_sample_ns && p.time_ns() <= latest_sample_ns;
           });
}

constexpr std::int64_t slot_start_ns(std::int64_t slot) { return slot * 2'000'000 / 3; }

std::string padded(std::string text) {
    text.resize(verdict_bytes, ' ');
    return text;
}

// Converts a monotonic time to the wall clock by reading both clocks now.
std::int64_t wall_clock_of(std::int64_t monotonic_ns) {
    using namespace std::chrono;
    const auto now = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
    const auto mono = duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
    return now - (monotonic_ns == 0 ? 0 : mono - monotonic_ns);
}

std::string terminal_name(int user) {
    return user == 0 ? "terminal" : "terminal" + std::to_string(user + 1);
}

}  // namespace

bool capture::held_packet::operator<(const held_packet& other) const {
    if (sample_ns != other.sample_ns) return sample_ns > other.sample_ns;
    if (rank != other.rank) return rank > other.rank;
    return order > other.order;
}

capture::capture(const capture_options& options, capture_file& file)
    : options_(options), file_(file) {
    std::vector<interface> list;
    const auto add = [&](const std::string& station, bool frames, const std::string& text) {
        const bool framed = frames && !options_.pdus;
        list.push_back({framed ? link_type_upper_pdu : link_type_raw_ip, options_.snap,
                        station + (framed   ? ".frames"
                                   : frames ? ".pdus"
                                            : ".ip"),
                        text});
    };
    if (options_.ip) {
        if (options_.base) add("base", false, "OpenWIP: IP at the TUN of the base station");
        for (int u = 0; u < options_.terminals; ++u)
            add(terminal_name(u), false, "OpenWIP: IP at the TUN of the " + terminal_name(u));
    }
    if (options_.frames) {
        const std::string what =
            options_.pdus ? "OpenWIP: PDUs sent by the " : "OpenWIP: link frames ";
        if (options_.base)
            add("base", true, what + (options_.pdus ? "" : "sent by the ") + "base station");
        for (int u = 0; u < options_.terminals; ++u)
            add(terminal_name(u), true,
                what + (options_.pdus ? "" : "received by the ") + terminal_name(u));
    }
    section s{options_.application, {}};
    std::size_t room = file_.seekable() ? SIZE_MAX : most_in_a_stream;
    for (const auto& text : options_.comments) {
        const bool fits = text.size() <= room;
        (fits ? s.comments : list.front().comments).push_back(text);
        if (fits) room -= text.size();
    }
    s.comments.push_back(padded(options_.verdict.empty() ? verdict_not_known : options_.verdict));
    append(file_.blocks(), s, &comment_places_);
    for (const auto& i : list) {
        append(file_.blocks(), i);
        counts_.push_back({i.name, 0, 0});
    }
    dropped_before_.resize(counts_.size());
    file_.flush();
}

std::optional<std::uint32_t> capture::interface_of(station at, const tm::Telemetry& message) const {
    const bool pdus = message.ip().pdus(), frames = pdus || message.has_frames();
    // Messages of a type of link other than the captured one are not captured.
    if (!(frames ? options_.frames && pdus == options_.pdus : options_.ip)) return std::nullopt;
    const std::uint32_t user = message.user();
    const auto terminals = static_cast<std::uint32_t>(options_.terminals);
    const std::uint32_t bases = options_.base ? 1 : 0;
    const std::uint32_t first = frames && options_.ip ? bases + terminals : 0;
    if (at == station::base) return options_.base ? std::optional(first) : std::nullopt;
    if (user >= terminals) return std::nullopt;
    return first + bases + user;
}

void capture::take(station from, const tm::Telemetry& message) {
    if (enough_) return;
    if (!times_fit(message) ||
        (message.has_frames() && !frame_columns::well_formed(message.frames()))) {
        ++malformed_;
        return;
    }
    const std::int64_t now = slot_start_ns(message.slot() + 1);
    if (!options_.start_ns)
        options_.start_ns = wall_clock_of(message.wall_ns()) -
                            static_cast<std::int64_t>(static_cast<double>(now) / options_.speed);
    if (!first_ns_) {
        first_ns_ = newest_ns_ = now;
        if (options_.seconds > 0) end_ns_ = now + static_cast<std::int64_t>(options_.seconds * 1e9);
    }
    if (message.has_frames()) take_frames(from, message);
    if (message.has_ip()) take_ip(from, message);
    newest_ns_ = std::max(newest_ns_, now);
    heard_ns_[static_cast<std::size_t>(from)] = now;
    if (!options_.base) heard_ns_[static_cast<std::size_t>(station::base)] = now;
    const std::int64_t settled =
        std::max(*std::min_element(heard_ns_.begin(), heard_ns_.end()) - hold_ns,
                 newest_ns_ - longest_hold_ns);
    release(settled);
    if (end_ns_ && settled > *end_ns_) enough_ = true;
}

capture::held_packet* capture::hold(std::optional<std::uint32_t> interface,
                                    std::int64_t sample_ns) {
    if (!interface) {
        ++unknown_;
        return nullptr;
    }
    next_.sample_ns = sample_ns;
    next_.order = order_++;
    next_.what = {};
    next_.what.interface = *interface;
    next_.what.dropped_before = std::exchange(dropped_before_[*interface], 0);
    if (!spare_.empty()) {
        next_.data = std::move(spare_.back());
        spare_.pop_back();
    }
    next_.data.clear();
    return &next_;
}

void capture::push() {
    next_.what.original_bytes = static_cast<std::uint32_t>(next_.data.size());
    if (options_.snap != 0 && next_.data.size() > options_.snap) next_.data.resize(options_.snap);
    held_.push(std::move(next_));
}

void capture::take_frames(station from, const tm::Telemetry& message) {
    const bool sent = from == station::base;
    const auto& batch = message.frames();
    const auto interface = interface_of(from, message);
    count_missed(interface, message.user(), batch.frames_before(), batch.bin().size());
    frame_columns frames(batch);
    for (const auto& s : batch.slot()) {
        const auto edge = window_edge_of(s.grant());
        for (std::uint32_t i = 0; i < s.frames(); ++i) {
            const link_frame f = frames.next();
            held_packet* p = hold(interface, slot_start_ns(s.air() + (sent ? 0 : 1)));
            if (p == nullptr) continue;
            p->rank = sent ? 1 : 2;
            p->what.direction = sent ? packet_direction::outbound : packet_direction::inbound;
            p->what.crc_error = !sent && f.outcome == frame_outcome::bad;
            append_frame(p->data, sent ? frame_place::sent : frame_place::received, s.air(),
                         static_cast<std::uint16_t>(message.user()), edge, f);
            push();
        }
    }
}

void capture::count_missed(std::optional<std::uint32_t> interface, std::uint32_t user,
                           std::uint64_t before, std::uint64_t n) {
    if (!interface) return;
    const auto [sent, first] = sent_.try_emplace({*interface, user}, before);
    // A publisher that began anew counts from 0.
    if (before > sent->second) count_dropped(*interface, before - sent->second);
    sent->second = before + n;
}

void capture::count_dropped(std::uint32_t interface, std::uint64_t n) {
    counts_[interface].dropped += n;
    dropped_before_[interface] += n;
}

void capture::take_ip(station from, const tm::Telemetry& message) {
    const auto& batch = message.ip();
    const auto interface = interface_of(from, message);
    count_missed(interface, message.user(), batch.packets_before(),
                 static_cast<std::uint64_t>(batch.packet_size()));
    if (interface) {
        const auto [before, first] = skipped_.try_emplace(*interface, batch.skipped());
        if (batch.skipped() > before->second)
            count_dropped(*interface, batch.skipped() - before->second);
        before->second = batch.skipped();
    }
    for (const auto& r : batch.packet()) {
        held_packet* p = hold(interface, r.time_ns());
        if (p == nullptr) continue;
        // The direction is the kernel's at its interface: a packet that the station reads has left
        // the host.
        p->rank = r.out() ? 3 : batch.pdus() ? 1 : 0;
        p->what.crc_error = r.lost();
        p->what.direction = r.out() ? packet_direction::inbound : packet_direction::outbound;
        p->data.assign(r.data().begin(), r.data().end());
        push();
    }
}

void capture::release(std::int64_t up_to_ns) {
    while (!enough_ && !held_.empty() && held_.top().sample_ns <= up_to_ns) {
        // priority_queue gives no other way to move its top out.
        held_packet p = std::move(const_cast<held_packet&>(held_.top()));
        held_.pop();
        write(p);
        spare_.push_back(std::move(p.data));
    }
}

void capture::write(held_packet& p) {
    if (end_ns_ && p.sample_ns > *end_ns_) {
        enough_ = true;
        return;
    }
    if (p.sample_ns < written_to_ns_) ++late_;
    written_to_ns_ = std::max(written_to_ns_, p.sample_ns);
    p.what.time_ns = *options_.start_ns + p.sample_ns;
    p.what.data = p.data;
    append(file_.blocks(), p.what);
    file_.write_if_much();
    ++counts_[p.what.interface].packets;
    ++written_;
    enough_ = options_.count != 0 && written_ >= options_.count;
}

void capture::finish(const std::string& verdict) {
    release(INT64_MAX);
    const std::int64_t start = options_.start_ns.value_or(wall_clock_of(0));
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        interface_statistics s{static_cast<std::uint32_t>(i),
                               start + first_ns_.value_or(0),
                               start + newest_ns_,
                               counts_[i].packets,
                               counts_[i].dropped,
                               {}};
        if (counts_[i].dropped != 0)
            s.comments.push_back(
                "dropped: in telemetry that was lost, and IP packets that the station left out");
        if (!verdict.empty()) s.comments.push_back(verdict);
        append(file_.blocks(), s);
    }
    file_.flush();
    if (!verdict.empty())
        file_.overwrite(comment_places_.back(), padded(verdict).substr(0, verdict_bytes));
}

}  // namespace wip::capture
