// SPDX-License-Identifier: GPL-3.0-or-later
// Traffic of guest.c: each end of a flow, a process in its side's namespace, says a line of JSON.
#include <errno.h>
#include <linux/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "virtual/guest.h"
#include "virtual/guest_sockets.h"

enum {
    most_seconds = 4000,
    connect_s = 6,          // a link that takes longer is too bad for a test
    session_s = 120,        // for a step of a file transfer
    session_block = 65536,  // of a write()
    session_sample_ns = 20000000,
    arrival_parts = 50  // of a file, of which the receiver tells when they were there
};
static int flows, my_side;  // the side of this process
static char chunk[1 << 17];

static struct {
    double sum, longest, window, squares, widest, first_again;
    int n;
} round_trips;  // ms, sampled once a second, of a file transfer more often; send window, segments

static struct tcp_info info_of(int s) {
    struct tcp_info i = {0};
    socklen_t size = sizeof i;
    getsockopt(s, IPPROTO_TCP, TCP_INFO, &i, &size);
    return i;
}

static void sample_round_trip(int s) {
    const struct tcp_info i = info_of(s);
    const double ms = i.tcpi_rtt * 1e-3;
    const double offered = (double)i.tcpi_snd_wnd / (i.tcpi_snd_mss ? i.tcpi_snd_mss : 1);
    const double window = i.tcpi_snd_cwnd < offered ? i.tcpi_snd_cwnd : offered;
    if (i.tcpi_total_retrans > 0 && round_trips.first_again == 0) round_trips.first_again = now();
    round_trips.window += window;
    round_trips.squares += window * window;
    if (window > round_trips.widest) round_trips.widest = window;
    round_trips.sum += ms;
    if (ms > round_trips.longest) round_trips.longest = ms;
    ++round_trips.n;
}

// The kernel's TCP counters of this namespace.
static const char* const counters[] = {"TCPTimeouts",   "TCPSpuriousRTOs", "TCPLossUndo",
                                       "TCPFullUndo",   "TCPDSACKUndo",    "TCPDSACKRecv",
                                       "TCPLossProbes", "TCPFastRetrans"};
enum { most_counters = sizeof counters / sizeof *counters };

// How far a sender was at some time.
struct mark {
    double at;
    unsigned long long acked, sent, again, counts[most_counters];
};

static struct mark mark_now(int s) {
    const struct tcp_info i = info_of(s);
    struct mark m = {now(), i.tcpi_bytes_acked, i.tcpi_bytes_sent, i.tcpi_bytes_retrans, {0}};
    kernel_counts(counters, most_counters, m.counts);
    return m;
}

// From a mark until now, and of the round trips sampled in between. The kernel's counters are those
// of the whole side: what sends beside this flow there tells the same.
static void say_since(const struct mark* from, int s, char* text, size_t size) {
    const struct mark m = mark_now(s);
    size_t at = (size_t)snprintf(
        text, size,
        ", \"since\": {\"side\": %d, \"seconds\": %.9f, \"bytes_acked\": "
        "%llu, \"bytes_sent\": %llu, \"bytes_retransmitted\": %llu, "
        "\"rtt_ms\": %.3f, \"window_most\": %.5f",
        my_side, m.at - from->at, m.acked - from->acked, m.sent - from->sent, m.again - from->again,
        round_trips.n ? round_trips.sum / round_trips.n : 0, round_trips.widest);
    for (int c = 0; c < most_counters && at < size; ++c)
        at += (size_t)snprintf(text + at, size - at, ", \"%s\": %llu", counters[c],
                               m.counts[c] - from->counts[c]);
    if (at < size) snprintf(text + at, size - at, "}");
}

