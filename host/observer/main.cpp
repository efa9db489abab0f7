// SPDX-License-Identifier: GPL-3.0-or-later
// wip_observer: what the kernel knows of a running cell, as telemetry: TCP connections in the
// cell's namespaces, processor time, and the medium's pacing; what is news in it is an event. It
// requests nothing while there is no subscriber, and a process that does not answer costs a topic,
// never the observer. Start order as in macd: configuration, sockets, then privileges are given up,
// and only then anything is read from outside.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <optional>
#include <zmq.hpp>

#include "observer/air_events.h"
#include "observer/observer_config.h"
#include "observer/omitted_watch.h"
#include "observer/process_clock.h"
#include "observer/tcp_diag.h"
#include "observer/tcp_flow.h"
#include "os/monotonic.h"
#include "peer/endpoint.h"
#include "runtime/ending.h"
#include "runtime/poll_set.h"
#include "runtime/privileged_start.h"
#include "runtime/process.h"
#include "runtime/program.h"
#include "runtime/status_events.h"
#include "runtime/telemetry_socket.h"
#include "schema/telemetry.pb.h"
#include "types/quantity.h"

namespace wip::observer {
namespace {

using host::topic;
using openwip::telemetry::Event;

// Messages that wait for one reader: some seconds of all topics.
constexpr int queue = 500;
// Interval at which the subscriptions are checked while there are none.
constexpr std::int64_t idle_ns = 100'000'000;
// The medium answers within a slot; after this time the request is repeated.
constexpr std::int64_t air_patience_ns = 1'000'000'000;
// Interval of the search for processes that have ended, and of reading the observer's own counters.
constexpr int events_every_ms = 100;

// The times of a periodic task. Times that were missed are not made up for.
class schedule {
public:
    explicit schedule(int every_ms) : every_ns_(std::int64_t{every_ms} * 1'000'000) {}
    bool due(std::int64_t now) {
        if (now < next_) return false;
        next_ = std::max(next_ + every_ns_, now + every_ns_ / 2);
        return true;
    }
    std::int64_t next() const { return next_; }

private:
    std::int64_t every_ns_, next_ = 0;
};

struct observed_station {
    std::string name;
    tcp_diag diag;
    bool answers = true;
};

class observer_process {
public:
    // Opens the netlink sockets and binds. Throws bad_input (also for a namespace that is not
    // there).
    observer_process(zmq::context_t& c, const observer_config& o)
        : context(c),
          config(o),
          telemetry(c, o.telemetry_endpoint, queue, "telemetry"),
          events(telemetry, "observer"),
          medium(telemetry),
          slots(c, zmq::socket_type::sub),
          clock(o.run.empty() ? "/nonexistent" : o.run, "/proc"),
          tcp(o.tcp_every_ms),
          search(o.tcp_search_ms),
          cpu(o.cpu_every_ms),
          air(o.air_every_ms),
          own(events_every_ms) {
        for (const auto& s : o.stations)
            stations.push_back({s.station, tcp_diag(s.network_namespace, "stations: " + s.station,
                                                    static_cast<std::size_t>(o.tcp_flows))});
        slots.set(zmq::sockopt::linger, 0);
        slots.set(zmq::sockopt::rcvhwm, 10);
        slots.set(zmq::sockopt::maxmsgsize, std::int64_t{4 << 20});
        if (!o.slots_endpoint.empty()) {
            slots.set(zmq::sockopt::subscribe, "status");
            slots.connect(o.slots_endpoint);
        }
    }

    // Paths of the ipc sockets bound here, to hand over to the user that the process becomes.
    std::vector<std::string> bound_paths() const {
        return {peer::socket_path(config.telemetry_endpoint)};
    }

