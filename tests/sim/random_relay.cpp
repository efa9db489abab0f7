// SPDX-License-Identifier: GPL-3.0-or-later
// Random worlds of damaged delivery with the relay: TCP segments through the emulator's cell with
// few or no retransmissions, the relay in front of a receiver that takes nothing with a wrong
// checksum, acknowledgements over the uplink. Sender and receiver are models: a window of segments,
// again from the oldest after a timeout or three equal acknowledgements; cumulative ones back.
// After every packet:
//
//   - the relay changes only what it says it has repaired, and then neither the size nor the IP
//     header nor the sequence number nor the data
//   - what it has repaired has a right checksum, the connection's ports, and no flags but ACK and
//     PSH; its data is that of its place in the stream, bit errors apart (bits of another place are
//     wrong one time in two)
//   - what it leaves alone is the receiver's business: wrong checksums are dropped
//
// In the end every byte has arrived, with errors only where packets were damaged.
#include <algorithm>
#include <bit>
#include <map>
#include <stdexcept>

#include "drawn_world.h"
#include "emulated_setup.h"
#include "emulated_sums.h"
#include "relay/tcpl_recovery.h"
#include "wire/ip_header.h"

namespace wip::sim {
namespace {

using cell_model::emulated_cell;
using bytes = std::vector<std::uint8_t>;

constexpr std::size_t ip = 20;  // bytes of an IPv4 header
// flags of a TCP header
constexpr std::uint8_t fin = 1, syn = 2, rst = 4, psh = 8, ack = 16, urg = 32;

void put16(bytes& p, std::size_t at, std::uint32_t v) {
    p[at] = static_cast<std::uint8_t>(v >> 8);
    p[at + 1] = static_cast<std::uint8_t>(v);
}
void put32(bytes& p, std::size_t at, std::uint32_t v) {
    put16(p, at, v >> 16);
    put16(p, at + 2, v);
}
std::uint32_t get32(std::span<const std::uint8_t> p, std::size_t at) {
    return std::uint32_t{p[at]} << 24 | std::uint32_t{p[at + 1]} << 16 |
           std::uint32_t{p[at + 2]} << 8 | p[at + 3];
}

std::uint32_t tcp_sum(std::span<const std::uint8_t> packet) {
    const auto tcp = packet.subspan(ip);
    return internet_sum(
        tcp, internet_sum(packet.subspan(12, 8)) + 6 + static_cast<std::uint32_t>(tcp.size()));
}

struct relay_script {
    relay_script() {
        setup.cell.to_base.delay_ms = setup.cell.from_base.delay_ms = 1;
        setup.cell.uplink.kbps = 2000;
        setup.link().max_retransmissions = 0;
    }

    emulated_setup setup;
    std::uint64_t seed = 1;
    std::size_t total = 60000, segment = 1448, window = 20;
    bool timestamps = false;
};

drawn_world<relay_script> draw(std::uint64_t seed) {
    drawn_world<relay_script> d(seed);
    random_source& dice = d.dice;
    const auto assign = [&d](const char* name, const auto& value, auto apply) {
        d.set(name, value, [=](relay_script& s) { apply(s.setup); });
    };
    const auto of_link = [&](const char* name, auto value, auto member) {
        assign(name, value, [=](emulated_setup& s) { s.link().*member = value; });
    };
    const auto number = [&d](const char* name, auto value, auto member) {
        d.set(name, value, [=](relay_script& s) { s.*member = value; });
    };
    number("seed", dice.next(), &relay_script::seed);
    number("segment", std::size_t{200} + static_cast<std::size_t>(dice.up_to(1249)),
           &relay_script::segment);
    number("window", std::size_t{1} + static_cast<std::size_t>(dice.up_to(40)),
           &relay_script::window);
    if (dice.hits(0.7)) d.set("timestamps", 1, [](relay_script& s) { s.timestamps = true; });
    if (dice.hits(0.5)) assign("radio", 1, [](auto& s) { s.link().profile = link_profile::radio; });
    if (dice.hits(0.5)) of_link("packing", true, &link_config::packing);
    if (dice.hits(0.5)) of_link("in_order", true, &link_config::in_order);
    of_link("bins", 5 + dice.up_to(21), &link_config::bins);
    // Near the lowest SNR at which most frames of this modulation pass.
    const int k = 2 + dice.up_to(5);
    of_link("modulation", k, &link_config::modulation);
    const double snr = 7.5 + 3.3 * (k - 1) + 4 * dice.uniform();
    assign("snr_db", snr, [=](auto& s) { s.channel.snr_db = snr; });
    if (dice.hits(0.5))
        of_link("max_retransmissions", dice.up_to(3), &link_config::max_retransmissions);
    if (dice.hits(0.3)) {
        const std::string model = dice.hits(0.5) ? "flat" : "epa";
        assign("model", model, [=](auto& s) { s.channel.model = model; });
    }
    const bool computed = dice.hits(0.5);
    assign("computed", computed, [=](auto& s) {
        s.cell.errors =
            computed ? bin_model::error_method::computed : bin_model::error_method::symbols;
    });
    if (dice.hits(0.3)) {
        const double loss = 0.1 * dice.uniform();
        assign("uplink.loss", loss, [=](auto& s) { s.cell.uplink.loss = loss; });
    }
    return d;
}

class relay_world {
public:
    explicit relay_world(const relay_script& script)
        : script_(script),
          cell_(script.setup.cell, script.setup.sources()),
          content_(script.total) {
        random_source random(script.seed);
        for (auto& b : content_) b = static_cast<std::uint8_t>(random.next() >> 56);
        received_.resize(script.total);
        has_.resize(script.total);
        cell_.deliver_to(
            [this](emulated_cell::side to, int, std::span<const std::uint8_t> p, std::int64_t) {
                if (to == emulated_cell::side::server)
                    on_ack(p);
                else
                    on_segment(p);
            });
    }

