// SPDX-License-Identifier: GPL-3.0-or-later
// sessions: file transfers one after the other, on a connection each. A session lasts from the
// sender's connect() until the receiver has the acknowledgement of its own FIN, which its close()
// waits for: 2.5 round trips for a single segment.
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "flow/kinds.h"

namespace wip::flow {
namespace {

constexpr int session_s = 120;  // seconds that a step of a file transfer may take
constexpr std::size_t block_bytes = 65536;
constexpr long sample_ns = 20'000'000;

struct sampled {
    int s;
    round_trips& trips;
};

// The sampling thread beside the transfer, which waits in write() and read().
void* sample_session(void* given) {
    const sampled& sampling = *static_cast<sampled*>(given);
    const timespec step = {0, sample_ns};
    for (;;) {
        sampling.trips.sample(sampling.s);
        ::nanosleep(&step, nullptr);  // a cancellation point of the thread
    }
    return nullptr;
}

struct session {
    double began, connected;
    tcp_info info;
    round_trips trips;
};

session send_file(const job& j, std::uint64_t size) {
    static char block[block_bytes];
    session done = {};
    const int s = j.with().to_connect();
    limit_time(s, session_s);
    done.began = now();
    if (j.with().connect_to(s) != 0) give_up("connect");
    done.connected = now();
    sampled sampled_socket{s, done.trips};
    pthread_t sampling = {};
    if (::pthread_create(&sampling, nullptr, sample_session, &sampled_socket) != 0)
        give_up("thread");
    for (std::uint64_t left = size; left > 0;) {
        const ssize_t n = ::write(s, block, std::min<std::uint64_t>(left, sizeof block));
        if (n < 0) give_up("write");
        left -= static_cast<std::uint64_t>(n);
    }
    ::shutdown(s, SHUT_WR);
    while (::read(s, block, sizeof block) > 0) {
    }
    ::pthread_cancel(sampling);
    ::pthread_join(sampling, nullptr);
    if (done.trips.samples() == 0) done.trips.sample(s);
    done.info = info_of(s);
    ::close(s);
    return done;
}

void tell_session(const job& j, std::uint64_t size, const session& done, const recoveries& before,
                  const recoveries& after) {
    const round_trips& trips = done.trips;
    nlohmann::json found{{"bytes", size},
                         {"began", rounded(done.began, 9)},
                         {"connected", rounded(done.connected, 9)},
                         {"retransmits", done.info.tcpi_total_retrans},
                         {"segments", done.info.tcpi_segs_out},
                         {"rtt_ms", rounded(trips.mean_ms(), 3)},
                         {"window", rounded(trips.mean_window(), 5)},
                         {"window_most", rounded(trips.widest(), 5)},
                         {"window_variance", rounded(trips.window_variance(), 5)},
                         {"timeouts", after.timeouts - before.timeouts},
                         {"fast_retransmits", after.fast - before.fast},
                         {"undone", after.undone - before.undone}};
    const double first_resent_s = trips.first_again() > 0 ? trips.first_again() : now();
    if (done.info.tcpi_total_retrans > 0)
        found["first_retransmission_s"] = rounded(first_resent_s - done.began, 9);
    j.to.say_part({{"sessions", {found}}});
}

void receive_file(const job& j, int listener, std::uint64_t size) {
    const sockets with = j.with();
    const linger wait = {1, session_s};  // close() ends with the peer's ACK of the FIN
    const int s = with.accept_one(listener);
    std::uint64_t bytes = 0;
    double last = 0;
    auto arrived = nlohmann::json::array();
    for (ssize_t n = 0; (n = with.take(s)) > 0;) {
        const std::uint64_t part = bytes * arrival_parts / size;
        bytes += static_cast<std::uint64_t>(n);
        std::uint64_t parts = bytes * arrival_parts / size - part;
        if (parts > 0) last = now();
        for (; parts > 0; --parts) arrived.push_back(rounded(last, 4));
    }
    ::setsockopt(s, SOL_SOCKET, SO_LINGER, &wait, sizeof wait);
    const int window = window_of(s);
    ::close(s);
    j.to.say_part({{"windows", {window}},
                   {"sessions",
                    {{{"bytes", bytes},
                      {"last_byte", rounded(last, 9)},
                      {"closed", rounded(now(), 9)},
                      {"arrived", arrived}}}}});
}

void send_sessions(const job& j) {
    sleep_until(j.start());
    recoveries before = recoveries_now();
    for (const file_set& file : j.f.files)
        for (int i = 0; i < file.times; ++i) {
            const session done = send_file(j, file.bytes);
            const recoveries after = recoveries_now();
            tell_session(j, file.bytes, done, before, after);
            before = after;
        }
    j.to.say({{"congestion_control", j.f.congestion_control}});
}

void receive_sessions(const job& j) {
    const int l = j.with().listening(SOCK_STREAM);
    j.listening();
    for (const file_set& file : j.f.files)
        for (int i = 0; i < file.times; ++i) receive_file(j, l, file.bytes);
    j.to.say(nlohmann::json::object());
}

constexpr end ends[] = {{"receiver", true, true, receive_sessions},
                        {"sender", false, true, send_sessions}};
const kind of_files("sessions", ends);

}  // namespace
}  // namespace wip::flow
