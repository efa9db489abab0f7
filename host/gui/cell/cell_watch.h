// SPDX-License-Identifier: GPL-3.0-or-later
// Which cells run on this machine, as their run directories tell (docs/demo.md). Looking disturbs
// nobody: the lock of the directory, which a launcher tries for, is not touched.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace wip::gui {

struct cell_sockets {
    // Name ("base", "observer", ...) to endpoint.
    std::map<std::string, std::string> telemetry;
    std::map<std::string, std::string> control;
    // Differs between two runs of the same name.
    std::string incarnation;
};

class cell_watch {
public:
    explicit cell_watch(std::string root = "/run/openwip") : root_(std::move(root)) {}

    // Cells whose keeper lives.
    std::vector<std::string> running() const;
    // Throws bad_input when the directory cannot be entered. Nothing there: empty.
    cell_sockets sockets_of(const std::string& cell) const;
    bool is_running(const std::string& cell) const;

private:
    std::string root_;
};

}  // namespace wip::gui
