// SPDX-License-Identifier: GPL-3.0-or-later
// Random worlds of the emulator's cell: several terminals, schedulers, channels, both methods of
// frame errors, the wired network, uplinks, blackouts, refusing interfaces, damaged delivery, and
// changes of all that can change. After every slot:
//
//   - in = delivered + queued + dropped with reason, at both ends and on the uplink
//   - no bin carries frames of two terminals, and no more than `bins` are used
//   - what leaves is due, and never before what left before it
//   - every packet ends in one record; its parts sum exactly, it began when the wired network was
//     through with it, and ended when it was due. What left with it is what was sent: unaltered,
//     or of its size and marked damaged, its header unaltered but for errors that an IPv4 header
//     checksum misses (counted)
//   - what comes out of the uplink went in, in order, unaltered
#include <bit>
#include <deque>
#include <stdexcept>

#include "drawn_world.h"
#include "emulated_setup.h"
#include "emulated_sums.h"
#include "wire/ip_header.h"

namespace wip::sim {
namespace {

using cell_model::emulated_cell;

struct emulated_script {
    emulated_script() { setup.cell.to_base.delay_ms = 0; }

    emulated_setup setup;
    std::uint64_t seed = 1;
    int slots = 600;
    double load = 0.5;     // packets per slot, all users together
    double up_load = 0.1;  // packets per slot on the uplink
    int least = 20, most = 1500;
    double ipv6 = 0, not_ip = 0, refused = 0;
    // shares of packets with a random IPv4 protocol, with a random filling
    double protocols = 0, filled = 0;
    bool change_link = false, change_channel = false, change_errors = false, black_outs = false;
    bool change_uplink = false;
};

drawn_world<emulated_script> draw(std::uint64_t seed) {
    drawn_world<emulated_script> d(seed);
    random_source& dice = d.dice;
    const auto assign = [&d](const char* name, const auto& value, auto apply) {
        d.set(name, value, [=](emulated_script& s) { apply(s.setup); });
    };
    const auto number = [&d](const char* name, auto value, auto member) {
        d.set(name, value, [=](emulated_script& s) { s.*member = value; });
    };
    const auto of_link = [&](const char* name, auto value, auto member) {
        assign(name, value, [=](emulated_setup& s) { s.link().*member = value; });
    };
    number("seed", dice.next(), &emulated_script::seed);
    number("slots", 100 + dice.up_to(700), &emulated_script::slots);
    if (dice.hits(0.5)) {
        const int users = 2 + dice.up_to(5);
        assign("terminals", users, [=](auto& s) { s.cell.cell.users = users; });
    }
    const int method = dice.up_to(5);
    assign("scheduling", std::string(scheduling_names[static_cast<std::size_t>(method)]),
           [=](auto& s) { s.cell.cell.scheduling = static_cast<scheduling_kind>(method); });
    if (dice.hits(0.5)) assign("radio", 1, [](auto& s) { s.link().profile = link_profile::radio; });
    if (dice.hits(0.5)) of_link("packing", true, &link_config::packing);
    if (dice.hits(0.5)) of_link("in_order", true, &link_config::in_order);
    if (dice.hits(0.5)) of_link("deliver_corrupt", false, &link_config::deliver_corrupt);
    if (dice.hits(0.3)) of_link("combining", false, &link_config::combining);
    of_link("bins", 1 + dice.up_to(25), &link_config::bins);
    if (dice.hits(0.4)) of_link("modulation", 1 + dice.up_to(8), &link_config::modulation);
    const int table = dice.up_to(3);
    assign("switch_table", table,
           [=](auto& s) { s.link().switch_table = static_cast<switch_table_kind>(table); });
    if (dice.hits(0.6))
        of_link("max_retransmissions", dice.up_to(dice.hits(0.5) ? 3 : 31),
                &link_config::max_retransmissions);
    if (dice.hits(0.5))
        of_link("retransmission_delay_slots", 3 * (1 + dice.up_to(16)),
                &link_config::retransmission_delay_slots);
    of_link("queue_packets", 1 + dice.up_to(100), &link_config::queue_packets);
    if (dice.hits(0.6)) {
        const std::string model =
            std::array{"flat", "jakes", "epa", "eva"}[static_cast<std::size_t>(dice.up_to(4))];
        assign("model", model, [=](auto& s) { s.channel.model = model; });
    }
    const double snr = 5 + 25 * dice.uniform();
    assign("snr_db", snr, [=](auto& s) { s.channel.snr_db = snr; });
    if (dice.hits(0.5)) {
        const double nmse = 0.3 * dice.uniform();
        assign("prediction_nmse", nmse, [=](auto& s) { s.channel.prediction_nmse = nmse; });
    }
    const bool computed = dice.hits(0.5);
    assign("computed", computed, [=](auto& s) {
        s.cell.errors =
            computed ? bin_model::error_method::computed : bin_model::error_method::symbols;
    });
    const int eight = dice.up_to(3);
    assign("eight_points", eight,
           [=](auto& s) { s.link().eight = static_cast<eight_points>(eight); });
    const auto wired = [&](const char* name, double value, auto end, auto member) {
        assign(name, value, [=](auto& s) { s.cell.*end.*member = value; });
    };
    using cell_model::emulation_config;
    using packet_model::wired_config;
    if (dice.hits(0.5))
        wired("to_base.delay_ms", 20 * dice.uniform(), &emulation_config::to_base,
              &wired_config::delay_ms);
    if (dice.hits(0.2))
        wired("to_base.loss", 0.2 * dice.uniform(), &emulation_config::to_base,
              &wired_config::loss);
    if (dice.hits(0.2))
        wired("to_base.rate_kbps", 100 + dice.up_to(10000), &emulation_config::to_base,
              &wired_config::rate_kbps);
    if (dice.hits(0.2))
        wired("from_base.loss", 0.2 * dice.uniform(), &emulation_config::from_base,
              &wired_config::loss);
    const auto uplink = [&](const char* name, double value, auto member) {
        assign(name, value, [=](auto& s) { s.cell.uplink.*member = value; });
    };
    if (dice.hits(0.5))
        uplink("feedback_loss", 0.3 * dice.uniform(), &uplink_config::feedback_loss);
    if (dice.hits(0.3)) uplink("uplink.loss", 0.3 * dice.uniform(), &uplink_config::loss);
    uplink("uplink.kbps", 50 + dice.up_to(5000), &uplink_config::kbps);
    number("load", 2 * dice.uniform() * dice.uniform(), &emulated_script::load);
    number("up_load", 0.2 * dice.uniform(), &emulated_script::up_load);
    const int least = dice.hits(0.5) ? 20 : 20 + dice.up_to(1481);
    const int most = least + dice.up_to(1501 - least);
    number("least", least, &emulated_script::least);
    number("most", most, &emulated_script::most);
    if (dice.hits(0.4)) number("ipv6", dice.uniform(), &emulated_script::ipv6);
    if (dice.hits(0.2)) number("not_ip", 0.05, &emulated_script::not_ip);
    if (dice.hits(0.2)) number("refused", 0.2 * dice.uniform(), &emulated_script::refused);
    const auto flag = [&](const char* name, double p, auto member) {
        if (dice.hits(p)) d.set(name, 1, [=](emulated_script& s) { s.*member = true; });
    };
    flag("change_link", 0.3, &emulated_script::change_link);
    flag("change_channel", 0.2, &emulated_script::change_channel);
    flag("change_errors", 0.2, &emulated_script::change_errors);
    flag("black_outs", 0.3, &emulated_script::black_outs);
    flag("change_uplink", 0.2, &emulated_script::change_uplink);
    if (dice.hits(0.5)) number("protocols", dice.uniform(), &emulated_script::protocols);
    if (dice.hits(0.3)) number("filled", dice.uniform(), &emulated_script::filled);
    return d;
}

class emulated_world {
public:
    explicit emulated_world(const emulated_script& script)
        : script_(script),
          traffic_(script.seed + 1),
          config_(script.setup),
          cell_(config_.cell, config_.sources()),
          users_(static_cast<std::size_t>(cell_.users())) {
        for (std::uint64_t i = 0; i < dice_.size(); ++i)
            dice_[i] = random_source(script.seed + 2 + i);
        cell_.deliver_to([this](auto... left) { return on_left(left...); });
        cell_.follow_packets([this](int u, const packet_record& r) { on_record(u, r); });
    }

