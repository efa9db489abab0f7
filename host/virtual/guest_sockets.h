// SPDX-License-Identifier: GPL-3.0-or-later
// Clock and sockets of the ends of the flows of guest_flows.c. What fails ends the process, and is
// told as the flow's result.
#pragma once

#include <netinet/in.h>
#include <sys/types.h>
#include <time.h>

extern int buffer_bytes;  // of this process's sockets; 0: the kernel's own
extern int window_bytes;  // that its receivers keep; 0: the kernel's own

double now(void);  // s
void sleep_until(double at);

_Noreturn void give_up(int flow, const char* what);
struct sockaddr_in place(int side, int flow);
int listening(int side, int flow, int type);
// accepted() accepts a connection; take() takes the data that has arrived on it and throws it away.
// Both keep its window at window_bytes, if that is set.
int accepted(int listener);
ssize_t take(int s);
// The same of all that comes until a signal, in one call: the sum.
ssize_t take_until_woken(int s);
int window_of(int s);
int to_connect(int flow, const char* control);
int connected(int side, int flow, const char* control);
// No read and no write of it takes longer.
void limit_time(int s, time_t seconds);
// From then on no call waits: it ends with EINTR. Now and then again, should it come between two.
void wake_at(double at);
// Reads the kernel's TCP counters in this namespace; a name that the kernel does not have keeps its
// value.
void kernel_counts(const char* const* names, int n, unsigned long long* counts);
// How often its senders have had to recover: timeouts, recoveries from duplicate ACKs, and how many
// of both were taken back.
void recoveries(unsigned long long of[3]);
// Adds to a list of numbers, so often: so many parts of a file had come at this time, too.
void note_arrival(char* list, int parts, double at);