static void tell_sender(int flow, int s, double began, unsigned long long written,
                        const struct mark* from) {
    char since[1024] = "";
    if (from->at > 0) say_since(from, s, since, sizeof since);
    struct tcp_info i = info_of(s);
    char control[16] = "";
    socklen_t length = sizeof control - 1;
    getsockopt(s, IPPROTO_TCP, TCP_CONGESTION, control, &length);
    if (round_trips.n == 0) sample_round_trip(s);
    tell(
        "{\"flow\": %d, \"end\": \"sender\", \"began\": %.9f, \"congestion_control\": \"%s\", "
        "\"bytes\": %llu, \"mss\": %u, \"segments_sent\": %u, \"retransmits\": %u, "
        "\"bytes_acked\": %llu, \"bytes_retransmitted\": %llu, \"rtt_ms\": {\"min\": %.3f, "
        "\"mean\": %.3f, \"max\": %.3f}, \"window_kb\": %d, \"congestion_window\": %u, "
        "\"reordering\": "
        "%u%s}\n",
        flow, began, control, written, i.tcpi_snd_mss, i.tcpi_segs_out, i.tcpi_total_retrans,
        (unsigned long long)i.tcpi_bytes_acked, (unsigned long long)i.tcpi_bytes_retrans,
        i.tcpi_min_rtt * 1e-3, round_trips.sum / round_trips.n, round_trips.longest,
        buffer_bytes / 1024, i.tcpi_snd_cwnd, i.tcpi_reordering, since);
}

// The time for which a connection is tried; if counts begin at `measured`, until then.
static double connect_for(double start, double measured) {
    return measured > start + connect_s ? measured - start : connect_s;
}

// Until the peer has closed, or for so many seconds: bytes, first arrival and end, bytes in each
// second of the flow. The clock is read once a second: a read of it costs as much as one of data.
static void receive_bulk(int side, int flow, double start, double seconds, double measured) {
    static unsigned long long by_second[most_seconds];
    unsigned long long bytes = 0, counted = 0, first_bytes = 0;
    double first = 0, began = 0, until = start + connect_for(start, measured) + 1, t = 0;
    int l = listening(side, flow, SOCK_STREAM), used = 0;
    if (seconds > 0) wake_at(until);
    int s = accepted(l);
    began = now();
    if (s >= 0) until = seconds > 0 ? began + seconds : 1e9;
    errno = EINTR;
    for (ssize_t n = -1; s >= 0; n = bytes ? take_until_woken(s) : take(s)) {
        if (n == 0 || (n < 0 && errno != EINTR)) break;
        if (n > 0 && bytes == 0) first = now(), first_bytes = (unsigned long long)n;
        if (n > 0) bytes += (unsigned long long)n;
        t = now();
        if (t >= until) break;
        for (; used < most_seconds && t >= start + used + 1; ++used)
            by_second[used] = bytes - counted, counted = bytes;
        wake_at(until < start + used + 1 ? until : start + used + 1);
    }
    if (used < most_seconds && bytes > counted) by_second[used++] = bytes - counted;
    char list[3072] = "";
    size_t at = 0;
    for (int i = 0; i < used && at + 24 < sizeof list; ++i)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%llu", i ? ", " : "", by_second[i]);
    tell(
        "{\"flow\": %d, \"end\": \"receiver\", \"bytes\": %llu, \"began\": %.9f, \"first\": %.9f, "
        "\"first_bytes\": %llu, \"last\": %.9f, \"windows\": [%d], \"bytes_by_second\": [%s]}\n",
        flow, bytes, began, first, first_bytes, seconds > 0 ? until : now(), window_of(s), list);
}

static void tell_unconnected(int flow, const char* why) {
    tell("{\"flow\": %d, \"end\": \"sender\", \"problem\": \"connect: %s\"}\n", flow, why);
}

