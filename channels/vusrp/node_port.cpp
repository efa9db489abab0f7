// SPDX-License-Identifier: GPL-3.0-or-later
#include "vusrp/node_port.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

#include "air/medium.h"
#include "os/monotonic.h"
#include "types/failure.h"

namespace wip::vusrp {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// The names of the nodes of the private medium.
std::vector<std::string> names(std::size_t nodes) {
    std::vector<std::string> all{"radio"};
    while (all.size() < nodes) all.push_back("radio" + std::to_string(all.size()));
    return all;
}

air::medium_config private_medium(const private_air_config& c, std::size_t nodes) {
    air::medium_config m;
    m.name = "private";
    m.clock = c.clock;
    m.speed = c.speed;
    m.priority = 0;
    if (c.clock == air::clock_kind::realtime) m.quantum = air::realtime_quantum;
    for (const std::string& name : names(nodes)) {
        air::node_config node{name, {}};
        if (c.noisy) node.noise_dbfs = c.noise_dbfs;
        air::path_config loop;
        loop.from = loop.to = m.nodes.size();
        loop.gain_db = c.gain_db;
        loop.delay_samples = c.delay_samples;
        m.nodes.push_back(node);
        m.paths.push_back(loop);
    }
    return m;
}

}  // namespace

// A medium in a thread of this process.
struct node_port::private_air {
    private_air(const private_air_config& c, std::size_t nodes)
        : config(private_medium(c, nodes)),
          memory(air::shared_air::create_private(names(nodes), c.clock, c.speed)),
          medium(*memory, config, [](const std::string&) {}) {
        sigset_t all, before;  // signals are for the program's own threads
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &before);
        thread = std::thread([this] { end_reason.set_value(medium.run()); });
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    ~private_air() {
        medium.stop();
        thread.join();
    }
    air::medium_config config;
    std::unique_ptr<air::shared_air> memory;
    air::medium medium;
    std::thread thread;
    std::promise<std::string> end_reason;
    // get() waits until the medium has ended.
    std::shared_future<std::string> end_reason_future = end_reason.get_future().share();
};

std::shared_ptr<node_port> node_port::attach(const std::string& name, const std::string& node,
                                             double timeout_seconds) {
    const auto deadline = clock::now() + std::chrono::duration<double>(timeout_seconds);
    std::unique_ptr<air::shared_air> memory;
    while (!(memory = air::shared_air::attach(name))) {
        if (clock::now() >= deadline)
            throw peer_error("no medium named '" + name +
                             "' is running (start one: air --config FILE)");
        std::this_thread::sleep_for(10ms);
    }
    std::string names;
    std::size_t index = memory->nodes();
    for (std::size_t i = 0; i < memory->nodes(); ++i) {
        names += std::string(i ? ", " : "") + memory->node_name(i);
        if (memory->node_name(i) == node) index = i;
    }
    if (index == memory->nodes())
        throw bad_input("medium '" + name + "' has no node '" + node +
                        "'; device argument node= takes one of: " + names);
    std::shared_ptr<node_port> port(new node_port);
    port->attached_ = std::move(memory);
    port->air_ = port->attached_.get();
    port->description_ = "node '" + node + "' of medium '" + name + "'";
    port->claim(index, timeout_seconds);
    return port;
}

std::vector<std::shared_ptr<node_port>> node_port::make_private(const private_air_config& c,
                                                                std::size_t nodes) {
    std::vector<std::shared_ptr<node_port>> ports;
    const auto private_medium_state = std::make_shared<private_air>(c, nodes);
    for (std::size_t i = 0; i < nodes; ++i) {
        ports.emplace_back(new node_port);
        ports[i]->private_ = private_medium_state;
        ports[i]->air_ = private_medium_state->memory.get();
        ports[i]->description_ = "private medium";
        ports[i]->claim(i, 5);
    }
    while (!ports[0]->running() && c.clock == air::clock_kind::realtime)
        std::this_thread::sleep_for(100us);
    return ports;
}

