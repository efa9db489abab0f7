// SPDX-License-Identifier: GPL-3.0-or-later
// What of a medium can change while it runs, as settings with names: the channel of its one path,
// the noise of the receiver at its end as an SNR, and a blackout. Media with several paths change
// nothing.
//
//   channel: {model: etu, speed_kmh: 60, snr_db: 20, shadowing: off, user: 0, blackout: 200}
//
// blackout: on, off, or milliseconds. The SNR is that of a subcarrier of a transmitter at its
// level (nodes.*.transmit_dbfs), without fading. `settings()` says what holds.
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
    using change_fn = std::function<std::optional<tick>(mix::mixer_change)>;

    // `head`: YAML of what else holds, above the channel in settings(). `elsewhere`: somebody else
    // has the channel, and it does not change here.
    channel_control(const mix::mix_config& config, std::string head, change_fn change,
                    bool elsewhere = false);

    // Throws config::error, and nothing has changed then. The tick from which the
    // changes hold; nothing: there was none.
    std::optional<tick> configure(const std::string& yaml, tick now);
    const std::vector<changed>& last_changes() const { return last_; }
    // YAML, as configure() takes it; empty for a medium that cannot change.
    std::string settings(tick now) const;

private:
    struct values {
        channel_request channel;
        std::uint32_t user = 0;
        std::optional<double> snr_db;
        std::optional<double> blackout_ms;  // nothing: none, infinity: until it is switched off
        tick blackout_end = never;
    };
    std::vector<std::pair<std::string, std::string>> as_text(const values& v, tick now) const;

    mix::mix_config config_;
    std::string head_;
    change_fn change_;
    std::string why_not_;  // the medium cannot change
    values now_;
    std::vector<changed> last_;
};

}  // namespace wip::air