// `seconds` > 0: as much as goes in so many from the connection on, and what is not sent is
// dropped; a link too bad to connect over is told, also if the other end alone had no connection
// and resets. Else so many bytes, and an orderly end. `measured` > 0: counts from then on, besides.
static void send_bulk(int to, int flow, double start, double seconds, long long bytes,
                      const char* control, double measured) {
    struct mark from = {0};
    const struct sockaddr_in a = place(to, flow);
    unsigned long long written = 0;
    sleep_until(start);
    int s = to_connect(flow, control);
    if (seconds > 0) limit_time(s, (time_t)connect_for(start, measured));
    if (connect(s, (const struct sockaddr*)&a, sizeof a)) {
        if (seconds <= 0) give_up(flow, "connect");
        return tell_unconnected(flow, strerror(errno));
    }
    const double until = now() + seconds;
    double sample = now() + 1;
    // A write() that waits ends at either.
    if (seconds > 0) limit_time(s, 0), wake_at(measured > 0 ? measured : until);
    for (;;) {
        const double t = now();
        if (seconds > 0 ? t >= until : bytes <= 0) break;
        if (measured > 0 && from.at == 0 && t >= measured) {
            from = mark_now(s);
            memset(&round_trips, 0, sizeof round_trips);
            wake_at(until);
        }
        if (t >= sample) sample_round_trip(s), sample = t + 1;
        size_t want =
            seconds <= 0 && bytes < (long long)sizeof chunk ? (size_t)bytes : sizeof chunk;
        ssize_t n = write(s, chunk, want);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && seconds > 0 && errno == ECONNRESET && info_of(s).tcpi_bytes_acked <= 1)
            return tell_unconnected(flow, "the other end has none");
        if (n < 0) give_up(flow, "write");
        bytes -= n;
        written += (unsigned long long)n;
    }
    if (seconds > 0) {
        tell_sender(flow, s, start, written, &from);
        struct linger drop = {1, 0};
        setsockopt(s, SOL_SOCKET, SO_LINGER, &drop, sizeof drop);
        return;
    }
    shutdown(s, SHUT_WR);
    while (read(s, chunk, sizeof chunk) > 0) {
    }
    tell_sender(flow, s, start, written, &from);
}

// Beside the transfer, which waits in write() and read().
static void* sample_session(void* s) {
    const struct timespec step = {0, session_sample_ns};
    for (;;) {
        sample_round_trip(*(int*)s);
        nanosleep(&step, NULL);  // where the thread is cancelled
    }
    return NULL;
}

// File transfers one after the other, on a connection each: BYTES TIMES ...; of each when it began,
// was connected, was over.
static void send_sessions(int to, int flow, double start, const char* control, char** sizes,
                          int n) {
    const struct sockaddr_in a = place(to, flow);
    unsigned long long before[3] = {0}, after[3];
    sleep_until(start);
    for (int i = 0; i + 1 < n; i += 2) {
        for (int times = atoi(sizes[i + 1]); times > 0; --times) {
            int s = to_connect(flow, control);
            limit_time(s, session_s);
            const double began = now();
            if (connect(s, (const struct sockaddr*)&a, sizeof a)) give_up(flow, "connect");
            const double there = now();
            memset(&round_trips, 0, sizeof round_trips);
            pthread_t sampling;
            if (pthread_create(&sampling, NULL, sample_session, &s)) give_up(flow, "thread");
            for (long long left = atoll(sizes[i]); left > 0;) {
                ssize_t m = write(s, chunk, left < session_block ? (size_t)left : session_block);
                if (m < 0) give_up(flow, "write");
                left -= m;
            }
            shutdown(s, SHUT_WR);
            while (read(s, chunk, sizeof chunk) > 0) {
            }
            pthread_cancel(sampling);
            pthread_join(sampling, NULL);
            if (round_trips.n == 0) sample_round_trip(s);
            const struct tcp_info info = info_of(s);
            close(s);
            char first[64] = "";
            const double at = round_trips.first_again > 0 ? round_trips.first_again : now();
            if (info.tcpi_total_retrans > 0)
                snprintf(first, sizeof first, ", \"first_retransmission_s\": %.9f", at - began);
            const double window = round_trips.window / round_trips.n;
            recoveries(after);
            tell(
                "{\"part\": 1, \"flow\": %d, \"end\": \"sender\", \"sessions\": [{\"bytes\": %lld, "
                "\"began\": %.9f, \"connected\": %.9f, \"retransmits\": %u, \"segments\": %u, "
                "\"rtt_ms\": %.3f, \"window\": %.5f, \"window_most\": %.5f, \"window_variance\": "
                "%.5f, \"timeouts\": %llu, \"fast_retransmits\": %llu, \"undone\": %llu%s}]}\n",
                flow, atoll(sizes[i]), began, there, info.tcpi_total_retrans, info.tcpi_segs_out,
                round_trips.sum / round_trips.n, window, round_trips.widest,
                round_trips.squares / round_trips.n - window * window, after[0] - before[0],
                after[1] - before[1], after[2] - before[2], first);
            memcpy(before, after, sizeof before);
        }
    }
    tell("{\"flow\": %d, \"end\": \"sender\", \"congestion_control\": \"%s\"}\n", flow, control);
}

