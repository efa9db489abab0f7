// SPDX-License-Identifier: GPL-3.0-or-later
// A cell made of a script: its run directory, its telemetry over real ZeroMQ, and a control socket
// that answers. What it says is known, so that what a window shows can be compared.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <QFile>
#include <QTemporaryDir>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <numbers>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
#include <zmq.hpp>

#include "gui/model/air_numbers.h"
#include "schema/telemetry.pb.h"

namespace wip::gui {

class scripted_cell {
public:
    using message = openwip::telemetry::Telemetry;

    explicit scripted_cell(std::string name = "script") : name_(std::move(name)) {
        for (const char* source : {"base", "terminal", "observer", "keeper", "attenuator"})
            sockets_.emplace(source, zmq::socket_t(context_, zmq::socket_type::xpub));
        // A script says ten seconds of a run at once; its queue must hold them.
        for (auto& [source, socket] : sockets_) {
            socket.set(zmq::sockopt::sndhwm, 0);
            socket.set(zmq::sockopt::linger, 0);
        }
    }
    ~scripted_cell() { stop_control(); }

    std::string root() const { return folder_.path().toStdString(); }
    std::string run() const { return root() + "/" + name_; }

    // Like a supervisor: sockets, then the state that says who lives.
    void start() {
        ::mkdir(run().c_str(), 0755);
        for (auto& [source, socket] : sockets_)
            socket.bind("ipc://" + run() + "/" + source + ".telemetry");
        be_kept_by(::getpid());
    }
    // Another supervisor is another run of the cell.
    void be_kept_by(int pid) {
        std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
        std::string text((std::istreambuf_iterator<char>(stat)), {});
        std::istringstream fields(text.substr(text.rfind(')') + 2));
        std::string field;
        for (int i = 0; i < 20; ++i) fields >> field;
        std::ofstream(run() + "/state.json")
            << "{\"cell\": \"" << name_ << "\", \"keeper\": [" << pid << ", " << field << "]}";
    }
    void end() { QFile::remove(QString::fromStdString(run() + "/state.json")); }

    // Waits until a window has subscribed to everything that it wants; calls `step` in between.
    template <typename F>
    bool wait_for_reader(F step) {
        std::map<std::string, int> topics;
        for (int i = 0; i < 2000; ++i) {
            step();
            bool all = true;
            for (auto& [source, socket] : sockets_) {
                zmq::message_t subscription;
                while (socket.recv(subscription, zmq::recv_flags::dontwait)) ++topics[source];
                all = all && topics[source] >= 10;
            }
            if (all) return true;
            ::usleep(5000);
        }
        return false;
    }

