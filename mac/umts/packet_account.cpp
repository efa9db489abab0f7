// SPDX-License-Identifier: GPL-3.0-or-later
#include "umts/packet_account.h"

#include <algorithm>

namespace wip::umts {
namespace {

// A packet that the sender has discarded may still arrive for this long, which is longer than any
// PDU is on its way.
constexpr std::int64_t forget_ns = 30'000'000'000;
// Most records of resolved packets that are kept while an older packet is not resolved: 64 MiB, and
// as much in a journal.
constexpr std::uint64_t most_resolved_records = 1 << 20;

}  // namespace

std::optional<std::uint64_t> packet_account::offer(std::span<const std::uint8_t> data, int tag,
                                                   std::int64_t now_ns) {
    in_.add(data.size());
    if (records_.size() - of(fate::queued).packets >=
        most_resolved_records) {  // the RLC has long been full
        sums_[static_cast<std::size_t>(fate::refused)].add(data.size());
        return std::nullopt;
    }
    const std::uint64_t id = first_id_ + records_.size();
    records_.push() = {tag, now_ns, now_ns, data.size(), fate::queued, false, {}};
    sums_[static_cast<std::size_t>(fate::queued)].add(data.size());
    if (journal_) journal_->offered(id, data, now_ns);
    return id;
}

packet_account::packet packet_account::at(std::uint64_t id) const {
    const record& r = record_of(id);
    return {id, r.tag, r.offered_ns, r.state == fate::discarded};
}

void packet_account::entered(std::uint64_t id, std::int64_t now_ns) {
    if (journal_) journal_->entered(id, now_ns);
}

void packet_account::placed(std::uint64_t id, const sdu_position& end, std::int64_t first_sn,
                            std::int64_t now_ns) {
    if (journal_) journal_->placed(id, first_sn, end.sn, now_ns);
    record& r = record_of(id);
    r.placed = true;
    r.end = end;
    placed_.push() = {end, id};
}

// The first packet that ends there or later.
std::size_t packet_account::place_of(const sdu_position& end) const {
    std::size_t from = 0, to = placed_.size();
    while (from < to) {
        const std::size_t middle = (from + to) / 2;
        if (placed_[middle].first < end)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

std::optional<packet_account::packet> packet_account::assembled(const sdu_position& end,
                                                                std::size_t bytes) const {
    const std::size_t place = place_of(end);
    if (place == placed_.size() || placed_[place].first != end || placed_[place].second < first_id_)
        return std::nullopt;
    const std::uint64_t id = placed_[place].second;
    const record& r = record_of(id);
    if (r.state == fate::delivered || (!acknowledged() && bytes != r.bytes)) return std::nullopt;
    return packet{id, r.tag, r.offered_ns, r.state == fate::discarded};
}

void packet_account::leave_rlc(std::uint64_t id, std::int64_t for_ns, std::int64_t now_ns) {
    record& r = record_of(id);
    if (r.state != fate::queued) resolve(id, fate::queued, now_ns);  // it has arrived after all
    r.placed = false;
    if (journal_) journal_->left(id, now_ns, "", for_ns);
}

void packet_account::move(record& r, std::uint64_t id, fate to, std::int64_t now_ns) {
    sums_[static_cast<std::size_t>(r.state)].take(r.bytes);
    sums_[static_cast<std::size_t>(to)].add(r.bytes);
    r.state = to;
    r.resolved_ns = now_ns;
    if (journal_ && to != fate::queued) journal_->left(id, now_ns, reason_of(to));
}

void packet_account::resolve(std::uint64_t id, fate to, std::int64_t now_ns) {
    if (id < first_id_) return;
    record& r = record_of(id);
    if (r.state == to || r.state == fate::delivered) return;
    // A packet that has left the RLC and is on its way cannot be dropped any more.
    if (to == fate::discarded && r.state == fate::queued && r.has_left_rlc()) return;
    move(r, id, to, now_ns);
    while (!records_.empty()) {
        const record& f = records_.front();
        const bool is_resolved =
            f.state == fate::delivered || f.state == fate::refused ||
            (f.state != fate::queued && (!acknowledged() || now_ns - f.resolved_ns > forget_ns));
        if (!is_resolved) break;
        records_.pop();
        ++first_id_;
    }
    while (!placed_.empty() && placed_.front().second < first_id_) placed_.pop();
}

void packet_account::lose_before(const sdu_position& end, fate to, std::int64_t now_ns) {
    for (std::size_t i = 0; i < placed_.size() && placed_[i].first < end;) {
        const std::size_t before = placed_.size();
        const std::uint64_t id = placed_[i++].second;
        if (id < first_id_) continue;
        const record& r = record_of(id);
        if (r.state == fate::queued && r.placed) resolve(id, to, now_ns);
        i -= std::min(i, before - placed_.size());  // resolve() has removed some at the front
    }
}

void packet_account::reset(std::int64_t entered_until_ns, std::int64_t now_ns) {
    for (std::size_t i = 0; i < records_.size(); ++i) {
        record& r = records_[i];
        if (r.state != fate::queued || r.has_left_rlc() || r.offered_ns > entered_until_ns)
            continue;
        move(r, first_id_ + i, fate::lost_by_reset, now_ns);
    }
    placed_.clear();
}

link_sums packet_account::sums() const {
    link_sums all{in_, of(fate::delivered), of(fate::queued), {}};
    const auto add = [&](fate f) { all.dropped.push_back({reason_of(f), of(f)}); };
    add(fate::refused);
    add(fate::discarded);
    add(acknowledged() ? fate::lost_by_reset : fate::lost);
    if (mode_ == rlc_mode::transparent) add(fate::too_long);
    return all;
}

const char* packet_account::reason_of(fate f) {
    return f == fate::refused         ? "queue_full"
           : f == fate::discarded     ? "rlc_given_up"
           : f == fate::lost_by_reset ? "rlc_reset"
           : f == fate::lost          ? "rlc_lost"
           : f == fate::too_long      ? "rlc_too_long"
                                      : "";
}

}  // namespace wip::umts
