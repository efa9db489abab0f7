// SPDX-License-Identifier: GPL-3.0-or-later
// Cost of telemetry in the processes that publish it: 25 bins of full frames in every slot, 1500
// slots a second of real time, one reader (a process of its own) for each publisher. Publishing is
// the same code in macd and in the emulator, so an emulated cell makes the slots here. For each
// publisher: processor time with everything subscribed, at the default rates and with every slot,
// less that with nobody subscribed. And for the terminal's flowgraph: making and sending a
// receiver's detail.
//
// The queue is never empty and one packet a slot finds it full, so all topics have something to
// say: packets delivered and dropped are followed, drops are events.
//
// Counted is the time in the calls that make and send telemetry, all of ZeroMQ's threads, and what
// the slots take longer because somebody listens: packets followed, symbols kept. For the last one
// a second cell makes the same slots for nobody, in turn with the first one, and the difference
// counts: a slot takes tens of microseconds, and on a busy machine that changes from run to run by
// more than what is measured. Each figure is the median of five differences of a run with readers
// and one without, next to each other.
//
// Not counted: what the terminal reports to the base station about packets that are followed, as
// bytes in its uplink messages (bench_journal has the journal itself).
//
// Budget: all topics at the default rates, all processes together, under 5 % of a core. JSON on
// standard output; a first argument sets the slots of each run (default 1500: 1 s).
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <thread>
#include <vector>

#include "bench_length.h"
#include "bench_support.h"
#include "emulator/cell_status.h"
#include "emulator/emulator_config.h"
#include "emulator/emulator_telemetry.h"
#include "receiver_message.h"
#include "runtime/status_events.h"
#include "runtime/telemetry_socket.h"

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
    double inside_us = 0;                                    // part of that in the slots
    double messages = 0, kilobytes = 0;                      // per second
    std::array<std::uint64_t, host::nof_topics> of_topic{};  // messages a second, by topic
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
        ++of_topic[static_cast<std::size_t>(t)];
        bytes += to_->message(t).GetCachedSize();
    }
    std::uint64_t messages = 0, bytes = 0;
    std::array<std::uint64_t, host::nof_topics> of_topic{};

private:
    host::telemetry_socket* to_;
};

