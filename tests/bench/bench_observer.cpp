// SPDX-License-Identifier: GPL-3.0-or-later
// Cost of the observer's readings, in processor time of one core: a search for connections, asking
// for 2 and for 64 known ones, a look at 10 processes; and what that is at the default rates (50
// samples and 10 searches a second in two namespaces, one look a second). The connections are this
// process's own. JSON on standard output.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <vector>

#include "observer/process_clock.h"
#include "observer/tcp_diag.h"
#include "observer/tcp_flow.h"

namespace {

using namespace wip::observer;

double cpu_us() {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + 1e-3 * static_cast<double>(t.tv_nsec);
}

template <typename Act>
double mean_us(int times, Act&& act) {
    const double began = cpu_us();
    for (int i = 0; i < times; ++i) act();
    return (cpu_us() - began) / times;
}

bool connect_pairs(int pairs, std::vector<int>& fds) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* a = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    fds.push_back(listener);
    if (::bind(listener, a, size) != 0 || ::listen(listener, pairs) != 0 ||
        ::getsockname(listener, a, &size) != 0)
        return false;
    for (int i = 0; i < pairs; ++i) {
        fds.push_back(::socket(AF_INET, SOCK_STREAM, 0));
        if (::connect(fds.back(), a, size) != 0) return false;
        fds.push_back(::accept(listener, nullptr, nullptr));
    }
    return true;
}

}  // namespace

int main() {
    std::vector<int> fds;
    if (!connect_pairs(32, fds)) return 1;
    tcp_diag few("", "bench", 2), many("", "bench", 64);
    if (!few.search() || !many.search()) {
        std::fprintf(stderr, "bench_observer: no inet_diag: %s\n", many.failure().c_str());
        return 1;
    }
    const double search = mean_us(100, [&] { many.search(); });
    const double two = mean_us(500, [&] { few.refresh(); });
    const double all = mean_us(200, [&] { many.refresh(); });
    openwip::telemetry::TcpSample sample;
    const double message = mean_us(200, [&] {
        sample.Clear();
        for (const auto& c : many.connections()) fill(c, "base", *sample.add_flow());
        const auto bytes = sample.SerializeAsString();
        if (bytes.empty()) std::abort();
    });

    char name[] = "/tmp/owip-bench-XXXXXX";
    if (::mkdtemp(name) == nullptr) return 1;
    const std::filesystem::path run = name;
    std::filesystem::create_directories(run / "pids");
    std::ifstream stat("/proc/self/stat");
    std::string text, field;
    std::getline(stat, text);
    for (int n = 0; n < 10; ++n) {  // ten names for this process
        std::size_t at = text.rfind(')') + 2;
        for (int skip = 0; skip < 19; ++skip) at = text.find(' ', at) + 1;
        std::ofstream(run / "pids" / std::to_string(n))
            << ::getpid() << ' ' << text.substr(at, text.find(' ', at) - at);
    }
    process_clock clock(run, "/proc");
    openwip::telemetry::CpuSample cpu;
    std::int64_t now = 0;
    const double processes = mean_us(100, [&] { clock.sample(now += 1'000'000'000, 64, cpu); });
    std::filesystem::remove_all(run);

    const double share = 1e-6 * (2 * (10 * search + 40 * two) + processes);
    std::printf(
        "{\"search_us\": %.1f, \"refresh_2_us\": %.1f, \"refresh_64_us\": %.1f, "
        "\"message_64_us\": %.1f, \"cpu_sample_10_us\": %.1f, \"processes\": %d,\n"
        " \"core_share_two_flows\": %.4f, \"core_share_64_flows\": %.4f}\n",
        search, two, all, message, processes, cpu.process_size(), share,
        1e-6 * (2 * (10 * search + 40 * all + 50 * message) + processes));
    for (const int fd : fds) ::close(fd);
    return 0;
}
