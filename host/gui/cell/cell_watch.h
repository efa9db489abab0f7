// SPDX-License-Identifier: GPL-3.0-or-later
// Finds the cells that run on this machine by their run directories (docs/reference/demo.md). It
// does not take the lock of a directory, which a launcher may be waiting for.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace wip::gui {

struct cell_sockets {
    // Name ("base", "observer", ...) to endpoint.
    std::map<std::string, std::string> telemetry;
    std::map<std::string, std::string> control;
    // Differs between two runs of the same name, which have different supervisors.
    std::string incarnation;
};

class cell_watch {
public:
    explicit cell_watch(std::string root = "/run/openwip") : root_(std::move(root)) {}

    // Cells whose supervisor lives.
    std::vector<std::string> running() const;
    // The sockets of a cell whose supervisor lives; nothing when it does not run. The state is read
    // once: a supervisor removes it while it still lives, and a second reading would find another
    // run. Throws bad_input when the directory cannot be entered.
    std::optional<cell_sockets> find(const std::string& cell) const;

private:
    std::string root_;
};

}  // namespace wip::gui
