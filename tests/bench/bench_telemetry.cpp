// SPDX-License-Identifier: GPL-3.0-or-later
// Cost of telemetry in the processes that publish it: 25 bins of full frames in every slot, 1500
// slots a second of real time, one reader (a process of its own) for each publisher. Publishing is
// the same code in macd and in the emulator, so an emulated cell makes the slots here. For each
// publisher: processor time with everything subscribed, at the default rates and with every slot,
// less that with nobody subscribed. And for the terminal's flowgraph: making and sending a
// receiver's detail.
//
// Counted is the time in the calls that make and send telemetry, and all of ZeroMQ's threads, not
// the slots themselves: a slot of the cell takes tens of microseconds, and on a busy machine its
// own cost changes by more than what is measured. Each figure is the median of five differences of
// a run with readers and one without, next to each other.
//
// Budget: all topics at the default rates, all processes together, under 5 % of a core. JSON on
// standard output; a first argument sets the seconds of each run (default 1).
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <thread>
#include <vector>

#include "app/telemetry_socket.h"
#include "bench_support.h"
#include "emulator/emulator_config.h"
#include "emulator/emulator_telemetry.h"
#include "receiver_detail.h"

namespace {

using namespace wip;
using namespace wip::emulator;
using bench::cpu_seconds;
using bench::full_packet;
using host::ip_log;
using host::topic;

constexpr double budget_core_share = 0.05;

// Subscribes to everything, for as long as it lives.
[[noreturn]] void read_all(const char* endpoint) {
    zmq::context_t context(1);
    zmq::socket_t s(context, zmq::socket_type::sub);
    s.set(zmq::sockopt::subscribe, "");
    s.connect(endpoint);
    zmq::message_t m;
    for (;;) (void)s.recv(m);
}

// A program of its own: memory that is shared with a child would cost the parent page faults.
pid_t start_reader(const std::string& endpoint) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::execl("/proc/self/exe", "bench_telemetry", "--read", endpoint.c_str(), nullptr);
    std::_Exit(1);
}

struct cost {
    double slot_us = 0;
    double messages = 0, kilobytes = 0;  // a second
};

enum class reading : std::uint8_t { nothing, base, terminal };

// Counts what a publisher sends.
class counting_port final : public host::telemetry_port {
public:
    explicit counting_port(host::telemetry_socket& to) : to_(&to) {}
    bool wanted(topic t) const override { return to_->wanted(t); }
    int every(topic t) const override { return to_->every(t); }
    openwip::telemetry::Telemetry& message(topic t) override { return to_->message(t); }
    void publish(topic t, slot now, int user) override {
        to_->publish(t, now, user);
        ++messages;
        bytes += to_->message(t).GetCachedSize();
    }
    std::uint64_t messages = 0, bytes = 0;

private:
    host::telemetry_socket* to_;
};