    world_kind::totals run() {
        for (int left = script_.slots; left > 0; left -= 40) {
            for (int i = 0; i < std::min(left, 40); ++i) step(true);
            change();
        }
        // `static` leaves a terminal without a bin where there are more terminals than bins.
        config_.cell.cell.scheduling = scheduling_kind::round_robin;
        cell_.reconfigure(config_.cell.cell);
        drain();
        // A few packets are sent without errors: after a lost packet boundary a terminal may not
        // know earlier where the next packet begins, or that there is none.
        cell_.reconfigure(bin_model::error_method::none);
        script_.load = 2 * cell_.users();
        script_.ipv6 = script_.not_ip = 0;
        for (int i = 0; i < 10; ++i) step(true);
        drain();
        const auto totals = cell_.packet_totals();
        if (totals.open() != 0 || totals.skipped != 0)
            violated(std::to_string(totals.open()) + " packets open, " +
                     std::to_string(totals.skipped) + " skipped");
        if (totals.unmatched != 0) violated("words about packets that were not sent");
        for (const auto& u : users_)
            for (const auto& p : u.sent)
                if (!p.recorded) violated("a packet without a record");
        for (int u = 0; u < cell_.users(); ++u)
            sum_.dropped += cell_.base_status(u).link.frames_dropped;
        sum_.slots = static_cast<std::uint64_t>(next_.value);
        return sum_;
    }

private:
    struct sent_packet {
        std::uint32_t number = 0;
        packet_kind kind;
        bool is_ip = true, recorded = false;
        std::int64_t given = 0;
    };
    struct left_packet {
        std::vector<std::uint8_t> data;
        std::int64_t due = 0;
        int error = 0;
    };
    struct user_track {
        std::vector<sent_packet> sent;  // packets that came through the wired network, in its order
        // packets for the terminal that have not been compared with a record yet
        std::deque<left_packet> left;
        std::int64_t last_recorded = -1;
        std::deque<std::vector<std::uint8_t>> up;  // packets given to the uplink
    };

