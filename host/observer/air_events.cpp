// SPDX-License-Identifier: GPL-3.0-or-later
#include "observer/air_events.h"

#include <algorithm>
#include <utility>

namespace wip::observer {

using openwip::telemetry::Event;

void air_events::compare(const openwip::control::AirStatus& s, slot now) {
    if (std::exchange(silent_, false)) events_.say(Event::INFO, "run", "answers again", now);
    events_.grew(Event::WARNING, "late", "slots_behind", s.slots_behind(), now);
    events_.grew(Event::ERROR, "late", "late_transmissions", s.late(), now);
    events_.grew(Event::ERROR, "late", "underflows", s.underflows(), now);
    events_.grew(Event::ERROR, "late", "overflows", s.overflows(), now);
    // Samples that a fader lost, besides the events of its radios, which the medium has counted.
    events_.grew(Event::ERROR, "fader", "lost_samples", s.lost_samples(), now);
    events_.grew(Event::ERROR, "fader", "silences", s.fader_radios().silences(), now);
    events_.grew(Event::ERROR, "fader", "stalls", s.fader_radios().stalls(), now);
    events_.grew(Event::WARNING, "fader", "clipped", s.clipped(), now);
    events_.compared();
    compare_nodes(s, now);
    compare_settings(s);
}

// A node that starts or stops streaming is no event.
void air_events::compare_nodes(const openwip::control::AirStatus& s, slot now) {
    std::map<std::string, std::uint64_t> processes;
    for (const auto& n : s.nodes()) {
        processes[n.name()] = n.process();
        if (!processes_ ||
            (processes_->contains(n.name()) && (*processes_)[n.name()] == n.process()))
            continue;
        const bool gone = n.process() == 0;
        events_.say(gone ? Event::WARNING : Event::INFO, "radio",
                    n.name() + (gone ? " disconnected" : " connected"), now);
    }
    processes_ = std::move(processes);
}

void air_events::compare_settings(const openwip::control::AirStatus& s) {
    const std::uint64_t made = s.changes_made();
    if (changes_made_ && made > *changes_made_) {
        // The status has the last changes only.
        const auto kept = static_cast<std::uint64_t>(s.changes_size());
        const std::uint64_t fresh = std::min(made - *changes_made_, kept);
        for (std::uint64_t i = kept - fresh; i < kept; ++i) {
            const auto& c = s.changes(static_cast<int>(i));
            events_.say(Event::INFO, "setting", c.key() + " = " + c.to(), slot(c.slot()));
        }
    }
    changes_made_ = made;
}

void air_events::no_answer(slot now) {
    if (std::exchange(silent_, true)) return;
    events_.say(Event::WARNING, "run", "does not answer", now);
}

void air_events::forget() {
    events_.forget();
    processes_.reset();
    changes_made_.reset();
    silent_ = false;
}

}  // namespace wip::observer
