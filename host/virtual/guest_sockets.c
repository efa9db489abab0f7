// SPDX-License-Identifier: GPL-3.0-or-later
#include "virtual/guest_sockets.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "virtual/guest.h"

enum { first_port = 5001 };

double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void sleep_until(double at) {
    struct timespec t = {(time_t)at, (long)(1e9 * (at - (double)(time_t)at))};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
    }
}

void give_up(int flow, const char* what) {
    tell("{\"flow\": %d, \"failed\": \"%s: %s\"}\n", flow, what, strerror(errno));
    _exit(1);
}

struct sockaddr_in place(int side, int flow) {
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)(first_port + flow)),
                                .sin_addr = addresses[side]};
}

int buffer_bytes, window_bytes;

static int limited(int s) {
    if (s >= 0 && buffer_bytes > 0) {
        setsockopt(s, SOL_SOCKET, SO_SNDBUFFORCE, &buffer_bytes, sizeof buffer_bytes);
        setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &buffer_bytes, sizeof buffer_bytes);
    }
    return s;
}

// Linux (6.12, tcp_measure_rcv_mss) forgets a window when the first segment comes that is longer
// than 536 bytes, and takes what the buffer holds, locked or not.
static int keep_window(int s) {
    if (s >= 0 && window_bytes > 0 && window_of(s) != window_bytes)
        setsockopt(s, IPPROTO_TCP, TCP_WINDOW_CLAMP, &window_bytes, sizeof window_bytes);
    return s;
}

int listening(int side, int flow, int type) {
    struct sockaddr_in a = place(side, flow);
    int s = limited(socket(AF_INET, type, 0)), one = 1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (type == SOCK_STREAM) keep_window(s);  // what comes of it begins with it
    if (s < 0 || bind(s, (struct sockaddr*)&a, sizeof a) || (type == SOCK_STREAM && listen(s, 64)))
        give_up(flow, "listen");
    return s;
}

int window_of(int s) {
    int bytes = 0;
    socklen_t size = sizeof bytes;
    getsockopt(s, IPPROTO_TCP, TCP_WINDOW_CLAMP, &bytes, &size);
    return bytes;
}

int accepted(int listener) { return keep_window(accept(listener, NULL, NULL)); }

static ssize_t taken(int s, size_t most, int flags) {
    const ssize_t n = recv(s, NULL, most, MSG_TRUNC | flags);  // thrown away
    keep_window(s);
    return n;
}

ssize_t take(int s) { return taken(s, 1 << 17, 0); }

ssize_t take_until_woken(int s) { return taken(s, 1 << 30, MSG_WAITALL); }

void limit_time(int s, time_t seconds) {
    struct timeval t = {seconds, 0};
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
}

int to_connect(int flow, const char* control) {
    int s = limited(socket(AF_INET, SOCK_STREAM, 0));
    if (s < 0) give_up(flow, "socket");
    if (setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, control, (socklen_t)strlen(control)))
        give_up(flow, control);
    return s;
}

int connected(int side, int flow, const char* control) {
    struct sockaddr_in a = place(side, flow);
    int s = to_connect(flow, control);
    if (connect(s, (struct sockaddr*)&a, sizeof a)) give_up(flow, "connect");
    return s;
}

static void nothing(int number) { (void)number; }

void wake_at(double at) {
    const struct sigaction on_alarm = {.sa_handler = nothing};
    const double left = at - now();
    const long us = left > 0 ? (long)(1e6 * left) + 1 : 1;
    const struct itimerval t = {{0, 100000}, {us / 1000000, us % 1000000}};
    sigaction(SIGALRM, &on_alarm, NULL);
    if (setitimer(ITIMER_REAL, &t, NULL)) fail("setitimer");
}

void kernel_counts(const char* const* wanted, int n, unsigned long long* counts) {
    static char text[1 << 15];
    // Two lines of the same words: names, values.
    FILE* f = fopen("/proc/self/net/netstat", "r");
    const size_t size = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[size] = 0;
    char *names = strtok(text, "\n"), *values = strtok(NULL, "\n"), *n_at, *v_at;
    if (!names || !values) return;
    for (char *name = strtok_r(names, " ", &n_at), *v = strtok_r(values, " ", &v_at); name && v;
         name = strtok_r(NULL, " ", &n_at), v = strtok_r(NULL, " ", &v_at))
        for (int c = 0; c < n; ++c)
            if (!strcmp(name, wanted[c])) counts[c] = strtoull(v, NULL, 10);
}

void recoveries(unsigned long long of[3]) {
    static const char* const names[] = {"TCPTimeouts", "TCPRenoRecovery", "TCPSackRecovery",
                                        "TCPFullUndo", "TCPPartialUndo",  "TCPDSACKUndo",
                                        "TCPLossUndo"};
    unsigned long long c[sizeof names / sizeof *names] = {0};
    kernel_counts(names, sizeof names / sizeof *names, c);
    of[0] = c[0], of[1] = c[1] + c[2], of[2] = c[3] + c[4] + c[5] + c[6];
}

void note_arrival(char* list, int parts, double at) {
    for (char* end = list + strlen(list); parts > 0; --parts)
        end += sprintf(end, "%s%.4f", end == list ? "" : ", ", at);
}
