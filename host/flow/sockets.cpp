// SPDX-License-Identifier: GPL-3.0-or-later
#include "flow/sockets.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>

#include "flow/tell.h"
#include "types/failure.h"
#include "types/not_valid.h"

namespace wip::flow {
namespace {

constexpr const char* control_of_both_ends = "dctcp";
constexpr int usual_read = 1 << 17, long_read = 1 << 30;  // bytes
constexpr int backlog = 64;                               // connections that wait to be accepted
constexpr long again_us = 100000;

volatile std::sig_atomic_t end_asked = 0;

void ignore_signal(int /*signal*/) {}

void note_end(int /*signal*/) {
    end_asked = 1;
    // The signal is sent again in a second, in case this one has come just before a call that
    // waits.
    ::alarm(1);
}

void handle(int signal, void (*handler)(int)) {
    struct sigaction action = {};
    action.sa_handler = handler;
    ::sigaction(signal, &action, nullptr);
}

int sleep(double until) {
    const auto whole = static_cast<time_t>(until);
    const timespec t = {whole, static_cast<long>(1e9 * (until - static_cast<double>(whole)))};
    return ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
}

// With the right to administer the network the buffer may be longer than net.core says.
void set_buffer(int s, int forced, int usual, int bytes) {
    if (::setsockopt(s, SOL_SOCKET, forced, &bytes, sizeof bytes) != 0)
        ::setsockopt(s, SOL_SOCKET, usual, &bytes, sizeof bytes);
}

}  // namespace

double now() {
    timespec t = {};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void sleep_until_woken(double at) { sleep(at); }

void sleep_until(double at) {
    while (sleep(at) == EINTR) {
    }
}

struct sockaddr_in place(const plan& p, int side, int flow) {
    const std::string& text = p.sides.at(static_cast<std::size_t>(side));
    struct sockaddr_in a = {};
    a.sin_family = AF_INET;
    a.sin_port = htons(static_cast<std::uint16_t>(p.port + flow));
    if (::inet_pton(AF_INET, text.substr(0, text.find('/')).c_str(), &a.sin_addr) != 1)
        throw bad_input(
            not_valid("sides[" + std::to_string(side) + "] (address of a host of the plan)", text,
                      "an IPv4 address"));
    return a;
}

int sockets::with_buffers(int s) const {
    if (s >= 0 && flow_.buffer_kb > 0 && flow_.kind != "compare") {
        const int bytes = 1024 * flow_.buffer_kb;
        set_send_buffer(s, bytes);
        set_buffer(s, SO_RCVBUFFORCE, SO_RCVBUF, bytes);
    }
    return s;
}

void sockets::set_send_buffer(int s, int bytes) const {
    set_buffer(s, SO_SNDBUFFORCE, SO_SNDBUF, bytes);
}

// Linux (6.12, tcp_measure_rcv_mss) forgets a window when the first segment comes that is longer
// than 536 bytes, and takes what the buffer holds, locked or not.
int sockets::with_window(int s) const {
    const int wanted = plan_.window_bytes;
    if (s >= 0 && wanted > 0 && window_of(s) != wanted)
        ::setsockopt(s, IPPROTO_TCP, TCP_WINDOW_CLAMP, &wanted, sizeof wanted);
    return s;
}

int sockets::listening(int type) const {
    const struct sockaddr_in a = place(plan_, flow_.to, flow_.number);
    const int s = with_buffers(::socket(AF_INET, type, 0));
    const int one = 1;
    ::setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (type == SOCK_STREAM) with_window(s);  // connections that it accepts begin with this window
    // DCTCP asks for ECN with a SYN that has ECT(0) itself. Linux grants that only where the
    // listener has DCTCP, too, and the receiver's acknowledgements are DCTCP's then.
    if (type == SOCK_STREAM && flow_.congestion_control == control_of_both_ends) with_control(s);
    if (s < 0 || ::bind(s, reinterpret_cast<const sockaddr*>(&a), sizeof a) != 0 ||
        (type == SOCK_STREAM && ::listen(s, backlog) != 0))
        give_up("listen");
    return s;
}

int window_of(int s) {
    int bytes = 0;
    socklen_t size = sizeof bytes;
    ::getsockopt(s, IPPROTO_TCP, TCP_WINDOW_CLAMP, &bytes, &size);
    return bytes;
}

int sockets::accept_one(int listener) const {
    return with_window(::accept(listener, nullptr, nullptr));
}

ssize_t sockets::taken(int s, std::size_t most, int flags) const {
    const ssize_t n = ::recv(s, nullptr, most, MSG_TRUNC | flags);  // the data are discarded
    with_window(s);
    return n;
}

ssize_t sockets::take(int s) const { return taken(s, usual_read, 0); }

ssize_t sockets::take_until_woken(int s) const { return taken(s, long_read, MSG_WAITALL); }

int sockets::with_control(int s) const {
    const std::string& control = flow_.congestion_control;
    if (!control.empty() && ::setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, control.data(),
                                         static_cast<socklen_t>(control.size())) != 0)
        give_up(control);
    return s;
}

int sockets::listening_to_send() const { return with_control(listening(SOCK_STREAM)); }

int sockets::to_connect() const {
    const int s = with_buffers(::socket(AF_INET, SOCK_STREAM, 0));
    if (s < 0) give_up("socket");
    return with_control(s);
}

void sockets::send_at_once(int s) const {
    const int one = 1;
    ::setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

int sockets::connect_to(int s) const {
    const struct sockaddr_in a = place(plan_, flow_.to, flow_.number);
    return ::connect(s, reinterpret_cast<const sockaddr*>(&a), sizeof a);
}

int sockets::connected() const {
    const int s = to_connect();
    if (connect_to(s) != 0) give_up("connect");
    return s;
}

void limit_time(int s, time_t seconds) {
    const timeval t = {seconds, 0};
    ::setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
    ::setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
}

void wake_at(double at) {
    const double left = at - now();
    const long us = left > 0 ? static_cast<long>(1e6 * left) + 1 : 1;
    const itimerval t = {{0, again_us}, {us / 1000000, us % 1000000}};
    handle(SIGALRM, ignore_signal);
    if (::setitimer(ITIMER_REAL, &t, nullptr) != 0) give_up("setitimer");
}

void wake_when_asked_to_end() {
    handle(SIGALRM, ignore_signal);
    handle(SIGTERM, note_end);
}

bool asked_to_end() { return end_asked != 0; }

}  // namespace wip::flow