static void receive_sessions(int side, int flow, char** sizes, int n) {
    int l = listening(side, flow, SOCK_STREAM);
    const struct linger wait = {1, session_s};  // close() ends with the peer's ACK of the FIN
    for (int i = 0; i + 1 < n; i += 2) {
        for (int times = atoi(sizes[i + 1]); times > 0; --times) {
            int s = accepted(l);
            const long long size = atoll(sizes[i]);
            long long bytes = 0;
            double last = 0;
            char arrived[16 * arrival_parts] = "";
            for (ssize_t m; (m = take(s)) > 0;) {
                const long long part = bytes * arrival_parts / size;
                if ((bytes += m) * arrival_parts / size > part)
                    note_arrival(arrived, (int)(bytes * arrival_parts / size - part), last = now());
            }
            setsockopt(s, SOL_SOCKET, SO_LINGER, &wait, sizeof wait);
            const int window = window_of(s);
            close(s);
            tell(
                "{\"part\": 1, \"flow\": %d, \"end\": \"receiver\", \"windows\": [%d], "
                "\"sessions\": [{\"bytes\": %lld, \"last_byte\": %.9f, \"closed\": %.9f, "
                "\"arrived\": [%s]}]}\n",
                flow, window, bytes, last, now(), arrived);
        }
    }
    tell("{\"flow\": %d, \"end\": \"receiver\"}\n", flow);
}

// The same bytes at both ends, of a seed.
static void fill_data(unsigned char* data, long long bytes, uint64_t seed) {
    uint64_t x = seed * 0x9E3779B97F4A7C15U + 0x2545F4914F6CDD1DU;
    for (long long i = 0; i < bytes; ++i) {
        if (i % 8 == 0) x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        data[i] = (unsigned char)(x >> (8 * (i % 8)));
    }
}

// A transfer of known bytes, given up at a time: what is there of them, and what of that is wrong.
static void receive_compared(int side, int flow, double until, long long size, uint64_t seed) {
    unsigned char *wanted = malloc((size_t)size), *got = malloc((size_t)size);
    long long bytes = 0, bytes_wrong = 0, bits_wrong = 0;
    fill_data(wanted, size, seed);
    int l = listening(side, flow, SOCK_STREAM);
    wake_at(until);
    int s = accept(l, NULL, NULL);
    const double began = now();
    while (s >= 0 && bytes < size) {
        const ssize_t n = read(s, got + bytes, (size_t)(size - bytes));
        if (n <= 0) break;
        bytes += n;
    }
    const double last = now();
    for (long long i = 0; i < bytes; ++i) {
        bytes_wrong += got[i] != wanted[i];
        bits_wrong += __builtin_popcount((unsigned)(got[i] ^ wanted[i]));
    }
    tell(
        "{\"flow\": %d, \"end\": \"receiver\", \"bytes\": %lld, \"began\": %.9f, \"last\": %.9f, "
        "\"bytes_wrong\": %lld, \"bits_wrong\": %lld}\n",
        flow, bytes, began, last, bytes_wrong, bits_wrong);
}

