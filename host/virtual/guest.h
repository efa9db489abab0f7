// SPDX-License-Identifier: GPL-3.0-or-later
// Between the two halves of the program that runs in a Linux kernel in virtual time.
#pragma once

#include <netinet/in.h>

enum { most_sides = 32, most_words = 512 };
extern int sides;
extern struct in_addr addresses[most_sides];

// Ends the run with this as its result, and errno.
_Noreturn void fail(const char* what);
// A line of the result.
void tell(const char* format, ...) __attribute__((format(printf, 1, 2)));
// A program of the host's (SIDE PROGRAM ARGUMENT...), to its end.
void run_as_flow(char** words, int flow);
// This process, into the network namespace of a side.
void enter(int side);

// A line of the plan: how many ends it has started of which each tells one thing; 0: it is no flow.
int add_flow(char** words, int n);
