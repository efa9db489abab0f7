// SPDX-License-Identifier: GPL-3.0-or-later
// wip_capture: telemetry of a running cell into a pcapng file (docs/how-to/captures.md). Ends on a
// signal, when there is enough, when the cell or the reader of the output ends; the file is whole
// in each case.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>

#include "capture/capture.h"
#include "config/command_line.h"
#include "config/number_option.h"
#include "runtime/poll_set.h"
#include "runtime/process.h"
#include "runtime/telemetry_reader.h"
#include "types/failure.h"
#include "types/not_valid.h"

namespace {

using namespace wip;
using namespace wip::capture;
using wip_clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds flush_every{100};
constexpr std::chrono::seconds drain_patience{3};  // for messages of a cell that has ended

struct arguments {
    std::string file, base, terminal, supervisor, only, end_file, user;
    double wait_s = 10;
    bool quiet = false, pcap = false;
    capture_options options;
};

void describe(CLI::App& app, arguments& a) {
    app.add_option("-o,--output", a.file, "pcapng file, FIFO, or - for standard output")
        ->required();
    app.add_option("--base", a.base,
                   "telemetry endpoint of the base station; none: a replay, which has none");
    app.add_option("--terminal", a.terminal, "telemetry endpoint of the terminals")->required();
    app.add_option("--keeper", a.supervisor,
                   "telemetry endpoint that the verdict so far comes from");
    app.add_option("--terminals", a.options.terminals, "number of terminals")
        ->transform(config::number_in(1, 25));
    app.add_option("--seconds", a.options.seconds, "end after so much air time")
        ->transform(config::number_in(0.001, 1e6));
    app.add_option("--count", a.options.count, "end after so many packets")
        ->transform(config::number_in(std::uint64_t{1}, std::uint64_t{1} << 40));
    app.add_flag("--pdus", a.options.pdus, "frames are PDUs of UMTS bearers");
    app.add_option("--only", a.only, "ip or frames")->check(CLI::IsMember({"ip", "frames"}));
    app.add_flag("--pcap", a.pcap, "classic pcap of one link type; only with --only");
    app.add_option("--snap", a.options.snap, "bytes kept of a packet")
        ->transform(config::number_in(64U, 65535U));
    app.add_option("--start-ns", a.options.start_ns, "wall clock of sample 0, ns since 1970")
        ->transform(config::number_in(std::int64_t{0}, wip::capture::latest_wall_ns));
    app.add_option("--speed", a.options.speed, "of the cell's clock")
        ->transform(config::number_in(0.01, 100.0));
    app.add_option("--wait", a.wait_s, "seconds to wait for the cell")
        ->transform(config::number_in(0.1, 3600.0));
    app.add_option("--comment", a.options.comments, "of the section, repeatable");
    app.add_option("--verdict", a.options.verdict, "of the run so far");
    app.add_option("--end-file", a.end_file,
                   "read at the end: the run's verdict, then what ended it, a line each");
    app.add_option("--user", a.user,
                   "whom a capture that root started becomes once its file is open");
    app.add_flag("--quiet", a.quiet, "no summary");
}

// Everything that waits: signals, publishers.
class reading {
public:
    reading(const arguments& a, int signals)
        : signals_(signals), context_(1), terminal_(context_, a.terminal, "terminal", topics(a)) {
        watched_.add(signals);
        watch(terminal_);
        if (!a.base.empty()) watch(base_.emplace(context_, a.base, "base", topics(a)));
        if (!a.supervisor.empty())
            supervisor_.emplace(context_, a.supervisor, "keeper",
                                std::vector<std::string>{"verdict"});
    }

    // Captures until something ends it. Returns why it ended.
    std::string run(wip::capture::capture& to, capture_file& file, double wait_s) {
        const auto patience = wip_clock::now() + std::chrono::duration<double>(wait_s);
        auto flushed = wip_clock::now();
        // After a signal, messages that have come by then are still read; a second signal ends
        // that.
        std::string asked;
        auto drained = flushed;
        while (true) {
            if (asked.empty()) watched_.sleep(flush_every);
            // Checked before reading: messages that the publishers sent before they ended have
            // arrived by then.
            const bool ended = gone();
            const bool more =
                (base_ && read(*base_, station::base, to)) | read(terminal_, station::terminal, to);
            read_verdict();
            const auto now = wip_clock::now();
            if (now - flushed >= flush_every) {
                file.flush();
                flushed = now;
            }
            if (file.failed()) return file.reader_gone() ? "the reader has gone" : "";
            if (const auto name = host::take_signal(signals_)) {
                if (!asked.empty()) return asked;
                asked = "stopped by " + *name;
                drained = now + drain_patience;
                file.hurry();
            }
            if (!asked.empty() && (!more || now > drained)) return asked;
            if (to.enough()) return "as much as was asked for";
            if (ended && !more) return "the cell has ended";
            const bool base_there = !base_ || base_->ever_connected();
            if (!(base_there && terminal_.ever_connected()) && now > patience) {
                no_cell_ = base_there ? terminal_.endpoint() : base_->endpoint();
                return "";
            }
        }
    }
    // The last verdict that the verdict monitor published; empty: none came.
    const std::string& verdict() const { return verdict_; }
    const std::string& no_cell() const { return no_cell_; }
    std::uint64_t malformed() const { return terminal_.malformed + (base_ ? base_->malformed : 0); }
    std::uint64_t newer() const {
        return terminal_.newer_version + (base_ ? base_->newer_version : 0);
    }

private:
    static std::vector<std::string> topics(const arguments& a) {
        // topic `status` has the clock when no other message comes
        std::vector<std::string> list{"status"};
        if (a.options.ip) list.push_back("ip");
        if (a.options.frames) list.push_back("frames");
        return list;
    }
    // Whether all publishers were connected once, and none is any more.
    bool gone() {
        if (base_) base_->on_monitor();
        terminal_.on_monitor();
        return (!base_ || base_->gone()) && terminal_.gone();
    }
    void watch(host::telemetry_reader& reader) {
        watched_.add(reader.socket());
        watched_.add(reader.monitor());
    }
    // A verdict comes once a second, so it is read whenever another message has come.
    void read_verdict() {
        while (supervisor_ && supervisor_->receive(message_)) {
            if (!message_.has_verdict()) continue;
            verdict_ =
                message_.verdict().valid() ? "verdict so far: VALID" : "verdict so far: INVALID";
            for (int i = 0; i < message_.verdict().reason_size(); ++i)
                verdict_ += (i == 0 ? ": " : "; ") + message_.verdict().reason(i);
        }
    }
    // Reads a bounded number of messages, so that the other publisher has its turn.
    bool read(host::telemetry_reader& from, station which, wip::capture::capture& to) {
        for (int n = 0; n < 100; ++n) {
            if (!from.receive(message_)) return n > 0;
            to.take(which, message_);
        }
        return true;
    }