static void send_compared(int to, int flow, double start, double until, long long size,
                          uint64_t seed, const char* control, int buffer) {
    const struct sockaddr_in a = place(to, flow);
    unsigned char* data = malloc((size_t)size);
    long long at = 0;
    fill_data(data, size, seed);
    sleep_until(start);
    int s = to_connect(flow, control);
    if (buffer > 0) setsockopt(s, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer);
    wake_at(until);
    if (connect(s, (const struct sockaddr*)&a, sizeof a) == 0) {
        for (ssize_t n = 1; n > 0 && at<size; at += n> 0 ? n : 0)
            n = write(s, data + at, (size_t)(size - at));
        shutdown(s, SHUT_WR);
        if (at == size) (void)!read(s, data, 1);  // until the other end has ended
    }
    tell_sender(flow, s, start, (unsigned long long)at, &(struct mark){0});
}

static void serve_pages(int side, int flow, long request, long response) {
    int l = listening(side, flow, SOCK_STREAM);
    for (;;) {
        int s = accept(l, NULL, NULL);
        long left = request;
        ssize_t n;
        while (left > 0 && (n = read(s, chunk, sizeof chunk)) > 0) left -= n;
        for (left = response; left > 0; left -= n) {
            n = write(s, chunk, left < (long)sizeof chunk ? (size_t)left : sizeof chunk);
            if (n <= 0) break;
        }
        close(s);
    }
}

static void ask_pages(int to, int flow, double start, double until, long request, long response,
                      double think, const char* control) {
    double sum = 0, longest = 0;
    int done = 0, broken = 0;
    for (double at = start; at < until; at = now() + think) {
        sleep_until(at);
        int s = connected(to, flow, control);
        long got = 0;
        ssize_t n;
        if (write(s, chunk, (size_t)request) != request) give_up(flow, "request");
        while ((n = read(s, chunk, sizeof chunk)) > 0) got += n;
        close(s);
        double took = now() - at;
        if (got != response) {
            ++broken;
            continue;
        }
        ++done;
        sum += took;
        if (took > longest) longest = took;
    }
    tell(
        "{\"flow\": %d, \"end\": \"client\", \"pages\": %d, \"broken\": %d, \"mean_s\": %.9f, "
        "\"longest_s\": %.9f}\n",
        flow, done, broken, done ? sum / done : 0, longest);
}

struct spoken {  // the head of a packet of speech
    double sent;
    int number;
};

// Number and delay (us) of every packet, in the order of arrival.
static void listen_voip(int side, int flow, double until) {
    int s = listening(side, flow, SOCK_DGRAM), received = 0;
    char list[3072];
    size_t at = 0;
    wake_at(until);
    for (;;) {
        struct spoken p;
        const ssize_t size = recv(s, chunk, sizeof chunk, 0);
        const double t = now();
        const int over = t >= until;
        if (!over && size >= (ssize_t)sizeof p) {
            memcpy(&p, chunk, sizeof p);
            at += (size_t)snprintf(list + at, sizeof list - at, "%s[%d, %.0f]", at ? ", " : "",
                                   p.number, 1e6 * (t - p.sent));
            ++received;
        }
        if (at > 0 && (over || at + 64 > sizeof list)) {
            tell("{\"part\": 1, \"flow\": %d, \"end\": \"receiver\", \"arrived\": [%s]}\n", flow,
                 list);
            at = 0;
        }
        if (over) break;
    }
    tell("{\"flow\": %d, \"end\": \"receiver\", \"received\": %d}\n", flow, received);
}