    world_kind::totals run() {
        // runs until the terminal's feedback has come
        for (; next_.value < 200; ++next_) run_slot();
        send(sender_segment(syn, first_ - 1, 0));
        for (; acked_ < script_.total; ++next_) {
            if (next_.value > 120000) violated("the transfer does not end");
            send_data();
            run_slot();
        }
        std::uint64_t wrong = 0;
        for (std::size_t i = 0; i < script_.total; ++i)
            wrong += static_cast<std::uint64_t>(
                std::popcount(static_cast<unsigned>(content_[i] ^ received_[i])));
        if (recovered_ == 0 && wrong > 32) violated("wrong bits without a repaired segment");
        return {static_cast<std::uint64_t>(next_.value), intact_, recovered_, 0, 0};
    }

private:
    static constexpr std::uint32_t first_ = 5'000'000;  // first sequence number of the data
    // 10.42.0.1 and 10.42.0.2
    static constexpr std::uint32_t server = 0x0a2a0001, terminal = 0x0a2a0002;
    static constexpr std::uint16_t server_port = 5001, terminal_port = 40000;

    [[noreturn]] void violated(const std::string& what) const {
        throw std::logic_error("slot " + std::to_string(next_.value) + ": " + what);
    }

    bytes segment(bool to_terminal, std::uint8_t flags, std::uint32_t seq, std::uint32_t acks,
                  std::span<const std::uint8_t> data) const {
        const std::size_t options = script_.timestamps ? 12 : 0;
        bytes p(ip + 20 + options + data.size());
        p[0] = 0x45;
        put16(p, 2, static_cast<std::uint32_t>(p.size()));
        p[8] = 64;
        p[9] = 6;
        put32(p, 12, to_terminal ? server : terminal);
        put32(p, 16, to_terminal ? terminal : server);
        put16(p, 10, ~internet_sum(std::span(p).first(ip)) & 0xffff);
        put16(p, ip, to_terminal ? server_port : terminal_port);
        put16(p, ip + 2, to_terminal ? terminal_port : server_port);
        put32(p, ip + 4, seq);
        put32(p, ip + 8, acks);
        p[ip + 12] = static_cast<std::uint8_t>((20 + options) / 4 << 4);
        p[ip + 13] = flags;
        put16(p, ip + 14, 60000);
        if (script_.timestamps) {
            p[ip + 20] = p[ip + 21] = 1;
            p[ip + 22] = 8;
            p[ip + 23] = 10;
            put32(p, ip + 24, static_cast<std::uint32_t>(next_.value));
        }
        std::ranges::copy(data, p.begin() + static_cast<std::ptrdiff_t>(ip + 20 + options));
        put16(p, ip + 16, ~tcp_sum(p) & 0xffff);
        return p;
    }
    bytes sender_segment(std::uint8_t flags, std::uint32_t seq, std::size_t size) const {
        const std::size_t at = size == 0 ? 0 : seq - first_;
        return segment(true, flags, seq, 1, std::span(content_).subspan(at, size));
    }
    void send(const bytes& packet) { cell_.downlink().offer(packet, slot_start_ns(next_)); }

    void send_data() {
        const bool timeout = next_.value > last_progress_ + 600;
        if (timeout || equal_acks_ >= 3) {
            if (!established_) send(sender_segment(syn, first_ - 1, 0));
            if (timeout) sent_ = acked_;  // sends all of it again
            if (equal_acks_ >= 3 && established_) send_one(acked_);
            equal_acks_ = -1000;
            last_progress_ = next_.value;
        }
        if (!established_) return;
        for (; sent_ < script_.total && sent_ < acked_ + script_.window * script_.segment;)
            sent_ += send_one(sent_);
    }
    std::size_t send_one(std::size_t at) {
        const std::size_t n = std::min(script_.segment, script_.total - at);
        send(sender_segment(ack | psh, first_ + static_cast<std::uint32_t>(at), n));
        return n;
    }

