// SPDX-License-Identifier: GPL-3.0-or-later
// Both ends of the link as macd runs them, without sockets: messages of flowgraphs and peers that
// nobody vouches for, between slots that are honest. The input is a row of steps:
//
//   slot        the base station is asked for the next slot, the terminal hears what it planned,
//               with some frames lost, and the base station the terminal's word
//   damaged     the same, with some bits of the three messages wrong
//   raw         a message of any bytes to either end
//   packet      an IP packet, or what claims to be one, from an application
//   set         a change of settings at run time
//
// These must hold: every direction's packets and bytes add up after each step; the output is fit
// for a flowgraph; a request is answered at most once; a refusal is one of the two that a control
// socket has; and as long as nothing was damaged, a packet that comes out of one end was put into
// the other, once.
#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "fuzz_input.h"
#include "macd/base_station.h"
#include "macd/terminal_station.h"
#include "station_world.h"
#include "types/grant.h"
#include "wire/ip_header.h"

using namespace wip;
using namespace wip::fuzz;
using namespace wip::host;

namespace {

constexpr int most_steps = 400;

struct end {
    end(const std::string& role, fuzz_input& in) : settings(macd_keys()) {
        settings.merge_assignment("role=" + role);
        const int choices = in.u8();
        if ((choices & 1) != 0) settings.merge_assignment("link.deliver_corrupt=on");
        if ((choices & 2) != 0) settings.merge_assignment("link.order=as_completed");
        if ((choices & 4) != 0) settings.merge_assignment("link.modulation=4");
        if ((choices & 8) != 0) settings.merge_assignment("uplink.kbps=20000");
        if ((choices & 16) != 0 && role == "terminal") {
            settings.merge_assignment("link.deliver_corrupt=on");
            settings.merge_assignment("link.tcp_l=on");
        }
        for (std::size_t t = 0; t < nof_topics; ++t)
            port.watched.want(static_cast<topic>(t), (choices & 32) != 0);
    }
    config::settings settings;
    tun_pair tun;
    station_port_spy port;
    // packets that applications gave and that have not come out yet
    std::map<std::vector<std::uint8_t>, int> given;
};

class pair_world {
public:
    explicit pair_world(fuzz_input& in)
        : in_(in),
          base_end_("base", in),
          terminal_end_("terminal", in),
          base_(translate(base_end_.settings), *base_end_.tun.tun, base_end_.port),
          terminal_(translate(terminal_end_.settings), *terminal_end_.tun.tun, terminal_end_.port) {
    }

    void step() {
        switch (in_.in(0, 7)) {
            case 0:
                honest_ = false;
                raw();
                break;
            case 1:
                honest_ = false;
                slot_of_both(true);
                break;
            case 2:
                set(base_, base_end_);
                break;
            case 3:
                set(terminal_, terminal_end_);
                break;
            case 4:
                give(base_, base_end_);
                break;
            case 5:
                give(terminal_, terminal_end_);
                break;
            default:
                for (int n = in_.in(1, 8); n > 0; --n) slot_of_both(false);
        }
        check(base_, base_end_);
        check(terminal_, terminal_end_);
        take_out(base_end_, terminal_end_);
        take_out(terminal_end_, base_end_);
    }

private:
    template <class Message>
    Message passed(const Message& m, bool damaged) {
        if (!damaged) return m;
        std::string bytes = m.SerializeAsString();
        for (int n = in_.in(0, 3); n > 0 && !bytes.empty(); --n) {
            char& c = bytes[in_.u16() % bytes.size()];
            c = static_cast<char>(c ^ in_.u8());
        }
        Message out;
        return out.ParseFromString(bytes) ? out : Message{};
    }

    void slot_of_both(bool damaged) {
        openwip::slot_link::SlotRequest request;
        request.set_air(next_++);
        base_.on_request(passed(request, damaged));
        ++requests_;
        const auto& plans = base_end_.port.plans;
        for (; read_plans_ < plans.size(); ++read_plans_)
            terminal_.on_report(passed(report_of(plans[read_plans_]), damaged));
        for (auto& sent = terminal_end_.port.sent; read_sent_ < sent.size(); ++read_sent_) {
            openwip::uplink::Uplink message;
            expect(message.ParseFromString(sent[read_sent_]), "the terminal sends no message");
            to_peer(base_, passed(message, damaged).SerializeAsString());
        }
        for (auto& sent = base_end_.port.sent; read_notes_ < sent.size(); ++read_notes_)
            to_peer(terminal_, sent[read_notes_]);
    }

