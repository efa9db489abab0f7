// SPDX-License-Identifier: GPL-3.0-or-later
// Processor time of the processes of a cell, and how long they waited for a core, from /proc.
//
// Which processes: the files of RUN/pids ("pid start-time", named as the process; the supervisor
// writes them) and the lines of RUN/applications ("pid start-time name": what runs in the cell's
// namespaces; the verdict monitor writes it, since only root sees a process's namespace). The start
// time shows whether a pid was given to another process meanwhile.
//
// Waiting is the run-queue delay of /proc/PID/task/TID/schedstat, all threads together: the time
// during which a thread was ready and had no core. A thread's first figures count from its start.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/telemetry.pb.h"

namespace wip::observer {

struct stat_figures {
    double cpu_seconds = 0;
    std::uint64_t start_ticks = 0;
    std::uint64_t resident_bytes = 0;
};
// Reads the text of /proc/PID/stat; nothing if it is not valid or the process has ended (zombie).
std::optional<stat_figures> parse_stat(std::string_view text);
// Nanoseconds on the run queue, of the text of a schedstat file. Nothing for a thread that never
// ran: a kernel that does not count says "0 0 0" of all.
std::optional<std::uint64_t> parse_schedstat(std::string_view text);
// Total microseconds of the line "some" of a pressure file.
std::optional<std::uint64_t> parse_pressure(std::string_view text);

class process_clock {
public:
    // `proc`: "/proc", or a folder like it (tests).
    process_clock(std::filesystem::path run, std::filesystem::path proc);

    // The interval since the last call, `now_ns` on a clock that only the caller knows. The first
    // call gives the totals, with 0 cores. At most `most` processes.
    void sample(std::int64_t now_ns, std::size_t most, openwip::telemetry::CpuSample& out);

    struct ended_process {
        std::string name;
        bool application = false;  // it is in RUN/applications
        auto operator<=>(const ended_process&) const = default;
    };
    // The processes of the last sample that have ended since, each returned once.
    std::vector<ended_process> take_ended();

private:
    struct process {
        int pid = 0;
        std::uint64_t start_ticks = 0;
        std::string name;
        bool application = false;
        auto operator<=>(const process&) const = default;
    };
    struct totals {
        double cpu_seconds = 0;
        std::uint64_t waited_ns = 0;
        std::int64_t at_ns = 0;
    };
    std::map<process, totals> read_list() const;
    std::optional<std::uint64_t> waited(int pid) const;
    // The figures of a process; nothing if it has ended.
    std::optional<stat_figures> figures(const process& p) const;

    std::filesystem::path run_, proc_;
    std::map<process, totals> last_;
    std::optional<std::uint64_t> last_pressure_us_;
    std::int64_t last_ns_ = 0;
};

}  // namespace wip::observer
