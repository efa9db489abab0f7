// SPDX-License-Identifier: GPL-3.0-or-later
// wip_flow END PLAN: one end (sender, receiver, client, server) of the first flow of a plan, in the
// network namespace in which it runs. It says "ready" when it listens, then lines of JSON
// (flows.schema.json). The kernel of virtual time does the same with all flows of a plan
// (host/virtual/guest.cpp). Exit code 1: the end failed, and its cause is the last line of standard
// error; 2: it is asked for what there is not.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "flow/kinds.h"

namespace {

using namespace wip::flow;

std::string names_of(std::span<const end> ends) {
    std::string names;
    for (const end& e : ends) names += (names.empty() ? "" : ", ") + std::string(e.name);
    return names;
}

int run(std::string_view wanted, std::string_view text) {
    const plan p = read_plan(text);
    if (p.flows.empty())
        throw std::invalid_argument("the plan has no flow in flows; valid: one or more");
    const flow& f = p.flows.front();
    const auto ends = ends_of(f.kind);
    const auto found = std::ranges::find(ends, wanted, &end::name);
    if (found == ends.end())
        throw std::invalid_argument("END is " + std::string(wanted) + " for a flow of kind " +
                                    f.kind + "; valid: " + names_of(ends));
    const std::string failed = run_end(p, f, *found, STDOUT_FILENO, [] {
        std::puts("ready");
        std::fflush(stdout);
    });
    if (failed.empty()) return 0;
    std::fprintf(stderr, "wip_flow: %s\n", failed.c_str());
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);
    try {
        if (argc == 3) return run(argv[1], argv[2]);
        std::fputs("wip_flow: valid: wip_flow END PLAN\n", stderr);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "wip_flow: %s\n", e.what());
    }
    return 2;
}