    void run_slot() {
        cell_.run_slot(next_);
        cell_.release(slot_start_ns(next_ + slot_count(1)));
        if (const auto text = unequal_sums(cell_); !text.empty()) violated(text);
    }

    void on_ack(std::span<const std::uint8_t> p) {
        if ((p[ip + 13] & syn) != 0 && !established_) {
            established_ = true;
            last_progress_ = next_.value;
        }
        const std::size_t acked = get32(p, ip + 8) - first_;
        if (acked > script_.total) return;
        if (acked > acked_) {
            acked_ = acked;
            sent_ = std::max(sent_, acked_);
            equal_acks_ = 0;
            last_progress_ = next_.value;
        } else {
            ++equal_acks_;
        }
    }

    void on_segment(std::span<const std::uint8_t> came) {
        using tcpl::verdict;
        bytes p(came.begin(), came.end());
        const verdict v = relay_.on_incoming(p);
        if (v == verdict::recovered)
            check_repaired(came, p);
        else if (!std::ranges::equal(came, p))
            violated("the relay changed what it did not repair");
        if (v != verdict::recovered && v != verdict::intact) return;
        // A host accepts right checksums and its own connection only.
        if (!read_ip_header(p) || tcp_sum(p) != 0xffff) violated("the host drops this");
        if (get32(p, 12) != server || get32(p, 16) != terminal || p[9] != 6) return;
        if (get32(p, ip) != (std::uint32_t{server_port} << 16 | terminal_port)) return;
        if (v == verdict::intact) ++intact_;
        answer(p);
    }

    void check_repaired(std::span<const std::uint8_t> came, const bytes& p) {
        ++recovered_;
        const std::size_t header = std::size_t{4} * (p[ip + 12] >> 4);
        const auto from = static_cast<std::ptrdiff_t>(ip + header);
        if (came.size() != p.size()) violated("repaired to another size");
        if (!std::equal(came.begin(), came.begin() + ip, p.begin()))
            violated("repaired in the IP header");
        if (!std::equal(came.begin() + ip + 4, came.begin() + ip + 8, p.begin() + ip + 4))
            violated("repaired in the sequence number");
        if (!std::equal(came.begin() + from, came.end(), p.begin() + from))
            violated("repaired in the data");
        if (tcp_sum(p) != 0xffff) violated("repaired with a wrong checksum");
        if ((p[ip + 13] & (fin | syn | rst | urg)) != 0 || (p[ip + 13] & ack) == 0)
            violated("repaired with flags");
        const std::size_t at = get32(p, ip + 4) - first_, n = p.size() - ip - header;
        if (at >= script_.total || at + n > script_.total) violated("repaired to no place");
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < n; ++i)
            wrong += static_cast<std::size_t>(
                std::popcount(static_cast<unsigned>(content_[at + i] ^ p[ip + header + i])));
        // 8 n bits of another place: 4 n wrong, deviation sqrt(2 n), n at least 200 but at the end.
        if (n >= 200 && wrong * 10 > 35 * n) violated("repaired to another place");
    }

    void answer(const bytes& p) {
        if ((p[ip + 13] & syn) != 0) return reply(syn | ack);
        if ((p[ip + 13] & ack) == 0) return;
        const std::size_t header = std::size_t{4} * (p[ip + 12] >> 4);
        const std::size_t at = get32(p, ip + 4) - first_, n = p.size() - ip - header;
        for (std::size_t i = at; i < std::min(at + n, script_.total); ++i) {
            if (has_[i]) continue;
            has_[i] = true;
            received_[i] = p[ip + header + i - at];
        }
        while (expected_ < script_.total && has_[expected_]) ++expected_;
        reply(ack);
    }
    void reply(std::uint8_t flags) {
        const auto p = segment(false, flags, 1, first_ + static_cast<std::uint32_t>(expected_), {});
        relay_.on_outgoing(p);
        cell_.uplink().offer(p, slot_start_ns(next_));
    }

    relay_script script_;
    emulated_cell cell_;
    tcpl::tcpl_recovery relay_;
    bytes content_, received_;
    std::vector<bool> has_;
    slot next_;
    bool established_ = false;
    std::size_t sent_ = 0, acked_ = 0, expected_ = 0;
    int equal_acks_ = 0;
    std::int64_t last_progress_ = 200;
    std::uint64_t intact_ = 0, recovered_ = 0;
};

}  // namespace

world_kind relay_worlds() {
    return make_kind<relay_script>("relay", draw,
                                   [](const relay_script& s) { return relay_world(s).run(); });
}

}  // namespace wip::sim