    void publish(const std::string& source, const std::string& topic, message m) {
        m.set_sequence(++sequences_[{source, topic}]);
        if (m.version() == 0) m.set_version(openwip::telemetry::VERSION_CURRENT);
        raw(source, {topic, m.SerializeAsString()});
        ++published_;
    }
    void skip(const std::string& source, const std::string& topic, int n) {
        sequences_[{source, topic}] += static_cast<std::uint64_t>(n);
    }
    void raw(const std::string& source, const std::vector<std::string>& frames) {
        auto& socket = sockets_.at(source);
        for (std::size_t i = 0; i < frames.size(); ++i)
            socket.send(zmq::buffer(std::string(frames[i])),
                        i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
    }
    std::uint64_t published() const { return published_; }

    // --- a run with known numbers: slots 15, 30, ... ---

    static float snr(std::int64_t slot, int bin) {
        return static_cast<float>(5 + bin + slot / slots_per_second % 5);
    }
    static int bits(int bin) { return bin % 9; }
    static int outcome(int bin) { return bin % 4; }

    void say_slot(std::int64_t slot) {
        message base, terminal;
        base.set_slot(slot);
        terminal.set_slot(slot);
        auto& b = *base.mutable_slot_sample();
        auto& t = *terminal.mutable_slot_sample();
        t.set_horizon(3);
        t.set_locked(true);
        for (int bin = 0; bin < nof_bins; ++bin) {
            t.add_snr_db(snr(slot, bin));
            t.add_predicted_snr_db(99);  // a prediction for another slot, which must not be shown
            b.add_predicted_snr_db(snr(slot, bin) + static_cast<float>(bin % 2 == 0 ? 4 : -6));
            b.mutable_bits_per_symbol()->push_back(static_cast<char>(bits(bin)));
            b.mutable_retransmissions()->push_back(0);
            b.mutable_user()->push_back(0);
            b.mutable_outcome()->push_back(static_cast<char>(outcome(bin)));
        }
        b.set_queued_packets(static_cast<std::uint32_t>(slot / 1500));
        b.set_queued_bytes(1500 * static_cast<std::uint64_t>(slot / 1500));
        publish("base", "slot", base);
        publish("terminal", "slot", terminal);
    }
    // Bin b is that of terminal b % users, which is known from its SNR and its modulation.
    static float shared_snr(int user) { return static_cast<float>(10 + 5 * user); }
    void say_shared_slot(std::int64_t slot, int users) {
        for (int user = 0; user < users; ++user) {
            message base, terminal;
            for (auto* m : {&base, &terminal}) {
                m->set_slot(slot);
                m->set_user(static_cast<std::uint32_t>(user));
            }
            auto& b = *base.mutable_slot_sample();
            auto& t = *terminal.mutable_slot_sample();
            for (int bin = 0; bin < nof_bins; ++bin) {
                const bool own = bin % users == user;
                t.add_snr_db(shared_snr(user));
                b.mutable_user()->push_back(static_cast<char>(bin % users));
                b.mutable_bits_per_symbol()->push_back(static_cast<char>(own ? user + 1 : 0));
                b.mutable_outcome()->push_back(own ? 1 : 0);
                b.mutable_retransmissions()->push_back(0);
            }
            publish("base", "slot", base);
            publish("terminal", "slot", terminal);
        }
    }
    void say_status(std::int64_t slot) {
        message base, terminal;
        base.set_slot(slot);
        terminal.set_slot(slot);
        auto& b = *base.mutable_mac();
        b.set_role("base");
        b.set_slot(slot);
        const auto n = static_cast<std::uint64_t>(slot);
        for (int i = 0; i <= 8; ++i)
            b.mutable_base()->add_modulation_histogram(i == 4 ? 3 * n : i == 6 ? n : 0);
        for (int i = 0; i <= 30; ++i)
            b.mutable_base()->add_retransmission_histogram(i == 0   ? 9 * n
                                                           : i == 1 ? n
                                                           : i == 7 ? n / 15'000
                                                                    : 0);
        b.mutable_base()->set_payload_bits_acknowledged(1000 * n);
        auto& drop = *b.mutable_downlink()->add_dropped();
        drop.set_reason("queue_full");
        drop.mutable_count()->set_packets(n / 3000);
        auto& t = *terminal.mutable_mac();
        t.set_role("terminal");
        t.set_slot(slot);
        t.mutable_radio()->set_locked(true);
        if (has_snr) t.mutable_radio()->set_mean_snr_db(17.5);
        t.mutable_radio()->set_evm_percent(13.2);
        t.mutable_uplink()->mutable_queued()->set_packets(2);
        publish("base", "status", base);
        publish("terminal", "status", terminal);
    }
    void say_bearer(std::int64_t slot, std::int64_t window) {
        message base, terminal;
        base.set_slot(slot);
        terminal.set_slot(slot);
        const auto n = static_cast<std::uint64_t>(slot);
        base.mutable_mac()->set_role("base");
        base.mutable_mac()->set_slot(slot);
        base.mutable_mac()->set_rrc_state("dch");
        auto& down = *base.mutable_mac()->mutable_bearer();
        down.set_rate_bps(384e3);
        down.set_window_used(window);
        down.set_sdus_held(12);
        down.set_retransmissions(n / 30);  // 50/s
        down.set_polls(n / 150);           // 10/s
        terminal.mutable_mac()->set_role("terminal");
        terminal.mutable_mac()->set_slot(slot);
        terminal.mutable_mac()->mutable_bearer()->set_status_pdus(n / 150);
        publish("base", "status", base);
        publish("terminal", "status", terminal);
    }
    // A terminal at 1000 kbit/s, in a handover between slot 6000 and 9000, then at 384 kbit/s.
    void say_networks(std::int64_t slot) {
        message base;
        base.set_slot(slot);
        base.mutable_mac()->set_role("base");
        base.mutable_mac()->set_slot(slot);
        auto& m = *base.mutable_mac()->mutable_mobility();
        const bool during = slot >= 6000 && slot < 9000;
        m.set_network(slot < 9000 ? "WLAN" : "UMTS");
        m.set_destination(slot < 6000 ? "WLAN" : "UMTS");
        m.set_handing_over(during);
        m.set_handovers(slot < 6000 ? 0 : 1);
        m.set_handing_over_s(slot < 6000 ? 0 : during ? (slot - 6000) / 1500.0 : 2);
        m.set_waiting_packets(during ? 7 : 0);
        m.set_rate_bps(slot < 9000 ? 1000e3 : 384e3);
        publish("base", "status", base);
    }
    // A ring of six cells around the first one, side 200 m. Users are on a line from the first site
    // on, 50 m apart, and belong to cell 0 and cell 1 in turn; the SIR of user n is n dB, its power
    // -20 - 10 n dBW, and the blocks of the last one are lost.
    void say_wcdma(std::int64_t slot, int users, int terminals = 1) {
        message base;
        base.set_slot(slot);
        auto& mac = *base.mutable_mac();
        mac.set_role("base");
        mac.set_slot(slot);
        for (int n = 0; terminals > 1 && n < terminals; ++n) mac.add_users()->set_role("base");
        auto& cells = *mac.mutable_wcdma();
        cells.set_side_m(200);
        cells.set_handovers(4);
        for (int c = 0; c < 7; ++c) {
            const double angle = c * std::numbers::pi / 3;
            cells.add_sites_m(c == 0 ? 0 : 346 * std::cos(angle));
            cells.add_sites_m(c == 0 ? 0 : 346 * std::sin(angle));
        }
        for (int n = 0; n < users; ++n) {
            auto& u = *cells.add_users();
            u.set_sir_db(n);
            u.set_power_dbw(-20 - 10 * n);
            u.set_cell(n % 2);
            u.set_x_m(50 * n);
            u.set_y_m(0);
            u.set_lost(n == users - 1);
        }
        publish("base", "status", base);
    }
    void say_verdict(std::int64_t slot, bool valid = true,
                     const std::vector<std::string>& reasons = {"late: 3 slots missed their time"},
                     const std::string& command = "demo") {
        message m;
        m.set_slot(slot);
        auto& v = *m.mutable_verdict();
        v.set_valid(valid);
        v.set_command(command);
        if (!valid)
            for (const auto& reason : reasons) v.add_reason(reason);
        v.set_goodput_bps(6e6);
        v.set_capacity_bps(has_snr ? 8e6 : 0);
        publish("keeper", "verdict", m);
    }
    // One packet: parts of 1, 2, 3, 4 and 5 ms.
    void say_packet(std::int64_t slot, std::uint64_t number, const char* dropped = "") {
        message m;
        m.set_slot(slot);
        auto& p = *m.mutable_packets()->add_packet();
        p.set_number(number);
        p.set_bytes(1500);
        const std::int64_t left = slot * 2'000'000 / 3;
        p.set_left_ns(left);
        p.set_arrived_ns(left - 15'000'000);
        p.set_queue_ns(1'000'000);
        p.set_scheduling_ns(2'000'000);
        p.set_air_ns(3'000'000);
        p.set_retransmission_ns(4'000'000);
        p.set_reordering_ns(5'000'000);
        p.set_dropped(dropped);
        publish("base", "packet", m);
    }
    void say_tcp(std::int64_t slot) {
        message m;
        m.set_slot(slot);
        auto& f = *m.mutable_tcp()->add_flow();
        f.set_station("base");
        f.set_local("10.42.0.1:5201");
        f.set_remote("10.42.0.2:40000");
        f.set_cwnd_segments(static_cast<std::uint32_t>(10 + slot / 1500));
        f.set_ssthresh_segments(0x7fffffff);
        f.set_rtt_ms(20);
        f.set_rto_ms(24);
        publish("observer", "tcp", m);
    }
    static constexpr float noise_db = -35;
    // One path of amplitude 1 at 2 us, QPSK points at (+-1, +-1)/sqrt(2) times the root of the
    // energy.
    void say_receiver(std::int64_t slot) {
        message m;
        m.set_slot(slot);
        auto& r = *m.mutable_receiver();
        for (int b = 0; b < nof_bins; ++b) {
            r.mutable_symbols_of_bin()->push_back(b == 3 ? 4 : 0);
            r.mutable_bits_per_symbol()->push_back(b == 3 ? 2 : 0);
        }
        for (const int i : {45, -45})
            for (const int q : {45, -45}) {
                r.mutable_points()->push_back(static_cast<char>(i));
                r.mutable_points()->push_back(static_cast<char>(q));
            }
        for (int n = 0; n < nof_subcarriers; ++n) {
            const double hz = (n < 250 ? n - 250 : n - 249) * subcarrier_spacing_hz;
            const double turn = -2 * 3.14159265358979 * hz * 2e-6;
            r.add_channel(static_cast<float>(std::cos(turn)));
            r.add_channel(static_cast<float>(std::sin(turn)));
        }
        for (int b = 0; b < nof_bins; ++b) r.add_noise_dbfs(noise_db);
        for (int n = 0; n < fft_size; ++n) r.add_spectrum_dbfs(spectrum_db(slot, n));
        publish("terminal", "receiver", m);
    }
    // A band of 5 MHz over noise, that is higher in one sample of two; in slot 1500 there is a
    // tone beside it.
    static float spectrum_db(std::int64_t slot, int point) {
        if (slot == 1500 && point == 700) return -20;
        const bool inside = std::abs(point - fft_size / 2) <= nof_subcarriers / 2;
        return static_cast<float>((inside ? -40 : -80) + (slot % 300 == 0 ? 6 : 0));
    }
    void say_event(std::int64_t slot, const std::string& kind, const std::string& reason) {
        message m;
        m.set_slot(slot);
        m.mutable_event()->set_source("base");
        m.mutable_event()->set_kind(kind);
        m.mutable_event()->set_reason(reason);
        m.mutable_event()->set_severity(openwip::telemetry::Event::WARNING);
        m.mutable_event()->set_count(7);
        publish("base", "event", m);
    }
    void say_air(std::int64_t slot) {
        message m;
        m.set_slot(slot);
        m.mutable_air()->set_real_time_factor(1.0);
        m.mutable_air()->set_speed(1);
        m.mutable_air()->set_pacing_p99_us(250);
        publish("observer", "air", m);
    }
    // A cabled cell's: a fader of 10240 samples, two taps.
    void say_fader(std::int64_t slot, double input_dbfs, unsigned clipped = 3,
                   bool way_back = false, unsigned silences = 0) {
        message m;
        m.set_slot(slot);
        auto& a = *m.mutable_air();
        a.set_delay_samples(10240);
        a.set_clipped(clipped);
        a.mutable_fader_radios()->set_silences(silences);
        // A way back is louder than what the first path makes.
        const auto node = [&](const char* name, double input, double output) {
            auto& n = *a.add_fader_nodes();
            n.set_name(name);
            n.set_input_dbfs(input);
            n.set_output_dbfs(output);
        };
        node("base", input_dbfs, -5);
        node("terminal", -4, -30);
        const auto path = [&](const char* from, const char* to, std::vector<double> taps) {
            auto& p = *a.add_fader_paths();
            p.set_from(from);
            p.set_to(to);
            for (const double x : taps) {
                p.add_tap_delay_us(0.78 + x);
                p.add_tap_gain_db(-3 - 10 * x);
                p.add_tap_phase(x);
            }
        };
        path("base", "terminal", {0.0, 1.0});
        if (way_back) path("terminal", "base", {2.0});
        auto& sounding = *a.add_soundings();
        sounding.set_residual_db(-31.5);
        sounding.set_limit_db(-25);
        publish("observer", "air", m);
    }
    // Channels 1 and 3, the second 10 dB more.
    void say_attenuator(std::int64_t slot, double level_db, unsigned underflows = 0,
                        double silent_s = 0) {
        message m;
        m.set_slot(slot);
        auto& a = *m.mutable_attenuator();
        a.set_state("playing");
        a.set_steps(3000);
        a.set_played(static_cast<std::uint64_t>(slot / 15));
        a.set_underflows(underflows);
        a.set_silent_s(silent_s);
        for (const unsigned channel : {1, 3}) {
            a.add_channels(channel);
            a.add_levels_db(level_db + 5 * (channel - 1));
        }
        publish("attenuator", "attenuator", m);
    }
    // The supervisor's report about the way through its radios: 7 of 8 bursts, or not evaluated.
    void say_through_radios(std::int64_t slot, double residual_db,
                            const std::string& why_not = "") {
        message m;
        m.set_slot(slot);
        m.mutable_verdict()->set_valid(true);
        auto& t = *m.mutable_verdict()->mutable_through_radios();
        t.set_bursts(8);
        t.set_heard(7);
        t.set_not_judged(why_not);
        t.set_wrong(residual_db > -23);
        if (why_not.empty()) {
            t.set_residual_db(residual_db);
            t.set_limit_db(-23);
        }
        publish("keeper", "verdict", m);
    }
    void say_injection(std::int64_t slot, double pdelay_ms) {
        message m;
        m.set_slot(slot);
        auto& s = *m.mutable_mac();
        s.set_role("base");
        auto& d = *s.mutable_delay_injection();
        d.set_samples(50);
        d.set_spikes(2);
        d.set_held(10);
        d.set_held_ms(80);
        d.set_held_now(7);
        d.set_pdelay_ms(pdelay_ms);
        d.set_threshold_ms(slot == 150 ? std::numeric_limits<double>::infinity() : 43);
        d.set_delay_ms(80);
        publish("base", "status", m);
    }
    // Whether the messages have SNRs; without them no capacity is known either.
    bool has_snr = true;
    // Publishes `seconds` of all topics; `verdict`: the verdict monitor's topic as well.
    void say_run(int seconds, bool verdict = true) {
        for (std::int64_t slot = 15; slot <= slots_per_second * seconds; slot += 15) {
            say_slot(slot);
            if (slot % 150 != 0) continue;
            say_status(slot);
            say_packet(slot, static_cast<std::uint64_t>(slot / 150), "");
            say_tcp(slot);
            say_receiver(slot);
            say_air(slot);
            if (verdict) say_verdict(slot);
            if (slot % 3000 == 0) say_event(slot, "drop", "queue_full");
        }
    }

    // --- control ---

    // Takes link.bins, refuses everything else; says what it runs with, and `more` of it.
    void serve_control(const std::string& station, const std::string& more = "") {
        serving_ = true;
        const std::string endpoint = "ipc://" + run() + "/" + station + ".control";
        control_ = std::thread([this, endpoint, more] {
            zmq::socket_t socket(context_, zmq::socket_type::rep);
            socket.set(zmq::sockopt::rcvtimeo, 50);
            socket.set(zmq::sockopt::linger, 0);
            socket.bind(endpoint);
            int bins = 25;
            while (serving_) {
                zmq::message_t frame;
                if (!socket.recv(frame)) continue;
                openwip::control::Request request;
                request.ParseFromArray(frame.data(), static_cast<int>(frame.size()));
                openwip::control::Reply reply;
                reply.set_ok(true);
                if (!request.configure_yaml().empty()) {
                    const std::lock_guard guard(mutex_);
                    requests_.push_back(request.configure_yaml());
                    if (std::sscanf(request.configure_yaml().c_str(), "link:\n  bins: %d", &bins) !=
                        1) {
                        reply.set_ok(false);
                        reply.set_error("only link.bins can be changed here");
                    }
                }
                reply.mutable_mac()->set_role("base");
                reply.mutable_mac()->set_effective_yaml(
                    "link:\n  bins: " + std::to_string(bins) +
                    "\n  modulation: adaptive\n  combining: true\n" + more);
                ::usleep(answers_after_us);
                socket.send(zmq::buffer(reply.SerializeAsString()), zmq::send_flags::none);
            }
        });
    }
    std::atomic<unsigned> answers_after_us = 0;
    void stop_control() {
        serving_ = false;
        if (control_.joinable()) control_.join();
    }
    std::vector<std::string> requests() {
        const std::lock_guard guard(mutex_);
        return requests_;
    }

private:
    QTemporaryDir folder_;
    std::string name_;
    zmq::context_t context_;
    std::map<std::string, zmq::socket_t> sockets_;
    std::map<std::pair<std::string, std::string>, std::uint64_t> sequences_;
    std::uint64_t published_ = 0;
    std::thread control_;
    std::atomic<bool> serving_ = false;
    std::mutex mutex_;
    std::vector<std::string> requests_;
};

}  // namespace wip::gui
