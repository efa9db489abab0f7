// SPDX-License-Identifier: GPL-3.0-or-later
// The parts of a medium that can change while it runs, as settings with names: the channel of each
// path, the noise of the receiver at its end as an SNR, and a blackout.
//
//   paths: {"base:terminal": {channel: {model: etu, speed_kmh: 60, snr_db: 20}}}
//   channel: {shadowing: off, user: 0, blackout: 200}      the same where there is one path only
//
// blackout: on, off, or milliseconds. The SNR is that of a subcarrier of a transmitter at its level
// (nodes.*.transmit_dbfs), without fading. Noise and blackout are the receiver's: they change for
// all paths to it. All changes of one request hold from the same sample on. `settings()` says what
// holds.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "medium/channel_request.h"
#include "mix/change_door.h"

namespace wip::air {

class channel_control {
public:
    struct changed {
        std::string key, from, to;
    };
    // Takes a change and says from which sample it holds, as medium::change does.
    using change_fn = std::function<std::optional<tick>(mix::mixer_changes)>;

    // `head`: YAML of the other settings, which settings() shows above the channel. `elsewhere`:
    // another process has the channel, so it does not change here.
    channel_control(const mix::mix_config& config, std::string head, change_fn change,
                    bool elsewhere = false);

    // Returns the tick from which the changes hold; empty: nothing changed. Throws config::error,
    // and then nothing has changed.
    std::optional<tick> configure(const std::string& yaml, tick now);
    const std::vector<changed>& last_changes() const { return last_; }
    // YAML, as configure() takes it, of each path by its name, and without one if it is the only
    // one; empty for a medium that cannot change.
    std::string settings(tick now) const;

private:
    struct values {
        channel_request channel;
        std::uint32_t user = 0;
        std::optional<double> snr_db;
        // empty: no blackout; infinity: until it is switched off
        std::optional<double> blackout_ms;
        tick blackout_end = never;
    };
    using texts = std::vector<std::pair<std::string, std::string>>;
    static texts as_text(const values& v, tick now);
    // The requested paths, each with the prefix of its keys.
    using addressed = std::vector<std::pair<std::size_t, std::string>>;
    addressed paths_of(const config::settings& asked) const;
    mix::mixer_change change_of(const config::settings& asked, std::size_t path,
                                const std::string& prefix, values& next) const;
    void same_receiver(const addressed& paths, const config::settings& asked,
                       std::vector<values>& next) const;
    std::string all_names() const;

    mix::mix_config config_;
    std::string head_;
    change_fn change_;
    bool elsewhere_;
    std::vector<std::string> names_;  // names of the paths
    std::vector<values> now_;
    std::vector<changed> last_;
};

}  // namespace wip::air
