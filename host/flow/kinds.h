// SPDX-License-Identifier: GPL-3.0-or-later
// The kinds of traffic of a Linux host, each with its ends. An end is a process in the namespace of
// its side.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "flow/plan.h"
#include "flow/sockets.h"
#include "flow/tcp_counts.h"
#include "flow/tell.h"

namespace wip::flow {

// One end of a flow at work.
struct job {
    const plan& whole;
    const flow& f;
    const teller& to;
    std::function<void()> listening = [] {};  // called when the other end may begin

    sockets with() const { return {whole, f}; }
    // The time at which the flow starts, by the plan or now.
    double start() const { return f.start_s ? *f.start_s : now(); }
};

struct end {
    std::string_view name;
    bool at_receiver;  // whether this end runs at the flow's `to`, not its `from`
    // whether it reports a result; an end that does not is stopped by the program that started it
    bool tells;
    void (*run)(const job&);

    int side(const flow& f) const { return at_receiver ? f.to : f.from; }
};

// The file of a kind has one of these, which makes the kind known by its name. `ends` are in the
// order in which they are started.
class kind {
public:
    kind(std::string_view name, std::span<const end> ends);
};

// Empty: there is no such kind here.
std::span<const end> ends_of(std::string_view kind);

// Runs an end of a flow until it ends, and reports its result. Returns why it failed, which it has
// reported as well; empty: it did not fail.
std::string run_end(
    const plan& p, const flow& f, const end& e, int out,
    const std::function<void()>& listening = [] {});

// Reports a TCP sender's connection; `more` is added.
void tell_sender(const job& j, int s, double began, std::uint64_t written, const round_trips& trips,
                 const nlohmann::json& more = nlohmann::json::object());

}  // namespace wip::flow
