// SPDX-License-Identifier: GPL-3.0-or-later
// The emulated OFDM cell in real time (emulator_process.h): a beat is a slot.

#include <algorithm>
#include <utility>

#include "emulator/delayed_path.h"
#include "emulator/emulator_process.h"
#include "emulator/emulator_telemetry.h"
#include "profiles/channel_definition.h"
#include "settings/configuration.h"

namespace wip::emulator {
namespace {

namespace name = config::name;

// Slots between two looks at the control sockets: 10 ms.
constexpr std::int64_t control_every = 15;

class cell_process final : public emulator_process {
public:
    // The path is made before interfaces and sockets, so that its errors come first.
    cell_process(std::unique_ptr<cell_path> path, zmq::context_t& context,
                 const config::settings& s, const emulator_config& c)
        : emulator_process(context, s, c, slot_count(1), slot_count(1)),
          path_(std::move(path)),
          topics_(cell_, stations[0].telemetry, stations[1].telemetry, c.cell.cell,
                  c.telemetry.packets_per_second) {
        deliver();
        cell_.watch({[this](slot k) {
                         beats.add(static_cast<double>(now() - slot_start(k)) * 1e-3);
                         topics_.prepare(k);
                     },
                     [this](slot k) {
                         topics_.publish(k);
                         publish();
                     }});
    }

private:
    packet_path& path() override { return *path_; }
    delayed_pair& links() override { return path_->links; }
    void prepare() override {
        cell_.prepare_errors();
        path_->load_rules(config);
    }
    // Moves packets on, but does not begin the slot at `due`: packets that have come before it are
    // read first.
    void advance(std::int64_t t, std::int64_t due) override {
        if (links().next_wakeup() < due) links().advance(std::min(t, due - 1));
    }
    void beat(std::int64_t due) override {
        links().advance(due);
        if (next.value % control_every == 0) serve();
    }
    void came(int user, std::span<const std::uint8_t> packet, std::int64_t t) override {
        passed(user, host::ip_log::way::in, packet, t);
    }
    void goes(int user, const link_packet& p) override {
        passed(user, host::ip_log::way::out, p.data, p.due_ns);
    }
    void passed(int user, host::ip_log::way way, std::span<const std::uint8_t> packet,
                std::int64_t t) {
        using side = emulated_cell::side;
        topics_.passed(user < 0 ? side::server : side::terminal, std::max(0, user), way, packet, t);
    }
    bool configure(const std::string& yaml, station asked) override;
    void check(const config::settings& wanted, const emulator_config& made, const std::string& key,
               station asked) const;
    void apply(const emulator_config& wanted, const std::vector<std::string>& changed);
    void end_expired_settings() override;

    std::unique_ptr<cell_path> path_;
    emulated_cell& cell_ = path_->cell;
    emulator_telemetry topics_;
};

bool cell_process::configure(const std::string& yaml, station asked) {
    config::settings wanted = settings;
    wanted.merge_yaml(yaml, "configure", true);
    const auto changed = wanted.changed_from(settings);
    if (changed.empty()) return false;
    const emulator_config made = translate(wanted);
    for (const auto& key : changed) check(wanted, made, key, asked);
    apply(made, changed);
    // A change that wip_observer asks for, as the medium's controls do, is announced by
    // wip_observer.
    for (const auto& key : changed)
        if (asked != station::air)
            sockets_of(asked).events.say(openwip::telemetry::Event::INFO, "setting",
                                         key + " = " + wanted.text(key), changes_from());
    settle(wanted, changed, asked);
    return true;
}

void cell_process::check(const config::settings& wanted, const emulator_config& made,
                         const std::string& key, station asked) const {
    if (starts_with_any(key, {"umts.", "wlan."})) throw no_such_setting(wanted, key);
    wanted.check_station(key, name_of(asked));
    const bool source = key.starts_with("channel.") && key != name::channel_errors &&
                        key != name::channel_blackout && key != name::channel_model;
    const bool trace = config.channel.model.ends_with(".h5");
    // Only names are taken: files are read at the start, before there are requests over a socket.
    if (key == name::channel_model) {
        const auto names = profiles::names();
        std::string valid;
        for (const auto& n : names) valid += (valid.empty() ? "" : ", ") + n;
        if (std::ranges::find(names, made.channel.model) == names.end())
            throw wanted.refuse(key, "a running cell reads no files; valid: " + valid);
    }
    if (source && trace && made.channel.model.ends_with(".h5"))
        throw wanted.refuse(key, "the channel is a trace, which has its own; valid: none");
    if (key == name::link_retransmission_delay_ms && trace && !config.channel.prediction_nmse)
        throw wanted.refuse(key,
                            "the trace's predictions are for the delay at the start; valid: " +
                                std::to_string(config.cell.cell.link.retransmission_delay_slots) +
                                " slots, as then");
}

// Applies all changes, or none if it throws: everything that can be refused is made before anything
// is changed.
void cell_process::apply(const emulator_config& wanted, const std::vector<std::string>& changed) {
    const auto any = [&](const char* group) {
        return std::ranges::any_of(changed,
                                   [&](const auto& key) { return key.starts_with(group); });
    };
    const bool new_sources = std::ranges::any_of(changed, [](const auto& key) {
        return key.starts_with("channel.") && key != name::channel_errors &&
               key != name::channel_blackout;
    });
    std::vector<snr_source> sources;
    if (new_sources) sources = make_sources(wanted);
    if (any("link.") || any("scheduling.")) cell_.reconfigure(wanted.cell.cell);
    if (any("uplink.")) cell_.reconfigure(wanted.cell.uplink);
    if (any("to_base.") || any("from_base."))
        cell_.reconfigure(wanted.cell.to_base, wanted.cell.from_base);
    if (any("delay_injection.")) links().apply(wanted, std::max<std::int64_t>(0, now()));
    if (any("telemetry.")) {
        topics_.set_packet_rate(wanted.telemetry.packets_per_second);
        for (auto& s : stations) s.telemetry.set_rates(wanted.telemetry);
    }
    if (any(name::channel_errors)) cell_.reconfigure(wanted.cell.errors);
    if (new_sources) cell_.replace(std::move(sources));
    if (any(name::channel_blackout)) path_->black_out(changes_from(), wanted.channel.blackout_ms);
    config.channel = wanted.channel;
}

// A blackout of a given length is over by itself.
void cell_process::end_expired_settings() {
    if (config.channel.blackout_ms == 0 || cell_.dark(changes_from())) return;
    config.channel.blackout_ms = 0;
    replace(name::channel_blackout, std::string(text_of(config::channel_blackout_word::off)));
}

}  // namespace

std::unique_ptr<emulator_process> make_cell_process(zmq::context_t& context,
                                                    const config::settings& settings,
                                                    const emulator_config& config) {
    return std::make_unique<cell_process>(std::make_unique<cell_path>(config), context, settings,
                                          config);
}

}  // namespace wip::emulator
