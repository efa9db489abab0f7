// SPDX-License-Identifier: GPL-3.0-or-later
// Telemetry of a few fields, as the tests of the monitor say it.
#pragma once

#include <string>

#include "gui/model/message_reader.h"
#include "gui/model/session_model.h"

namespace wip::gui {

inline openwip::telemetry::Telemetry event_message(std::uint64_t sequence, std::int64_t slot = 10) {
    openwip::telemetry::Telemetry m;
    m.set_version(openwip::telemetry::VERSION_CURRENT);
    m.set_sequence(sequence);
    m.set_slot(slot);
    m.mutable_event()->set_reason("x");
    return m;
}
inline raw_message raw(const openwip::telemetry::Telemetry& m, const std::string& topic = "event",
                       const std::string& source = "base", std::int64_t received_ns = 1) {
    return {received_ns, source, topic, m.SerializeAsString(), true};
}
inline openwip::telemetry::Telemetry column(std::int64_t slot, float snr,
                                            std::uint64_t sequence = 1) {
    openwip::telemetry::Telemetry m;
    m.set_version(1);
    m.set_sequence(sequence);
    m.set_slot(slot);
    for (int b = 0; b < nof_bins; ++b) m.mutable_slot_sample()->add_snr_db(snr);
    return m;
}

}  // namespace wip::gui