    // Runs until a signal ends it; returns the exit code.
    int run(int signal_fd) {
        host::ending end("observer");
        host::poll_set watched;
        const auto signals = watched.add(signal_fd);
        watched.add(slots);
        const auto answers = watched.add_socket();
        for (;;) {
            const std::int64_t now = os::monotonic_ns();
            telemetry.listen();
            take_slots();
            take_air();
            if (telemetry.wanted(topic::tcp)) {
                if (tcp.due(now)) sample_tcp(now);
            } else {
                connections_omitted.forget();
            }
            if (wants_processes() && cpu.due(now)) sample_cpu(now);
            if (wants_air() && air.due(now)) ask_air(now);
            if (telemetry.wanted(topic::event) && own.due(now)) tell_own();
            if (!telemetry.wanted(topic::event)) forget_events();
            const std::int64_t left = next_wakeup(now) - os::monotonic_ns();
            watched.replace(answers, air_control ? &*air_control : nullptr);
            watched.sleep(std::chrono::nanoseconds(std::max<std::int64_t>(0, left)));
            if (watched.ready(signals) && end.signalled(signal_fd)) return end.code();
        }
    }

private:
    void take_slots() {
        for (int i = 0; i < 16 && slots.recv(topic_frame, zmq::recv_flags::dontwait); ++i) {
            bool more = topic_frame.more();
            int frames = 1;
            while (more && slots.recv(in, zmq::recv_flags::dontwait)) {
                more = in.more();
                ++frames;
            }
            if (frames == 2 && slot_message.ParseFromArray(in.data(), static_cast<int>(in.size())))
                now_slot = slot{slot_message.slot()};
            else
                malformed("the base station's telemetry");
        }
    }

    void sample_tcp(std::int64_t now) {
        const bool searching = search.due(now);
        auto& sample = *telemetry.message(topic::tcp).mutable_tcp();
        sample.Clear();
        std::uint64_t omitted = 0, more = 0;
        for (auto& s : stations) {
            const bool answers = searching ? s.diag.search() : s.answers && s.diag.refresh();
            if (answers != s.answers) {
                const std::string text =
                    answers ? fmt::format("the kernel tells of the connections of {} again", s.name)
                            : fmt::format("the kernel does not tell of the connections of {}: {}",
                                          s.name, s.diag.failure());
                spdlog::log(answers ? spdlog::level::info : spdlog::level::warn, "observer: {}",
                            text);
                events.say(answers ? Event::INFO : Event::WARNING, "read", text, now_slot);
                s.answers = answers;
            }
            if (!answers) continue;
            for (const auto& c : s.diag.connections()) fill(c, s.name, *sample.add_flow());
            omitted += s.diag.omitted();
            more += connections_omitted.more(s.name, s.diag.omitted());
        }
        sample.set_left_out(static_cast<std::uint32_t>(omitted));
        publish_omitted("connections_left_out", more);
        telemetry.publish(topic::tcp, now_slot);
    }

    void sample_cpu(std::int64_t now) {
        // the sample forgets processes that have ended
        if (telemetry.wanted(topic::event)) tell_ended();
        auto& sample = *telemetry.message(topic::cpu).mutable_cpu();
        clock.sample(now, static_cast<std::size_t>(config.cpu_processes), sample);
        publish_omitted("processes_left_out", processes_omitted.more("", sample.left_out()));
        telemetry.publish(topic::cpu, now_slot);
    }

    void ask_air(std::int64_t now) {
        if (air_control && now - asked_ns < air_patience_ns) return;
        if (air_control) medium.no_answer(now_slot);
        // A question without answer leaves its socket waiting for good: another one for every
        // question.
        air_control.emplace(context, zmq::socket_type::req);
        air_control->set(zmq::sockopt::linger, 0);
        air_control->set(zmq::sockopt::maxmsgsize, std::int64_t{4 << 20});
        air_control->connect(config.air_endpoint);
        openwip::control::Request request;
        request.mutable_status();
        out.resize(request.ByteSizeLong());
        request.SerializeToArray(out.data(), static_cast<int>(out.size()));
        air_control->send(zmq::const_buffer(out.data(), out.size()), zmq::send_flags::dontwait);
        asked_ns = now;
    }

