// SPDX-License-Identifier: GPL-3.0-or-later
// When an application has something to send, and how much: numbers that follow from the seed of
// the flow alone, so that the ends of a flow in Linux and in ns-3 have the same traffic.
#pragma once

#include <cstdint>

#include "flow/plan.h"
#include "types/splitmix64.h"

namespace wip::flow {

class draws {
public:
    explicit draws(std::uint64_t seed) : numbers_(seed) {}

    double exponential(double mean);
    // Whole and at least 1; the variable that is rounded has the least value `least`.
    std::uint64_t pareto(double shape, double least);

private:
    splitmix64 numbers_;

    double uniform();  // in (0, 1]
};

// telnet: packets of `bytes` that arrive as a Poisson process.
class packet_arrivals {
public:
    explicit packet_arrivals(const flow& f);

    // The bytes of the packets that arrived between the time of the last call and `seconds` after
    // the start.
    std::uint64_t until(double seconds);
    // When the next packet arrives, seconds after the start.
    double next() const { return next_; }

private:
    draws draws_;
    double mean_, next_;
    std::uint64_t bytes_;
};

// http: the pages that a user asks for, in the order in which they are asked for.
class page_arrivals {
public:
    explicit page_arrivals(const flow& f);

    struct object {
        double after_s;       // seconds since the page's previous request; 0 for its first
        std::uint64_t bytes;  // bytes of the response
    };
    struct page {
        double pause_s;  // seconds since the page before was complete
        bool first;      // it is the first page of a visit, which has a connection of its own
        std::vector<object> objects;
    };
    page next();

private:
    const flow& flow_;
    draws draws_;
    int page_ = 0;  // number of the page in its visit
    double least_packets_;
};

}  // namespace wip::flow
