// SPDX-License-Identifier: GPL-3.0-or-later
// wip_split_guest PORTS BUFFER CONNECTIONS KEEPALIVE NAMESPACE: the same proxy inside the kernel of
// virtual time (host/virtual/guest.cpp), which has no rules that hand packets over: it listens at
// the ports themselves, and connects in the namespace of that descriptor. Its counts when it is
// ended.
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "split/proxy.h"

namespace {

using namespace wip::split;

void tell(const proxy_counts& c) {
    auto ways = nlohmann::json::array();
    for (const auto& w : c.ways)
        ways.push_back({{"in", w.in},
                        {"out", w.out},
                        {"lost", w.lost},
                        {"held", w.held},
                        {"most_held", w.most_held}});
    const nlohmann::json all{{"split", c.split},
                             {"open", c.open},
                             {"ended", c.ended},
                             {"reset", c.reset},
                             {"not_reached", c.not_reached},
                             {"full", c.full},
                             {"ways", ways}};
    std::printf("%s", all.dump().c_str());
}

int run(char** words) {
    proxy_config config;
    config.transparent = false;
    std::istringstream ports(words[1]);
    for (std::string port; std::getline(ports, port, ',');)
        config.ports.push_back(static_cast<std::uint16_t>(std::stoi(port)));
    config.buffer_bytes = std::stoul(words[2]);
    config.connections = std::stoi(words[3]);
    config.keepalive_s = std::stoi(words[4]);
    config.connect_namespace = std::stoi(words[5]);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    const int signals = ::signalfd(-1, &set, SFD_CLOEXEC);
    proxy p(config);
    for (;;) {
        pollfd watched[] = {{signals, POLLIN, 0}, {p.fd(), POLLIN, 0}};
        ::poll(watched, 2, static_cast<int>(p.patience().count()));
        p.work();
        if (watched[0].revents != 0) break;
    }
    tell(p.counts());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return argc == 6 ? run(argv) : 2;
    } catch (const std::exception& e) {
        std::printf("%s", e.what());
        return 1;
    }
}
