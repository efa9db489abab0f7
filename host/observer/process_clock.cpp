// SPDX-License-Identifier: GPL-3.0-or-later
#include "observer/process_clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <thread>

namespace wip::observer {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return {};
    char buffer[4096];
    const auto size = ::read(fd, buffer, sizeof buffer);
    ::close(fd);
    return size > 0 ? std::string(buffer, static_cast<std::size_t>(size)) : std::string();
}

template <typename T>
bool number(std::string_view text, T& value) {
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    return code == std::errc{} && end == text.data() + text.size();
}

// Calls take() with each entry of a folder. A folder that vanishes on the way ends the list, where
// ++ of an iterator may throw.
template <typename Take>
void for_each_entry(const fs::path& folder, Take&& take) {
    std::error_code ended;
    for (fs::directory_iterator at(folder, ended), end; !ended && at != end; at.increment(ended))
        take(at->path());
}

std::vector<std::string_view> words(std::string_view text) {
    std::vector<std::string_view> found;
    for (std::size_t at = text.find_first_not_of(" \n"); at != std::string_view::npos;) {
        const auto end = std::min(text.find_first_of(" \n", at), text.size());
        found.push_back(text.substr(at, end - at));
        at = text.find_first_not_of(" \n", end);
    }
    return found;
}

}  // namespace

std::optional<stat_figures> parse_stat(std::string_view text) {
    const auto bracket = text.rfind(')');  // the name before it may contain anything
    if (bracket == std::string_view::npos) return std::nullopt;
    const auto fields = words(text.substr(bracket + 1));  // fields from the third on
    std::uint64_t user = 0, system = 0, start = 0, pages = 0;
    if (fields.size() < 22 || fields[0] == "Z" || fields[0] == "X" || !number(fields[11], user) ||
        !number(fields[12], system) || !number(fields[19], start) || !number(fields[21], pages))
        return std::nullopt;
    static const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return stat_figures{static_cast<double>(user + system) / ticks, start, pages * page};
}

std::optional<std::uint64_t> parse_schedstat(std::string_view text) {
    const auto fields = words(text);
    std::uint64_t waited = 0, times_run = 0;
    if (fields.size() != 3 || !number(fields[1], waited) || !number(fields[2], times_run) ||
        times_run == 0)
        return std::nullopt;
    return waited;
}

std::optional<std::uint64_t> parse_pressure(std::string_view text) {
    const auto line = text.substr(0, text.find('\n'));
    const auto at = line.find("total=");
    std::uint64_t total = 0;
    if (!line.starts_with("some ") || at == std::string_view::npos ||
        !number(line.substr(at + 6), total))
        return std::nullopt;
    return total;
}

process_clock::process_clock(fs::path run, fs::path proc)
    : run_(std::move(run)), proc_(std::move(proc)) {}

std::map<process_clock::process, process_clock::totals> process_clock::read_list() const {
    std::map<process, totals> list;
    const auto add = [&](std::string_view pid_text, std::string_view start, std::string name,
                         bool application) {
        process p;
        p.application = application;
        if (number(pid_text, p.pid) && number(start, p.start_ticks)) {
            p.name = std::move(name);
            list.emplace(std::move(p), totals{});
        }
    };
    for_each_entry(run_ / "pids", [&](const fs::path& path) {
        const std::string text = read_file(path);
        if (const auto w = words(text); w.size() == 2)
            add(w[0], w[1], path.filename().string(), false);
    });
    std::ifstream applications(run_ / "applications");
    for (std::string line; std::getline(applications, line);)
        if (const auto w = words(line); w.size() >= 3) add(w[0], w[1], std::string(w[2]), true);
    return list;
}

std::optional<std::uint64_t> process_clock::waited(int pid) const {
    std::uint64_t sum = 0;
    bool any = false;
    for_each_entry(proc_ / std::to_string(pid) / "task", [&](const fs::path& task) {
        if (const auto ns = parse_schedstat(read_file(task / "schedstat"))) {
            sum += *ns;
            any = true;
        }
    });
    return any ? std::optional(sum) : std::nullopt;
}

std::optional<stat_figures> process_clock::figures(const process& p) const {
    const auto found = parse_stat(read_file(proc_ / std::to_string(p.pid) / "stat"));
    return found && found->start_ticks == p.start_ticks ? found : std::nullopt;
}

std::vector<process_clock::ended_process> process_clock::take_ended() {
    std::vector<ended_process> ended;
    std::erase_if(last_, [&](const auto& entry) {
        const process& p = entry.first;
        if (figures(p)) return false;
        ended.push_back({p.name, p.application});
        return true;
    });
    return ended;
}

void process_clock::sample(std::int64_t now_ns, std::size_t most,
                           openwip::telemetry::CpuSample& out) {
    out.Clear();
    auto list = read_list();
    for (auto it = list.begin(); it != list.end();) {
        const auto& [p, unused] = *it;
        const auto now = figures(p);
        if (!now || static_cast<std::size_t>(out.process_size()) == most) {
            if (now) out.set_left_out(out.left_out() + 1);
            it = list.erase(it);
            continue;
        }
        const auto wait_ns = waited(p.pid);
        it->second = {now->cpu_seconds, wait_ns.value_or(0), now_ns};
        auto& entry = *out.add_process();
        entry.set_name(p.name);
        entry.set_seconds(now->cpu_seconds);
        entry.set_resident_bytes(now->resident_bytes);
        if (const auto before = last_.find(p); before != last_.end()) {
            const double interval = static_cast<double>(now_ns - before->second.at_ns) * 1e-9;
            if (interval > 0) {
                entry.set_cores((now->cpu_seconds - before->second.cpu_seconds) / interval);
                // A thread that ended takes its waiting along: then the interval's is not known.
                if (wait_ns && *wait_ns >= before->second.waited_ns)
                    entry.set_waiting(static_cast<double>(*wait_ns - before->second.waited_ns) *
                                      1e-9 / interval);
            }
        }
        ++it;
    }
    last_ = std::move(list);

    const auto pressure = parse_pressure(read_file(proc_ / "pressure" / "cpu"));
    if (pressure && last_pressure_us_ && now_ns > last_ns_)
        out.set_pressure_percent(static_cast<double>(*pressure - *last_pressure_us_) * 1e5 /
                                 static_cast<double>(now_ns - last_ns_));
    last_pressure_us_ = pressure;
    last_ns_ = now_ns;
    double load = 0;
    const std::string text = read_file(proc_ / "loadavg");
    if (const auto w = words(text); !w.empty() && number(w[0], load)) out.set_load_average(load);
    out.set_cores(std::thread::hardware_concurrency());
}

}  // namespace wip::observer