    void take_air() {
        if (!air_control || !air_control->recv(in, zmq::recv_flags::dontwait)) return;
        const bool whole = !in.more();
        if (whole && reply.ParseFromArray(in.data(), static_cast<int>(in.size())) &&
            reply.has_air()) {
            medium.compare(reply.air(), now_slot);
            *telemetry.message(topic::air).mutable_air() = reply.air();
            telemetry.publish(topic::air, now_slot);
        } else {
            malformed("the medium's control socket");
        }
        air_control.reset();
    }

    // Dropped, counted, and logged at counts 1, 2, 4, 8 ...
    void malformed(const char* where) {
        if (std::has_single_bit(++malformed_messages))
            spdlog::warn("observer: {} malformed messages, the last from {}", malformed_messages,
                         where);
    }

    bool wants_air() const {
        return !config.air_endpoint.empty() &&
               (telemetry.wanted(topic::air) || telemetry.wanted(topic::event));
    }

    bool wants_processes() const {
        return telemetry.wanted(topic::cpu) || telemetry.wanted(topic::event);
    }

    void tell_own() {
        tell_ended();
        events.grew(Event::WARNING, "malformed", "messages", malformed_messages, now_slot);
        events.compared();
    }

    // An application ends when it is done; a process of the cell lives as long as the cell.
    void tell_ended() {
        for (const auto& p : clock.take_ended())
            if (follows_processes)
                events.say(p.application ? Event::INFO : Event::WARNING, "run", p.name + " ended",
                           now_slot);
        follows_processes = true;
    }

    // One event for each time that there are more than before.
    void publish_omitted(const char* what, std::uint64_t more) {
        if (more != 0) events.say(Event::WARNING, "drop", what, now_slot, more);
    }

    // Called while there is no subscriber: what happens meanwhile is not reported later.
    void forget_events() {
        events.forget();
        medium.forget();
        follows_processes = false;
        connections_omitted.forget();
        processes_omitted.forget();
    }

    std::int64_t next_wakeup(std::int64_t now) const {
        std::int64_t next = now + idle_ns;
        if (telemetry.wanted(topic::tcp)) next = std::min(next, tcp.next());
        if (wants_processes()) next = std::min(next, cpu.next());
        if (wants_air()) next = std::min(next, air.next());
        if (telemetry.wanted(topic::event)) next = std::min(next, own.next());
        return next;
    }

    zmq::context_t& context;
    observer_config config;
    host::telemetry_socket telemetry;
    host::status_events events;
    air_events medium;
    zmq::socket_t slots;
    std::optional<zmq::socket_t> air_control;  // exists while a request is open
    std::int64_t asked_ns = 0;
    std::vector<observed_station> stations;
    process_clock clock;
    schedule tcp, search, cpu, air, own;
    bool follows_processes = false;  // whether events have a subscriber
    omitted_watch connections_omitted, processes_omitted;
    slot now_slot{0};
    std::uint64_t malformed_messages = 0;
    zmq::message_t in, topic_frame;
    openwip::telemetry::Telemetry slot_message;
    openwip::control::Reply reply;
    std::vector<std::uint8_t> out;
};

int run(config::settings& settings) {
    const observer_config config = translate(settings);
    const host::privileged_start start(settings, config.user);
    zmq::context_t context(1);
    observer_process process(context, config);
    start.give_up(process.bound_paths());
    spdlog::info("observer is up; effective configuration:\n{}", settings.to_yaml());
    return host::run_to_its_end([&] { return process.run(start.signals()); });
}

}  // namespace
}  // namespace wip::observer

int main(int argc, char** argv) {
    using namespace wip;
    using namespace wip::observer;
    google::protobuf::SetLogHandler(nullptr);
    return host::run_program(
        {"wip_observer", "OpenWIP: TCP connections, processor time and pacing of a cell",
         &observer_keys(), [](config::settings& s) { translate(s); }, run},
        argc, argv);
}