static void talk_voip(int to, int flow, double start, double until, double interval, long bytes) {
    const struct sockaddr_in a = place(to, flow);
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    struct spoken p = {0, 0};
    if (s < 0 || connect(s, (const struct sockaddr*)&a, sizeof a)) give_up(flow, "socket");
    for (double at = start; at < until; at = start + ++p.number * interval) {
        sleep_until(at);
        p.sent = now();
        memcpy(chunk, &p, sizeof p);
        if (send(s, chunk, (size_t)bytes, 0) < 0 && errno != ECONNREFUSED) give_up(flow, "send");
    }
    tell("{\"flow\": %d, \"end\": \"sender\", \"sent\": %d}\n", flow, p.number);
}

static int starts(int side) {  // true in the new process
    pid_t pid = fork();
    if (pid < 0) fail("fork");
    if (pid == 0) my_side = side, enter(side);
    return pid == 0;
}

int add_flow(char** w, int n) {
    if (n >= 4 && !strcmp(w[0], "program")) {
        const int flow = flows++;
        if (atoi(w[1]) < 0 || atoi(w[1]) >= sides) errno = EINVAL, fail("program");
        const pid_t pid = fork();
        if (pid < 0) fail("fork");
        if (pid) return 1;
        sleep_until(atof(w[2]));
        w[2] = w[1];
        run_as_flow(w + 2, flow);
        exit(0);
    }
    if (n < 6) return 0;
    const int from = atoi(w[1]), to = atoi(w[2]), flow = flows++;
    if (from < 0 || to < 0 || from >= sides || to >= sides) errno = EINVAL, fail("flow");
    const double start = atof(w[3]), length = atof(w[4]);
    const double drained = 2;  // for the last packets
    buffer_bytes = 0;
    if (!strcmp(w[0], "bulk")) {
        if (n >= 7) buffer_bytes = 1024 * atoi(w[6]);
        const double measured = n >= 8 ? start + atof(w[7]) : 0;
        if (starts(to)) receive_bulk(to, flow, start, length, measured), exit(0);
        if (starts(from)) send_bulk(to, flow, start, length, 0, w[5], measured), exit(0);
        return 2;
    }
    if (!strcmp(w[0], "transfer")) {
        if (n >= 7) buffer_bytes = 1024 * atoi(w[6]);
        if (starts(to)) receive_bulk(to, flow, start, 0, 0), exit(0);
        if (starts(from)) send_bulk(to, flow, start, 0, atoll(w[4]), w[5], 0), exit(0);
        return 2;
    }
    if (!strcmp(w[0], "sessions") && n >= 7) {
        if (starts(to)) receive_sessions(to, flow, w + 5, n - 5), exit(0);
        if (starts(from)) send_sessions(to, flow, start, w[4], w + 5, n - 5), exit(0);
        return 2;
    }
    if (!strcmp(w[0], "compare") && n >= 9) {
        const double until = start + atof(w[7]);
        const uint64_t seed = strtoull(w[8], NULL, 10);
        if (starts(to)) receive_compared(to, flow, until, atoll(w[4]), seed), exit(0);
        if (starts(from))
            send_compared(to, flow, start, until, atoll(w[4]), seed, w[5], 1024 * atoi(w[6])),
                exit(0);
        return 2;
    }
    if (!strcmp(w[0], "pages") && n >= 9) {
        if (starts(to)) serve_pages(to, flow, atol(w[5]), atol(w[6])), exit(0);
        if (starts(from))
            ask_pages(to, flow, start, start + length, atol(w[5]), atol(w[6]), atof(w[7]), w[8]),
                exit(0);
        return 1;
    }
    if (!strcmp(w[0], "voip") && n >= 7) {
        if (starts(to)) listen_voip(to, flow, start + length + drained), exit(0);
        if (starts(from))
            talk_voip(to, flow, start, start + length, atof(w[5]), atol(w[6])), exit(0);
        return 2;
    }
    return 0;
}