void node_port::claim(std::size_t index, double timeout_seconds) {
    index_ = index;
    header_ = &air_->header();
    air::node_block& block = air_->node(index);
    const auto deadline =
        clock::now() + std::chrono::duration<double>(std::max(timeout_seconds, 1.0));
    std::int64_t owner = air::no_process;
    while (!block.process.compare_exchange_strong(owner, getpid())) {
        if (clock::now() >= deadline)
            throw bad_input(description_ + " is in use by process " + std::to_string(owner));
        std::this_thread::sleep_for(10ms);
        owner = air::no_process;
    }
    const std::uint32_t claim = block.claims.fetch_add(1) + 1;
    header_->work.wake();
    while (block.served.load(std::memory_order_acquire) != claim) {
        if (clock::now() >= deadline || !connected()) {
            block.process.store(air::no_process);
            throw peer_error(description_ + " does not answer");
        }
        block.room.wait([&] { return block.served.load() == claim; }, 100ms);
    }
    block_ = &block;
}

node_port::~node_port() {
    if (!block_) return;
    block_->process.store(air::leaving_process);
    block_->claims.fetch_add(1);
    header_->work.wake();
}

tick node_port::now() const noexcept {
    if (lockstep()) return air::bounded_time(block_->now.load(std::memory_order_acquire));
    if (!running()) return 0;
    // Unsigned arithmetic, since the medium may write any value as the origin, and the difference
    // must not overflow.
    const auto ns = static_cast<std::int64_t>(
        static_cast<std::uint64_t>(os::monotonic_ns()) -
        static_cast<std::uint64_t>(header_->clock_origin.load(std::memory_order_relaxed)));
    const double private_medium_state = 1 / (1 - 1e-12 * static_cast<double>(clock_parts()));
    const double ticks =
        static_cast<double>(ns) * (air::sample_rate * 1e-9) * air_->speed() * private_medium_state;
    constexpr double most = static_cast<double>(air::farthest_time);
    return static_cast<tick>(std::clamp(ticks, -most, most));
}

void node_port::wait_until(tick t, double timeout_seconds) const {
    const auto deadline = clock::now() + std::chrono::duration<double>(timeout_seconds);
    while (running() && now() < t && clock::now() < deadline) {
        const double speed = air_->speed() == 0 ? 1 : air_->speed();
        const double seconds =
            (static_cast<double>(t) - static_cast<double>(now())) / (air::sample_rate * speed);
        // In lockstep the medium may be slower than the wall clock, so the time is checked again.
        std::this_thread::sleep_for(std::clamp<std::chrono::duration<double>>(
            std::chrono::duration<double>(seconds), 50us, 100ms));
    }
}

bool node_port::connected() const noexcept {
    return header_->state.load() == air::air_state::ready && air_->connected();
}

void node_port::check() const {
    if (connected()) return;
    const std::string end_reason_future = private_ ? private_->end_reason_future.get() : "";
    throw peer_error("the medium of " + description_ + " is gone" +
                     (end_reason_future.empty() ? "" : ": " + end_reason_future));
}

void node_port::command(air::command_kind kind, tick time, double value, std::int64_t count) {
    const std::lock_guard lock(command_mutex_);
    auto& commands = block_->commands;
    const std::uint64_t at = commands.written.load(std::memory_order_relaxed);
    const auto room = [&] {
        return at - commands.taken.load(std::memory_order_acquire) < commands.size;
    };
    while (!room()) {
        check();
        block_->room.wait(room, 100ms);
    }
    commands.at(at) = {time, value, count, kind};
    commands.written.store(at + 1, std::memory_order_seq_cst);
    header_->work.notify();
}

std::int64_t node_port::offset() noexcept {
    if (first_) return first_->offset();
    const std::lock_guard lock(offset_mutex_);
    if (now() >= next_offset_at_) {
        offset_ = next_offset_;
        next_offset_at_ = air::never;
    }
    return offset_;
}

void node_port::set_offset(std::int64_t offset) noexcept {
    const std::lock_guard lock(offset_mutex_);
    offset_ = offset;
    next_offset_at_ = air::never;
}

void node_port::set_offset_at(tick when, std::int64_t offset) noexcept {
    const std::lock_guard lock(offset_mutex_);
    next_offset_ = offset;
    next_offset_at_ = when;
}

}  // namespace wip::vusrp
