// SPDX-License-Identifier: GPL-3.0-or-later
#include "flow/arrivals.h"

#include <algorithm>
#include <cmath>

namespace wip::flow {
namespace {

constexpr double most_packets = 1e6;  // packets of an object at most: more than any flow carries

}  // namespace

double draws::uniform() {
    constexpr int bits = 53;  // bits of the fraction of a double
    return std::ldexp(static_cast<double>((numbers_.next() >> (64 - bits)) + 1), -bits);
}

double draws::exponential(double mean) { return -mean * std::log(uniform()); }

std::uint64_t draws::pareto(double shape, double least) {
    const double packets = least * std::pow(uniform(), -1 / shape);
    return static_cast<std::uint64_t>(std::llround(std::clamp(packets, 1.0, most_packets)));
}

packet_arrivals::packet_arrivals(const flow& f)
    : draws_(f.seed),
      mean_(1 / f.packets_per_s),
      next_(draws_.exponential(mean_)),
      bytes_(f.packet_bytes) {}

std::uint64_t packet_arrivals::until(double seconds) {
    std::uint64_t found = 0;
    for (; next_ <= seconds; next_ += draws_.exponential(mean_)) found += bytes_;
    return found;
}

page_arrivals::page_arrivals(const flow& f)
    : flow_(f),
      draws_(f.seed),
      least_packets_(f.pareto_scale == scale::least
                         ? f.object_packets
                         : f.object_packets * (f.pareto_shape - 1) / f.pareto_shape) {}

page_arrivals::page page_arrivals::next() {
    page p{draws_.exponential(flow_.page_s), page_ == 0, {}};
    for (int i = 0; i < flow_.page_objects; ++i) {
        const double after = i > 0 ? draws_.exponential(flow_.object_s) : 0;
        p.objects.push_back(
            {after, flow_.packet_bytes * draws_.pareto(flow_.pareto_shape, least_packets_)});
    }
    page_ = (page_ + 1) % flow_.visit_pages;
    return p;
}

}  // namespace wip::flow
