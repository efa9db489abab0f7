// SPDX-License-Identifier: GPL-3.0-or-later
// bulk, transfer and telnet: TCP one way, as fast as it goes for a time, so many bytes, or packets
// as they arrive.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "flow/arrivals.h"
#include "flow/kinds.h"

namespace wip::flow {
namespace {

// seconds for which the bytes of each second are reported
constexpr std::size_t most_seconds = 4000;
constexpr double steady_after_s = 1.0;
constexpr std::size_t chunk_bytes = 1 << 17;
constexpr double for_ever = std::numeric_limits<double>::infinity();
constexpr double longest_s = 1e9;

// A flow without a start has a receiver that waits for its sender.
double accepted_until(const flow& f) {
    return f.start_s ? *f.start_s + f.connect_for() + 1 : for_ever;
}

void wake_before(double at) {
    if (at < for_ever) wake_at(at);
}

}  // namespace

void tell_sender(const job& j, int s, double began, std::uint64_t written, const round_trips& given,
                 const nlohmann::json& more) {
    const tcp_info i = info_of(s);
    char control[16] = "";
    socklen_t length = sizeof control - 1;
    ::getsockopt(s, IPPROTO_TCP, TCP_CONGESTION, control, &length);
    round_trips trips = given;
    if (trips.samples() == 0) trips.sample(s);
    nlohmann::json found{{"began", rounded(began, 9)},
                         {"congestion_control", control},
                         {"bytes", written},
                         {"mss", i.tcpi_snd_mss},
                         {"segments_sent", i.tcpi_segs_out},
                         {"retransmits", i.tcpi_total_retrans},
                         {"bytes_acked", std::uint64_t{i.tcpi_bytes_acked}},
                         {"bytes_retransmitted", std::uint64_t{i.tcpi_bytes_retrans}},
                         {"rtt_ms",
                          {{"min", rounded(i.tcpi_min_rtt * 1e-3, 3)},
                           {"mean", rounded(trips.mean_ms(), 3)},
                           {"max", rounded(trips.longest_ms(), 3)}}},
                         {"window_kb", j.f.kind == "compare" ? 0 : j.f.buffer_kb},
                         {"congestion_window", i.tcpi_snd_cwnd},
                         {"reordering", i.tcpi_reordering}};
    found.update(more);
    j.to.say(found);
}

namespace {

// Receives until the peer has closed, or for the seconds of the flow. Reports bytes, first arrival
// and end, and the bytes in each second of the flow. The clock is read once a second, since reading
// it costs as much as reading data.
void receive_bulk(const job& j) {
    const flow& f = j.f;
    const sockets with = j.with();
    const bool timed = f.seconds > 0 && !f.whole;
    std::vector<std::uint64_t> by_second;
    std::uint64_t bytes = 0, counted = 0, first_bytes = 0, steady_bytes = 0;
    double first = 0, steady = 0, until = accepted_until(f), t = 0;
    const int l = with.listening(SOCK_STREAM);
    if (!f.start_s) wake_when_asked_to_end();
    if (timed) wake_before(until);
    j.listening();
    const int s = with.accept_one(l);
    const double began = now();
    const double start = f.start_s ? *f.start_s : began;
    if (s >= 0) until = timed ? began + f.seconds : longest_s;
    const auto next_second = [&] { return start + static_cast<double>(by_second.size()) + 1; };
    errno = EINTR;
    bool wait_for_one = true;  // waits for an arrival whose time counts
    for (ssize_t n = -1; s >= 0; n = wait_for_one ? with.take(s) : with.take_until_woken(s)) {
        if (n == 0 || (n < 0 && errno != EINTR)) break;
        if (n > 0 && bytes == 0) {
            first = now();
            first_bytes = static_cast<std::uint64_t>(n);
        }
        if (n > 0) bytes += static_cast<std::uint64_t>(n);
        t = now();
        const bool settled = f.whole && bytes > 0 && steady == 0 && t >= first + steady_after_s;
        if (settled && n > 0 && wait_for_one) {
            steady = t;
            steady_bytes = bytes;
        }
        wait_for_one = bytes == 0 || (settled && steady == 0);
        if (t >= until || asked_to_end()) break;
        for (; by_second.size() < most_seconds && t >= next_second();) {
            by_second.push_back(bytes - counted);
            counted = bytes;
        }
        wake_at(std::min(until, next_second()));
    }
    if (by_second.size() < most_seconds && bytes > counted) by_second.push_back(bytes - counted);
    const double last = timed ? until : now();
    long_list seconds(j.to, "bytes_by_second");
    for (const std::uint64_t b : by_second) seconds.add(b);
    nlohmann::json found{{"bytes", bytes},
                         {"began", rounded(began, 9)},
                         {"first", rounded(first, 9)},
                         {"first_bytes", first_bytes},
                         {"last", rounded(last, 9)},
                         {"windows", {window_of(s)}},
                         {"bytes_by_second", seconds.rest()}};
    if (steady > 0) {
        found["steady_first"] = rounded(steady, 9);
        found["steady_first_bytes"] = steady_bytes;
    }
    j.to.say(found);
}

// bulk: sends as much as possible in the seconds of the flow, from the connection on; what has not
// been sent by then is dropped. A link too bad to connect over is reported, also if only the other
// end failed to connect and resets. telnet: the same with the packets that have arrived. Otherwise
// sends the flow's bytes and closes in order.
void send_bulk(const job& j) {
    const flow& f = j.f;
    const sockets with = j.with();
    static char chunk[chunk_bytes];
    const bool timed = f.seconds > 0;
    const double start = j.start();
    const double measured = f.measured_from_s > 0 ? start + f.measured_from_s : 0;
    // Without arrivals, of a flow that lasts for a time, all that goes.
    std::optional<packet_arrivals> arrivals;
    if (f.kind == "telnet") arrivals.emplace(f);
    const bool limited = !timed || arrivals;
    std::uint64_t written = 0, left = f.bytes;
    mark from;
    round_trips trips;
    const auto unconnected = [&](const char* why) {
        j.to.say({{"problem", "connect: " + std::string(why)}});
    };
    sleep_until(start);
    const int s = with.to_connect();
    if (timed) limit_time(s, static_cast<time_t>(f.connect_for()));
    if (with.connect_to(s) != 0) {
        if (!timed) give_up("connect");
        return unconnected(std::strerror(errno));
    }
    if (arrivals) with.send_at_once(s);
    const double began = now(), until = began + f.seconds;
    double sample = now() + 1;
    if (timed) {  // a write() that waits ends at the end of either
        limit_time(s, 0);
        wake_at(measured > 0 ? measured : until);
    }
    for (;;) {
        const double t = now();
        if (timed ? t >= until : left == 0) break;
        if (measured > 0 && !from.set() && t >= measured) {
            from = mark::of(s);
            trips.forget();
            wake_at(until);
        }
        if (t >= sample) {
            trips.sample(s);
            sample = t + 1;
        }
        if (arrivals && (left += arrivals->until(t - began)) == 0) {
            sleep_until_woken(began + arrivals->next());
            continue;
        }
        // A packet is written by itself, be the process late or not.
        const std::size_t most = arrivals ? f.packet_bytes : sizeof chunk;
        const std::size_t want = limited ? std::min<std::uint64_t>(left, most) : most;
        const ssize_t n = ::write(s, chunk, want);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && timed && errno == ECONNRESET && info_of(s).tcpi_bytes_acked <= 1)
            return unconnected("the other end has none");
        if (n < 0) give_up("write");
        if (limited) left -= static_cast<std::uint64_t>(n);
        written += static_cast<std::uint64_t>(n);
    }
    const auto report = [&] {
        tell_sender(j, s, start, written, trips,
                    from.set() ? nlohmann::json{{"since", from.since(s, f.from, trips)}}
                               : nlohmann::json::object());
    };
    if (timed && !f.whole) {
        report();
        const linger drop = {1, 0};
        ::setsockopt(s, SOL_SOCKET, SO_LINGER, &drop, sizeof drop);
        return;
    }
    ::shutdown(s, SHUT_WR);
    for (ssize_t n = 1; n > 0 || (n < 0 && errno == EINTR);) n = ::read(s, chunk, sizeof chunk);
    report();
}

constexpr end ends[] = {{"receiver", true, true, receive_bulk}, {"sender", false, true, send_bulk}};
const kind bulk("bulk", ends);
const kind transfer("transfer", ends);
const kind telnet("telnet", ends);

}  // namespace
}  // namespace wip::flow