double thread_seconds() {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Processor time of this thread in the calls that it is given, and of all other threads.
class meter {
public:
    template <class Call>
    void in(Call&& call) {
        const double t0 = thread_seconds();
        call();
        calls_ += thread_seconds() - t0;
    }
    double seconds() const {
        return calls_ + (cpu_seconds() - process_) - (thread_seconds() - thread_);
    }

private:
    double calls_ = 0, process_ = cpu_seconds(), thread_ = thread_seconds();
};

cost run(const std::string& folder, reading who, const host::telemetry_rates& rates, int seconds) {
    config::settings s(emulator_keys());
    s.merge_assignment("channel.model=jakes");
    s.merge_assignment("link.bins=25");
    s.merge_assignment("link.profile=radio");
    const emulator_config config = translate(s);
    emulated_cell cell(config.cell, make_sources(config));
    zmq::context_t context(1);
    const std::string base_at = "ipc://" + folder + "/b", terminal_at = "ipc://" + folder + "/t";
    host::telemetry_socket base(context, base_at, rates.queue_messages, "base");
    host::telemetry_socket terminal(context, terminal_at, rates.queue_messages, "terminal");
    counting_port base_out(base), terminal_out(terminal);
    base.set_rates(rates);
    terminal.set_rates(rates);
    emulator_telemetry topics(cell, base_out, terminal_out, config.cell.cell);
    pid_t reader = 0;
    auto& watched = who == reading::base ? base : terminal;
    if (who != reading::nothing) {
        reader = start_reader(who == reading::base ? base_at : terminal_at);
        for (int i = 0; i < 10000 && !watched.wanted(topic::slot); ++i) {
            watched.listen();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        if (!watched.wanted(topic::slot)) throw std::runtime_error("the reader does not subscribe");
    }
    const auto packet = full_packet();
    const auto start = std::chrono::steady_clock::now();
    meter telemetry;
    for (slot k; k.value < std::int64_t{seconds} * slots_per_second; ++k) {
        while (cell.into_queue(0, packet))
            telemetry.in([&] {
                topics.passed(emulated_cell::side::server, 0, ip_log::way::in, packet,
                              slot_start(k));
            });
        telemetry.in([&] { topics.prepare(k); });
        cell.run_slot(k);
        cell.release(INT64_MAX, [&](emulated_cell::side side, int user,
                                    std::span<const std::uint8_t> p, std::int64_t due) {
            telemetry.in([&] { topics.passed(side, user, ip_log::way::out, p, due); });
        });
        telemetry.in([&] {
            topics.publish(k);
            for (auto [out, port, is_base] : {std::tuple{&base, &base_out, true},
                                              std::tuple{&terminal, &terminal_out, false}}) {
                if (out->due(topic::status, k)) {
                    auto& mac = *out->message(topic::status).mutable_mac();
                    mac.Clear();
                    if (is_base)
                        cell.fill_base(mac);
                    else
                        cell.fill_terminal(mac);
                    port->publish(topic::status, k, 0);
                }
                out->listen();
            }
        });
        std::this_thread::sleep_until(start + std::chrono::nanoseconds(slot_start(k)));
    }
    const double cpu = telemetry.seconds();
    if (reader > 0) {
        ::kill(reader, SIGKILL);
        ::waitpid(reader, nullptr, 0);
    }
    const auto& counted = who == reading::base ? base_out : terminal_out;
    return {cpu / seconds / slots_per_second * 1e6, static_cast<double>(counted.messages) / seconds,
            static_cast<double>(counted.bytes) / seconds / 1e3};
}

cost with_reader(const std::string& folder, reading who, const host::telemetry_rates& rates,
                 int seconds) {
    std::array<cost, 5> runs;
    for (cost& c : runs) {
        const double idle = run(folder, reading::nothing, rates, seconds).slot_us;
        c = run(folder, who, rates, seconds);
        c.slot_us -= idle;
    }
    std::ranges::sort(runs, {}, &cost::slot_us);
    return runs[2];
}

// Making the detail in the receiver's block, sending it, taking it in at macd.
double detail_us() {
    const std::vector<phy::cf32> symbols(payload_symbols_per_bin, {0.7F, -0.3F}),
        channel(nof_subcarriers, {0.5F, 0.1F});
    const std::vector<float> noise(nof_bins, 0.01F);
    phy::received_slot slot;
    slot.locked = slot.grant_ok = true;
    for (auto& b : slot.bins) {
        b.outcome = phy::bin_outcome::good;
        b.symbols = symbols;
    }
    slot.channel = channel;
    slot.bin_noise = noise;
    openwip::slot_link::SlotReport out, in;
    std::string bytes;
    constexpr int times = 5000;
    const double t0 = cpu_seconds();
    for (int i = 0; i < times; ++i) {
        fill_detail(slot, *out.mutable_detail());
        out.SerializeToString(&bytes);
        in.ParseFromString(bytes);
    }
    return (cpu_seconds() - t0) / times * 1e6;
}

double share(double us) { return us * 1e-6 * slots_per_second; }

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::string_view(argv[1]) == "--read") read_all(argv[2]);
    const int seconds = argc > 1 ? std::atoi(argv[1]) : 1;
    if (seconds < 1 || seconds > 1000) {
        std::fprintf(stderr, "seconds: 1..1000\n");
        return 2;
    }
    char name[] = "/tmp/openwip-bench-XXXXXX";
    const std::string folder = ::mkdtemp(name);
    const host::telemetry_rates standard;
    const host::telemetry_rates all{.slot_every = 1, .receiver_every = 1, .frames_every = 1};
    const cost idle = run(folder, reading::nothing, standard, seconds);
    std::printf(
        "{\"bench\": \"telemetry\", \"bins\": 25, \"slots_per_second\": %d, \"seconds\": %d, "
        "\"unsubscribed_slot_us\": %.2f, \"results\": [\n",
        static_cast<int>(slots_per_second), seconds, idle.slot_us);
    double sum[2] = {};
    for (const bool every : {false, true})
        for (const reading who : {reading::base, reading::terminal}) {
            const cost c = with_reader(folder, who, every ? all : standard, seconds);
            sum[every] += share(c.slot_us);
            std::printf(
                "  {\"publisher\": \"%s\", \"rates\": \"%s\", \"core_share\": %.4f, "
                "\"slot_us\": %.2f, \"messages_per_s\": %.0f, \"kilobytes_per_s\": %.0f},\n",
                who == reading::base ? "base" : "terminal", every ? "every slot" : "default",
                share(c.slot_us), c.slot_us, c.messages, c.kilobytes);
        }
    const double detail = detail_us();
    const double seldom = share(detail / standard.receiver_every);
    std::printf(
        "  {\"publisher\": \"terminal.radio\", \"detail_us\": %.2f, \"core_share\": %.5f, "
        "\"core_share_every_slot\": %.4f}],\n",
        detail, seldom, share(detail));
    std::printf(
        "  \"core_share\": %.4f, \"core_share_every_slot\": %.4f, \"budget_core_share\": "
        "%.3f}\n",
        sum[0] + seldom, sum[1] + share(detail), budget_core_share);
    std::filesystem::remove_all(folder);
    return 0;
}