double thread_seconds() {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Processor time of this thread in the calls that it is given.
class meter {
public:
    template <class Call>
    void in(Call&& call) {
        const double t0 = thread_seconds();
        call();
        seconds_ += thread_seconds() - t0;
    }
    double seconds() const { return seconds_; }

private:
    double seconds_ = 0;
};

// Processor time of all other threads.
class other_threads {
public:
    double seconds() const { return (cpu_seconds() - process_) - (thread_seconds() - thread_); }

private:
    double process_ = cpu_seconds(), thread_ = thread_seconds();
};

// The times of the slots of one cell: the whole slot, and the calls of telemetry in the middle of
// it.
struct cell_meter {
    meter all, calls;
    double alone_s() const { return all.seconds() - calls.seconds(); }
};

// Packets in, the slot, packets out; passed(side, way, packet, time_ns) is called for each packet.
template <class Passed>
void make_slot(emulated_cell& cell, slot k, std::span<const std::uint8_t> packet, cell_meter& time,
               Passed&& passed) {
    time.all.in([&] {
        while (cell.into_queue(0, packet))
            time.calls.in([&] {
                passed(emulated_cell::side::server, ip_log::way::in, packet, slot_start(k));
            });
        cell.run_slot(k);
        cell.release(INT64_MAX);
    });
}

cost run(const std::string& folder, reading who, const host::telemetry_rates& rates, int slots) {
    config::settings s(emulator_keys());
    s.merge_assignment("channel.model=jakes");
    s.merge_assignment("link.bins=25");
    s.merge_assignment("link.profile=radio");
    const emulator_config config = translate(s);
    emulated_cell cell(config.cell, make_sources(config));
    emulated_cell twin(config.cell, make_sources(config));  // a cell without subscribers
    const std::string yaml = s.to_yaml();
    zmq::context_t context(1);
    const std::string base_at = "ipc://" + folder + "/b", terminal_at = "ipc://" + folder + "/t";
    host::telemetry_socket base(context, base_at, rates.queue_messages, "base");
    host::telemetry_socket terminal(context, terminal_at, rates.queue_messages, "terminal");
    counting_port base_out(base), terminal_out(terminal);
    base.set_rates(rates);
    terminal.set_rates(rates);
    emulator_telemetry topics(cell, base_out, terminal_out, config.cell.cell,
                              rates.packets_per_second);
    host::status_events base_events(base_out, "base"), terminal_events(terminal_out, "terminal");
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
    cell_meter watched_cell, twin_cell;
    meter telemetry;
    const other_threads zeromq;
    const auto passed = [&](emulated_cell::side side, ip_log::way way,
                            std::span<const std::uint8_t> p,
                            std::int64_t time_ns) { topics.passed(side, 0, way, p, time_ns); };
    cell.deliver_to(
        [&](emulated_cell::side side, int, std::span<const std::uint8_t> p, std::int64_t due) {
            watched_cell.calls.in([&] { passed(side, ip_log::way::out, p, due); });
        });
    twin.deliver_to([&](emulated_cell::side, int, std::span<const std::uint8_t>, std::int64_t) {
        twin_cell.calls.in([] {});
    });
    for (slot k; k.value < slots; ++k) {
        const bool twin_runs = who != reading::nothing, twin_first = k.value % 2 == 0;
        if (twin_runs && twin_first) make_slot(twin, k, packet, twin_cell, [](auto...) {});
        telemetry.in([&] { topics.prepare(k); });
        make_slot(cell, k, packet, watched_cell, passed);
        telemetry.in([&] {
            topics.publish(k);
            for (auto [out, port, events, is_base] :
                 {std::tuple{&base, &base_out, &base_events, true},
                  std::tuple{&terminal, &terminal_out, &terminal_events, false}}) {
                if (out->due(topic::status, k) || out->due(topic::event, k)) {
                    auto& mac = *out->message(topic::status).mutable_mac();
                    mac.Clear();
                    mac.set_effective_yaml(yaml);
                    if (is_base)
                        fill_base(cell, mac);
                    else
                        fill_terminal(cell, mac);
                    if (out->due(topic::event, k)) events->compare(mac, k);
                    if (out->due(topic::status, k)) port->publish(topic::status, k, 0);
                }
                out->listen();
            }
        });
        if (twin_runs && !twin_first) make_slot(twin, k, packet, twin_cell, [](auto...) {});
        std::this_thread::sleep_until(start + std::chrono::nanoseconds(slot_start(k)));
    }
    const double seconds = static_cast<double>(slots) / slots_per_second;
    const double inside =
        who == reading::nothing ? 0 : watched_cell.alone_s() - twin_cell.alone_s();
    const double cpu =
        telemetry.seconds() + watched_cell.calls.seconds() + inside + zeromq.seconds();
    if (reader > 0) {
        ::kill(reader, SIGKILL);
        ::waitpid(reader, nullptr, 0);
    }
    const auto& counted = who == reading::base ? base_out : terminal_out;
    cost c{.slot_us = cpu / slots * 1e6,
           .inside_us = inside / slots * 1e6,
           .messages = static_cast<double>(counted.messages) / seconds,
           .kilobytes = static_cast<double>(counted.bytes) / seconds / 1e3,
           .of_topic = counted.of_topic};
    for (auto& n : c.of_topic)
        n = static_cast<std::uint64_t>(std::lround(static_cast<double>(n) / seconds));
    return c;
}

cost with_reader(const std::string& folder, reading who, const host::telemetry_rates& rates,
                 int slots) {
    std::array<cost, 5> runs;
    for (cost& c : runs) {
        const double idle = run(folder, reading::nothing, rates, slots).slot_us;
        c = run(folder, who, rates, slots);
        c.slot_us -= idle;
    }
    std::ranges::sort(runs, {}, &cost::slot_us);
    return runs[2];
}

// Making the detail in the receiver's block, sending it, taking it in at macd.
double detail_us() {
    const std::vector<phy::cf32> symbols(payload_symbols_per_bin, {0.7F, -0.3F}),
        channel(nof_subcarriers, {0.5F, 0.1F});
    const std::vector<float> noise(nof_bins, 0.01F), spectrum(fft_size, -70.5F);
    phy::received_slot slot;
    slot.locked = slot.grant_ok = true;
    for (auto& b : slot.bins) {
        b.outcome = frame_outcome::good;
        b.symbols = symbols;
    }
    slot.channel = channel;
    slot.bin_noise = noise;
    openwip::slot_link::SlotReport out, in;
    std::string bytes;
    constexpr int times = 5000;
    const double t0 = cpu_seconds();
    for (int i = 0; i < times; ++i) {
        fill_detail(slot, spectrum, *out.mutable_detail());
        out.SerializeToString(&bytes);
        in.ParseFromString(bytes);
    }
    return (cpu_seconds() - t0) / times * 1e6;
}

double share(double us) { return us * 1e-6 * slots_per_second; }

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::string_view(argv[1]) == "--read") read_all(argv[2]);
    const int slots = bench::length(argc, argv, "slots", slots_per_second, 150);
    char name[] = "/tmp/openwip-bench-XXXXXX";
    const std::string folder = ::mkdtemp(name);
    const host::telemetry_rates standard;
    const host::telemetry_rates all{.slot_every = 1, .receiver_every = 1, .frames_every = 1};
    const cost idle = run(folder, reading::nothing, standard, slots);
    std::printf(
        "{\"bench\": \"telemetry\", \"bins\": 25, \"slots_per_second\": %d, \"slots\": %d, "
        "\"unsubscribed_slot_us\": %.2f, \"results\": [\n",
        static_cast<int>(slots_per_second), slots, idle.slot_us);
    double sum[2] = {};
    for (const bool every : {false, true})
        for (const reading who : {reading::base, reading::terminal}) {
            const cost c = with_reader(folder, who, every ? all : standard, slots);
            sum[every] += share(c.slot_us);
            std::printf(
                "  {\"publisher\": \"%s\", \"rates\": \"%s\", \"core_share\": %.4f, "
                "\"slot_us\": %.2f, \"inside_slots_us\": %.2f, \"messages_per_s\": %.0f, "
                "\"kilobytes_per_s\": %.0f, \"topics_per_s\": {",
                who == reading::base ? "base" : "terminal", every ? "every slot" : "default",
                share(c.slot_us), c.slot_us, c.inside_us, c.messages, c.kilobytes);
            const char* comma = "";
            for (std::size_t t = 0; t < host::nof_topics; ++t)
                if (c.of_topic[t] != 0) {
                    std::printf("%s\"%s\": %d", comma, host::topic_names[t].data(),
                                static_cast<int>(c.of_topic[t]));
                    comma = ", ";
                }
            std::printf("}},\n");
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
