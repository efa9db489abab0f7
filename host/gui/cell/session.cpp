// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/cell/session.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace wip::gui {
namespace {

constexpr std::int64_t look_every_ns = 500'000'000;
// `status` comes ten times a second of air time; a cell at a tenth of real time is not stalled.
constexpr double stalled_after_s = 2;

}  // namespace

session::session(session_options options)
    : options_(std::move(options)),
      watch_(options_.run_root),
      remote_(!options_.telemetry.empty()) {
    if (remote_) {
        cell_ = options_.cell.empty() ? "remote" : options_.cell;
        connect_remote();
    }
}

void session::connect_remote() {
    for (const auto& [source, endpoint] : options_.telemetry)
        client_.connect(source, endpoint, options_.keys);
    control_ = options_.control;
    connected_ns_ = steady_ns();
}

void session::leave_cell() {
    ++subject_;
    client_.disconnect_all();
    control_.clear();
    incarnation_.clear();
    clear();
    next_look_ns_ = 0;
}

void session::choose_cell(const std::string& name) {
    options_.cell = name;
    // Cells are chosen among those of this machine.
    remote_ = false;
    options_.keys = {};
    cell_.clear();
    leave_cell();
}

void session::clear() {
    model_.clear();
    reader_.clear();
    last_message_ns_ = 0;
}

void session::set_replay(bool on) {
    replay_ = on;
    leave_cell();
    if (!on && remote_) connect_remote();
}

void session::look_for_cell() {
    std::string name = options_.cell;
    if (name.empty()) {
        const auto running = watch_.running();
        // The one that is shown as long as it runs, then `demo`, then any.
        if (std::ranges::find(running, cell_) != running.end()) {
            name = cell_;
        } else if (!running.empty()) {
            name = std::ranges::find(running, "demo") != running.end() ? "demo" : running.front();
        }
    }
    try {
        std::optional<cell_sockets> found;
        if (!name.empty()) found = watch_.find(name);
        trouble_.clear();
        const bool ran = std::exchange(cell_runs_, found.has_value());
        if (!found) {
            if (ran) ++subject_;
            control_.clear();
            if (cell_.empty()) cell_ = name;
            return;
        }
        if (name != cell_ || found->incarnation != incarnation_) {
            leave_cell();
            next_look_ns_ = steady_ns() + look_every_ns;
            cell_ = name;
            incarnation_ = found->incarnation;
            connected_ns_ = steady_ns();
        }
        for (const auto& [source, endpoint] : found->telemetry)
            if (!client_.knows(source)) client_.connect(source, endpoint, {});
        control_ = std::move(found->control);
    } catch (const std::runtime_error& e) {
        trouble_ = e.what();
        cell_runs_ = true;
    }
}

void session::poll() {
    if (replay_) return;
    const std::int64_t now = steady_ns();
    if (!remote_ && now >= next_look_ns_) {
        next_look_ns_ = now + look_every_ns;
        look_for_cell();
    }
    client_.drain([this](const raw_message& raw) {
        if (tap_) tap_(raw);
        take(raw);
    });
}

void session::take(const raw_message& raw) {
    const auto* message = reader_.read(raw);
    if (message == nullptr) return;
    // Observer, supervisor and attenuator go on when the stations do not: what they say is no sign
    // of life of the cell.
    const bool outlives_stations =
        raw.source == "observer" || raw.source == "keeper" || raw.source == "attenuator";
    if (!outlives_stations || last_message_ns_ == 0) last_message_ns_ = steady_ns();
    if (!model_.take(raw.source, *message)) reader_.was_garbage();
}

double session::seconds_since_last() const {
    const std::int64_t since = last_message_ns_ != 0 ? last_message_ns_ : connected_ns_;
    return since == 0 ? 0 : static_cast<double>(steady_ns() - since) * 1e-9;
}

stream_state session::state() const {
    if (replay_) return stream_state::replay;
    if (!remote_ && !cell_runs_)
        return last_message_ns_ != 0 ? stream_state::ended : stream_state::no_cell;
    if (last_message_ns_ == 0) return stream_state::waiting;
    const double speed = model_.air().speed() > 0 ? std::min(1.0, model_.air().speed()) : 1;
    return seconds_since_last() > stalled_after_s / speed ? stream_state::stalled
                                                          : stream_state::live;
}

QString session::state_text() const {
    const QString name = QString::fromStdString(cell_);
    if (!trouble_.empty()) return QString::fromStdString(trouble_);
    switch (state()) {
        case stream_state::no_cell:
            return name.isEmpty()
                       ? QStringLiteral("No cell is running. Start one: sudo ./openwip demo")
                       : QStringLiteral(
                             "Cell '%1' is not running. Start it: sudo ./openwip "
                             "demo --name %1")
                             .arg(name);
        case stream_state::waiting:
            return QStringLiteral("Cell '%1': connected, nothing has come for %2 s")
                .arg(name)
                .arg(seconds_since_last(), 0, 'f', 0);
        case stream_state::live:
            return QStringLiteral("Cell '%1'").arg(name);
        case stream_state::stalled:
            return QStringLiteral("STALLED: nothing from the stations of cell '%1' for %2 s")
                .arg(name)
                .arg(seconds_since_last(), 0, 'f', 0);
        case stream_state::ended:
            return QStringLiteral("Cell '%1' has ended; this is what was seen last").arg(name);
        case stream_state::replay:
            return QStringLiteral("Replay");
    }
    return {};
}

}  // namespace wip::gui
