// SPDX-License-Identifier: GPL-3.0-or-later
// The subject of a window: a running cell (found by name, or at given endpoints), or nothing yet.
// It fetches messages once per frame, feeds reader and model, and knows whether the stream is
// alive.
#pragma once

#include <QString>
#include <map>
#include <optional>
#include <string>

#include "gui/cell/cell_watch.h"
#include "gui/cell/telemetry_client.h"
#include "gui/model/message_reader.h"
#include "gui/model/session_model.h"

namespace wip::gui {

struct session_options {
    std::string cell;  // empty: the one cell that runs
    // Given endpoints by source instead of a cell of this machine.
    std::map<std::string, std::string> telemetry;
    std::map<std::string, std::string> control;
    curve_keys keys;
    std::string run_root = "/run/openwip";
};

enum class stream_state { no_cell, waiting, live, stalled, ended, replay };

class session {
public:
    // Throws bad_input with one line about an endpoint or key that cannot be used.
    explicit session(session_options options);

    // Called once per frame: looks for cells now and then, reads messages that have come.
    void poll();
    // A message from elsewhere (a replay) through the same reader and model.
    void take(const raw_message& raw);
    void clear();
    // Switches a replay on or off; during one nothing is read from sockets.
    void set_replay(bool on);
    bool replaying() const { return replay_; }
    // Grows when the window shows something else: another cell, another run of it, a replay, no
    // cell any more. State kept about the earlier subject is then void.
    std::uint64_t subject() const { return subject_; }
    // Called with every raw message that came off the wire; empty: none.
    void set_tap(message_sink tap) { tap_ = std::move(tap); }
    void choose_cell(const std::string& name);

    stream_state state() const;
    // One line for people: what runs, or what is wrong and what to do.
    QString state_text() const;
    // The cell that is shown; while none has been found, the one that was asked for.
    const std::string& cell() const { return cell_.empty() ? options_.cell : cell_; }
    double seconds_since_last() const;
    const session_model& model() const { return model_; }
    session_model& model() { return model_; }
    const message_reader& reader() const { return reader_; }
    // The processes that take requests now: none in a replay, or when the cell has ended.
    const std::map<std::string, std::string>& control_endpoints() const { return control_; }
    const curve_keys& keys() const { return options_.keys; }
    std::vector<std::string> running_cells() const { return watch_.running(); }

private:
    void look_for_cell();
    void leave_cell();
    void connect_remote();

    session_options options_;
    cell_watch watch_;
    telemetry_client client_;
    message_reader reader_;
    session_model model_;
    message_sink tap_;
    std::map<std::string, std::string> control_;
    std::string cell_, incarnation_, trouble_;
    std::uint64_t subject_ = 0;
    bool cell_runs_ = false, remote_ = false, replay_ = false;
    std::int64_t last_message_ns_ = 0, next_look_ns_ = 0, connected_ns_ = 0;
};

}  // namespace wip::gui
