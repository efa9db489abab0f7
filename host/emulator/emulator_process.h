// SPDX-License-Identifier: GPL-3.0-or-later
// Emulated links between interfaces in real time: one thread that sleeps (poll_set.h) until a
// packet comes or is due, or the next beat. Slot k is due at t0 + slot_start(k) of the monotonic
// clock. No beat is skipped: a thread that was kept from running does those it missed at once, and
// how late each beat and each packet was is counted and evaluated by the launcher.
//
// It answers for the three processes that it stands for, on their sockets and with their messages:
// `base` and `terminal` (MacStatus, telemetry) and the medium (AirStatus: pacing). A reader of a
// status need not know what carries the packets.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "config/schema.h"
#include "emulator/delayed_pair.h"
#include "emulator/emulator_config.h"
#include "emulator/ends.h"
#include "emulator/link_pair.h"
#include "os/pacing.h"
#include "runtime/control_socket.h"
#include "runtime/poll_set.h"
#include "runtime/setting_changes.h"
#include "types/grid.h"

namespace wip::emulator {

class emulator_process {
public:
    virtual ~emulator_process() = default;
    emulator_process(const emulator_process&) = delete;
    emulator_process& operator=(const emulator_process&) = delete;

    // Paths of the ipc sockets bound here, to hand over to the user that the process becomes.
    std::vector<std::string> bound_paths() const { return paths_of(config); }
    // Runs until something ends it; returns the exit code.
    int run(int signal_fd, bool realtime_priority);

protected:
    // The station as which a request addresses the process; each has settings of its own.
    enum class station : std::uint8_t { base, terminal, air };

    // `until_change`: from the slot whose work is done until a change holds.
    emulator_process(zmq::context_t& context, const config::settings& s, const emulator_config& c,
                     slot_count beat, slot_count until_change);

    // The kind of link: what carries the packets, ...
    virtual packet_path& path() = 0;
    virtual delayed_pair& links() = 0;
    // ... what is made before slot 0 begins, ...
    virtual void prepare() {}
    // ... what is due until t, before the beat at `due`, ...
    virtual void advance(std::int64_t t, std::int64_t due) = 0;
    // ... and the work of the beat that is due;
    virtual void beat(std::int64_t due) = 0;
    // ... what is to be reported of a packet that came in or goes out; `user` < 0: the server's;
    virtual void came(int user, std::span<const std::uint8_t> packet, std::int64_t t) = 0;
    virtual void goes(int user, const link_packet& packet) = 0;
    // ... and live settings. configure(): false, nothing was changed; throws config::error.
    virtual bool configure(const std::string& yaml, station asked) = 0;
    virtual void end_expired_settings() = 0;

    std::int64_t now() const;
    slot changes_from() const { return next + change_after; }
    station_sockets& sockets_of(station s) { return stations[s == station::terminal ? 1 : 0]; }
    // Sets the sinks of all links, when they are made.
    void deliver();
    void publish();
    void serve();
    // Takes over the changed settings, and records the changes.
    void settle(const config::settings& wanted, const std::vector<std::string>& changed,
                station asked);
    void replace(const std::string& key, const std::string& value);
    static config::error no_such_setting(const config::settings& wanted, const std::string& key);
    // The name of the station in the column `live` of the table of settings.
    static std::string_view name_of(station s);

    config::settings settings;
    emulator_config config;
    std::array<station_sockets, 2> stations;  // base station, terminals
    os::pacing beats, packets;
    slot next;

private:
    void wait_until(std::int64_t due);
    // Reads packets of a terminal's interface, -1: of the server's; false: the interface is gone.
    bool read(int user);
    gateway& gateway_of(int user);
    void fill(station which, openwip::control::MacStatus& status);
    void fill(openwip::control::AirStatus& status) const;
    host::setting_changes& changes_of(station s) { return changes[static_cast<std::size_t>(s)]; }

    slot_count beat_length, change_after;
    std::string effective_yaml;
    packet_model::terminal_router router;
    gateway server;
    std::deque<gateway> terminals;
    host::control_socket air_control;
    std::array<host::setting_changes, 3> changes;
    bool realtime_priority = false;
    std::uint64_t malformed = 0;
    std::int64_t t0 = 0;
    host::poll_set watched;  // signals, server, terminals
    host::ending end{"emulator"};
};

// Makes the process for link.kind with its interfaces, and binds its sockets. Throws machine_error,
// and bad_input, for example for an unknown namespace.
std::unique_ptr<emulator_process> make_process(zmq::context_t& context,
                                               const config::settings& settings,
                                               const emulator_config& config);
std::unique_ptr<emulator_process> make_cell_process(zmq::context_t& context,
                                                    const config::settings& settings,
                                                    const emulator_config& config);
std::unique_ptr<emulator_process> make_link_process(zmq::context_t& context,
                                                    const config::settings& settings,
                                                    const emulator_config& config);

bool starts_with_any(const std::string& key, std::initializer_list<const char*> groups);

}  // namespace wip::emulator