    int signals_;
    zmq::context_t context_;
    std::optional<host::telemetry_reader> base_, supervisor_;
    host::telemetry_reader terminal_;
    host::poll_set watched_;
    std::string verdict_;
    openwip::telemetry::Telemetry message_;
    std::string no_cell_;
};

// The file in which the program that starts and ends the capture leaves the verdict and the cause
// of the end; empty: there is none.
struct end_of_run {
    std::string verdict, why;

    explicit end_of_run(std::istream& in) {
        std::getline(in, verdict);
        std::getline(in, why);
    }
};

void summarise(const std::string& name, const std::string& why, const wip::capture::capture& c,
               const capture_file& file, const reading& from) {
    std::uint64_t packets = 0, dropped = 0;
    std::string by_interface;
    for (std::size_t n = 0; const auto& i : c.interfaces()) {
        const std::uint64_t written = file.packets(static_cast<std::uint32_t>(n++));
        packets += written;
        dropped += i.dropped;
        by_interface += " " + i.name + " " + std::to_string(written) + ",";
    }
    std::string line = std::to_string(packets) + " packets to " + name + ":" + by_interface;
    line += " " + std::to_string(dropped) + " lost in telemetry";
    const auto also = [&line](std::uint64_t n, const char* what) {
        if (n != 0) line += ", " + std::to_string(n) + " " + what;
    };
    also(c.late(), "packets out of order");
    also(c.unknown(), "of unknown terminals or links left out");
    also(from.malformed() + c.malformed(), "messages that do not parse left out");
    also(from.newer(), "messages of a newer version left out");
    std::fprintf(stderr, "openwip capture: %s (%s)\n", line.c_str(), why.c_str());
}

void give_up_root(const std::string& user) {
    if (user.empty() || ::geteuid() != 0) return;
    const auto account = host::find_account(user);
    if (!account) throw bad_input(not_valid("--user", user, "an account of this computer"));
    int signal = 0;  // signal at the parent's death; changing the user clears it
    prctl(PR_GET_PDEATHSIG, &signal);
    const pid_t parent = ::getppid();
    host::drop_privileges(*account);
    prctl(PR_SET_PDEATHSIG, signal);
    // the parent died before the signal was set
    if (signal != 0 && ::getppid() != parent) raise(signal);
}

int run(arguments& a) {
    a.options.ip = a.only != "frames";
    a.options.frames = a.only != "ip";
    a.options.base = !a.base.empty();
    a.options.application = "OpenWIP capture " OPENWIP_VERSION;
    const int signals = host::make_signal_descriptor();
    host::follow_parent();
    reading from(a, signals);
    if (a.pcap && a.only.empty())
        throw bad_input(
            "--pcap is given without --only, and a pcap file holds packets of one link type; "
            "valid: "
            "--only ip, or --only frames");
    capture_file file(a.file, signals, a.pcap);
    // the file may belong to root, so it is opened before rights are given up
    std::ifstream end_file(a.end_file);
    // writes the header, with which the file gets its name
    wip::capture::capture c(a.options, file);
    if (file.failed() && !file.reader_gone()) throw machine_error(file.failure());
    give_up_root(a.user);
    std::string why = from.run(c, file, a.wait_s);
    const end_of_run end(end_file);
    if (!end.why.empty()) why = end.why;
    c.finish(end.verdict.empty() ? from.verdict() : end.verdict);
    if (c.enough()) why = "as much as was asked for";
    if (!from.no_cell().empty()) throw bad_input("no cell answers at " + from.no_cell());
    if (file.failed()) why = file.reader_gone() ? "the reader has gone" : file.reason();
    if (!a.quiet) summarise(a.file, why, c, file, from);
    if (file.failed() && !file.reader_gone()) {
        std::fprintf(stderr, "openwip capture: %s; the capture ends there\n",
                     file.failure().c_str());
        return host::exit_failed;
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    google::protobuf::SetLogHandler(nullptr);  // damaged messages are counted
    arguments a;
    CLI::App app{"OpenWIP: IP and link frames of a running cell as pcapng"};
    describe(app, a);
    return config::with_command_line(app, argc, argv, "openwip capture", [&] { return run(a); });
}
