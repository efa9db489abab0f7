// SPDX-License-Identifier: GPL-3.0-or-later
// A running medium for a test: starts the `air` program with a configuration, ends it with the
// test.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace wip::test {

class air_process {
public:
    // `settings`: more lines of the air section; `rest`: nodes and paths.
    air_process(const std::string& settings, const std::string& rest) {
        name_ = "test-" + std::to_string(getpid());
        file_ = "/tmp/openwip-" + name_ + ".yaml";
        std::ofstream(file_) << "air: {name: " << name_ << ", " << settings << "}\n" << rest;
        const std::string program = build_folder() + "/host/medium/air";
        pid_ = fork();
        if (pid_ == 0) {
            execl(program.c_str(), "air", "--config", file_.c_str(), nullptr);
            _exit(127);
        }
    }
    ~air_process() { stop(); }

    int stop() {
        if (pid_ <= 0) return -1;
        kill(pid_, SIGTERM);
        int status = 0;
        waitpid(pid_, &status, 0);
        pid_ = 0;
        unlink(file_.c_str());
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    std::string args(const std::string& node) const {
        return "type=vusrp,connect_timeout=5,air=" + name_ + ",node=" + node;
    }
    static std::string build_folder() {
        const char* b = std::getenv("OPENWIP_BUILD");
        if (!b) throw std::runtime_error("OPENWIP_BUILD is not set: run with ctest");
        return b;
    }

private:
    std::string name_, file_;
    pid_t pid_ = 0;
};

}  // namespace wip::test