    [[noreturn]] void violated(const std::string& what) const {
        throw std::logic_error("slot " + std::to_string(next_.value) + ": " + what);
    }

    void drain() {
        for (int i = 0; !cell_.idle(); ++i) {
            if (i == 100000) violated("the cell does not run dry");
            step(false);
        }
        for (int i = 0; i < config_.link().retransmission_delay_slots + 5; ++i) step(false);
    }

    std::uint64_t wired_drops() const {
        std::uint64_t drops = 0;
        for (const auto& d : cell_.wired_to_base().sums().dropped) drops += d.count.packets;
        return drops;
    }

    void offer() {
        owed_ += 2 * traffic_.uniform() * script_.load;
        std::int64_t at = slot_start_ns(next_);
        for (; owed_ >= 1; owed_ -= 1) {
            at += traffic_.up_to(10'000);
            const int u = traffic_.up_to(cell_.users());
            sent_packet p;
            p.number = ++number_;
            p.kind.version = traffic_.hits(script_.ipv6) ? 6 : 4;
            p.kind.bytes = script_.least + traffic_.up_to(script_.most - script_.least + 1);
            if (p.kind.version == 6) p.kind.bytes = std::max(p.kind.bytes, 48);
            if (script_.protocols > 0 && traffic_.hits(script_.protocols))
                p.kind.protocol = traffic_.up_to(256);
            if (script_.filled > 0 && traffic_.hits(script_.filled))
                p.kind.fill = traffic_.up_to(256);
            p.is_ip = !traffic_.hits(script_.not_ip);
            p.given = at;
            auto data = make_packet(p.number, p.kind);
            if (!p.is_ip) data.push_back(0);
            const std::uint64_t drops = wired_drops();
            cell_.downlink().offer(data, at, u);
            if (wired_drops() == drops) users_[static_cast<std::size_t>(u)].sent.push_back(p);
        }
        up_owed_ += 2 * traffic_.uniform() * script_.up_load;
        for (; up_owed_ >= 1; up_owed_ -= 1) {
            const int u = traffic_.up_to(cell_.users());
            auto data = make_packet(++number_, {.version = 4, .bytes = 20 + traffic_.up_to(1481)});
            cell_.uplink().offer(data, slot_start_ns(next_), u);
            users_[static_cast<std::size_t>(u)].up.push_back(std::move(data));
        }
    }

    int on_left(emulated_cell::side to, int user, std::span<const std::uint8_t> data,
                std::int64_t due) {
        if (due > slot_start_ns(next_ + slot_count(1))) violated("left before it was due");
        std::int64_t& last = last_due_[to == emulated_cell::side::terminal ? 1 : 0];
        if (due < last) violated("left after what was due later");
        last = due;
        auto& u = users_[static_cast<std::size_t>(user)];
        if (to == emulated_cell::side::server) {
            // The packets before it in the queue were lost.
            while (!u.up.empty() && !std::ranges::equal(u.up.front(), data)) u.up.pop_front();
            if (u.up.empty()) violated("altered or out of order on the uplink");
            u.up.pop_front();
            return 0;
        }
        const int error = traffic_.hits(script_.refused) ? 5 : 0;
        u.left.push_back({{data.begin(), data.end()}, due, error});
        return error;
    }

    void on_record(int user, const packet_record& r) {
        auto& u = users_[static_cast<std::size_t>(user)];
        const auto wrong = [&](const std::string& what) {
            violated("user " + std::to_string(user) + ", packet " + std::to_string(r.number) +
                     ": " + what);
        };
        if (r.number >= u.sent.size()) wrong("was not sent");
        sent_packet& p = u.sent[r.number];
        if (p.recorded) wrong("has two records");
        p.recorded = true;
        const auto bytes = static_cast<std::size_t>(p.kind.bytes) + (p.is_ip ? 0 : 1);
        if (r.bytes != bytes) wrong("its record has another length");
        if (r.parts.sum() != r.left_ns - r.arrived_ns) wrong("its parts do not sum");
        if (r.arrived_ns - r.wired_ns != p.given) wrong("its way does not begin when it was sent");
        const std::string dropped = r.dropped;
        if ((dropped == "not_ip") == p.is_ip) wrong("dropped as " + dropped);
        if (dropped == "not_ip" || dropped == "queue_full" || dropped == "lost_frame" ||
            dropped == "retransmissions_exceeded")
            return;
        if (!dropped.empty() && dropped != "tun_write") wrong("dropped as " + dropped);
        if (u.left.empty()) wrong("delivered without leaving");
        const left_packet left = std::move(u.left.front());
        u.left.pop_front();
        if (left.error != r.refused) wrong("another errno than the interface's");
        if (left.due != r.left_ns) wrong("ended when it was not due");
        if (config_.link().in_order && static_cast<std::int64_t>(r.number) < u.last_recorded)
            wrong("out of order");
        u.last_recorded = static_cast<std::int64_t>(r.number);
        const auto sent = make_packet(p.number, p.kind);
        // The record of a refused packet does not say whether it was damaged.
        if (!r.damaged && (r.refused == 0 || sent == left.data)) {
            if (sent != left.data) wrong("altered");
            ++sum_.delivered;
            return;
        }
        if (!config_.link().deliver_corrupt) wrong("delivered damaged without leave");
        if (sent.size() != left.data.size()) wrong("damaged, of another size");
        ++sum_.damaged;
        const auto header = static_cast<std::ptrdiff_t>(p.kind.version == 4 ? 20 : 40);
        if (std::equal(sent.begin(), sent.begin() + header, left.data.begin())) return;
        if (p.kind.version == 6 || !read_ip_header(left.data)) wrong("its header is damaged");
        ++sum_.altered_headers;
    }

    void step(bool with_traffic) {
        cell_.run_slot(next_);
        check_bins();
        if (with_traffic) offer();
        cell_.release(slot_start_ns(next_ + slot_count(1)));
        if (const auto text = unequal_sums(cell_); !text.empty()) violated(text);
        ++next_;
    }

    void check_bins() const {
        std::uint32_t used = 0;
        for (int u = 0; u < cell_.users(); ++u)
            for (std::size_t b = 0; b < nof_bins; ++b) {
                if (cell_.plan(u).payload[b].empty()) continue;
                if ((used >> b & 1U) != 0) violated("a bin with frames of two terminals");
                used |= 1U << b;
            }
        if (std::popcount(used) > config_.link().bins) violated("more bins than the cell has");
    }

    void change() {
        if (script_.change_link) {
            auto& d = dice_[0];
            link_config& link = config_.link();
            link.bins = 1 + d.up_to(25);
            link.modulation = d.up_to(9);
            link.retransmission_delay_slots = 3 * (1 + d.up_to(16));
            link.max_retransmissions = d.up_to(31);
            link.queue_packets = 1 + d.up_to(100);
            link.combining = d.hits(0.5);
            config_.cell.cell.scheduling = static_cast<scheduling_kind>(d.up_to(5));
        }
        if (script_.change_uplink) config_.cell.uplink.feedback_loss = 0.5 * dice_[2].uniform();
        if (script_.change_link || script_.change_channel || script_.change_uplink) {
            cell_.reconfigure(config_.cell.cell);
            cell_.reconfigure(config_.cell.uplink);
        }
        if (script_.change_channel) {
            config_.channel.snr_db = 5 + 25 * dice_[1].uniform();
            cell_.replace(config_.sources());
        }
        if (script_.change_errors)
            cell_.reconfigure(dice_[3].hits(0.5) ? bin_model::error_method::symbols
                                                 : bin_model::error_method::computed);
        if (script_.black_outs && dice_[4].hits(0.5))
            cell_.black_out(next_, next_ + slot_count(1 + dice_[4].up_to(30)));
    }

    emulated_script script_;
    random_source traffic_;
    emulated_setup config_;
    emulated_cell cell_;
    std::vector<user_track> users_;
    std::array<random_source, 5> dice_{random_source{0}, random_source{0}, random_source{0},
                                       random_source{0}, random_source{0}};
    slot next_;
    double owed_ = 0, up_owed_ = 0;
    std::uint32_t number_ = 0;
    std::array<std::int64_t, 2> last_due_{};
    world_kind::totals sum_;
};

}  // namespace

world_kind emulated_worlds() {
    return make_kind<emulated_script>(
        "emulated", draw, [](const emulated_script& s) { return emulated_world(s).run(); });
}

}  // namespace wip::sim