    openwip::slot_link::SlotReport report_of(const openwip::slot_link::SlotPlan& plan) {
        check_plan(plan);
        openwip::slot_link::SlotReport r;
        r.set_air(plan.air());
        const int fate = in_.u8();
        r.set_locked(fate != 1);
        for (int b = 0; b < nof_bins; ++b) {
            r.add_snr_db(static_cast<float>(fate % 32));
            r.add_predicted_snr_db(static_cast<float>(fate % 32));
        }
        if (fate < 3) return r;
        r.set_grant_ok(true);
        r.set_grant(plan.grant());
        const std::uint32_t lost = fate > 200 ? in_.u32() : 0;
        for (const auto& p : plan.payload()) {
            auto& bin = *r.add_bins();
            bin.set_bin(p.bin());
            const bool good = (lost >> p.bin() & 1U) == 0;
            bin.set_outcome(good ? openwip::slot_link::GOOD : openwip::slot_link::BAD);
            bin.set_payload(p.payload());
            if (!good && fate > 230) bin.clear_payload();
        }
        return r;
    }

    void check_plan(const openwip::slot_link::SlotPlan& plan) {
        expect(base_end_.port.plans.size() <= requests_, "more plans than were asked for");
        expect(plan.grant().size() == grant_bytes, "a plan without a grant");
        const auto grant = unpack_grant(
            std::span<const std::uint8_t, grant_bytes>(
                reinterpret_cast<const std::uint8_t*>(plan.grant().data()), grant_bytes),
            link_profile::radio);
        expect(grant.has_value(), "a grant that does not unpack");
        int used = 0;
        for (const auto& b : grant->bins) used += b.bits_per_symbol != 0 ? 1 : 0;
        expect(used == plan.payload_size(), "bins granted are not bins sent");
        for (const auto& p : plan.payload()) {
            expect(p.bin() < nof_bins, "a bin that does not exist");
            const int k = grant->bins[p.bin()].bits_per_symbol;
            expect(k != 0, "a payload in a bin that is not granted");
            expect(
                static_cast<int>(p.payload().size()) == frame_payload_bytes(link_profile::radio, k),
                "a payload of another size than granted");
        }
    }

    static void to_peer(station& s, std::string_view message) {
        s.on_peer({reinterpret_cast<const std::uint8_t*>(message.data()), message.size()});
    }

    void raw() {
        const int to = in_.u8();
        station& s = (to & 1) != 0 ? static_cast<station&>(base_) : terminal_;
        const auto b = in_.block();
        if ((to & 2) != 0) {
            s.on_peer(b);
            return;
        }
        openwip::slot_link::ToMacd message;
        if (!message.ParseFromArray(b.data(), static_cast<int>(b.size()))) return;
        if (message.has_request()) {
            ++requests_;
            s.on_request(message.request());
        }
        if (message.has_report()) s.on_report(message.report());
    }

    void give(station& s, end& e) {
        std::vector<std::uint8_t> packet;
        const int kind = in_.u8();
        if (kind == 0) {
            const auto b = in_.block();
            packet.assign(b.begin(), b.end());
        } else {
            packet = ip_packet(static_cast<std::size_t>(20 + 5 * kind), in_.u8());
        }
        if (packet.empty() || ::write(e.tun.applications, packet.data(), packet.size()) < 0) return;
        ++e.given[packet];
        s.on_tun();
    }

    void set(station& s, end& e) {
        const auto b = in_.block();
        config::settings next = e.settings;
        try {
            next.merge_yaml({b.begin(), b.end()}, "configure", true);
            const auto changed = next.changed_from(e.settings);
            if (!changed.empty()) s.reconfigure(next, changed);
        } catch (const config::error&) {
            return;
        } catch (const std::invalid_argument&) {
            return;
        }
        e.settings = std::move(next);
    }

    static void check(const station& s, const end&) {
        openwip::control::MacStatus status;
        s.fill(status);
        expect(conserved(status.downlink()),
               "the downlink does not add up: " + status.DebugString());
        expect(conserved(status.uplink()), "the uplink does not add up: " + status.DebugString());
        expect(s.tun_alive(), "an interface is gone");
    }

    // The packets that have come out of `out` were given to `in`.
    void take_out(end& out, end& in) const {
        for (auto packet = out.tun.take(); !packet.empty(); packet = out.tun.take()) {
            if (!honest_) continue;
            const auto given = in.given.find(packet);
            expect(given != in.given.end() && given->second > 0, "a packet that nobody sent");
            --given->second;
        }
    }

    fuzz_input& in_;
    end base_end_, terminal_end_;
    base_station base_;
    terminal_station terminal_;
    std::int64_t next_ = 150;
    std::size_t requests_ = 0, read_plans_ = 0, read_sent_ = 0, read_notes_ = 0;
    bool honest_ = true;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz_input in(data, size);
    pair_world w(in);
    for (int i = 0; i < most_steps && !in.empty(); ++i) w.step();
    return 0;
}
