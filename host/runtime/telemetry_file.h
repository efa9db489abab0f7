// SPDX-License-Identifier: GPL-3.0-or-later
// Telemetry of a run in virtual time, into a file that a recorder reads when the run is over: as
// messages pass on its pipe (host/cli/openwip_cli/messages/pipe.py). Nothing is ever lost. The
// time of a message is that of its slot.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "runtime/telemetry_port.h"
#include "runtime/telemetry_rates.h"

namespace wip::host {

class telemetry_file final : public telemetry_port {
public:
    using file = std::shared_ptr<std::FILE>;
    // Throws machine_error.
    static file open(const std::string& path);

    // `source`: name of the publisher. Application data (topics frames, ip) are left out, as in
    // records.
    telemetry_file(file to, std::string source, const telemetry_rates& rates);

    bool wanted(topic t) const override { return every(t) != 0; }
    int every(topic t) const override { return every_[index(t)]; }
    openwip::telemetry::Telemetry& message(topic t) override { return messages_[index(t)]; }
    void publish(topic t, slot now, int user = 0) override;
    // Writes everything to the file, or throws machine_error. publish() keeps an error for this
    // call, since a destructor may call it.
    void flush();

private:
    static constexpr std::size_t index(topic t) { return static_cast<std::size_t>(t); }

    file file_;
    std::string source_, packed_;
    int error_ = 0;  // first errno; after it nothing more is written
    std::array<int, nof_topics> every_{};
    std::array<std::uint64_t, nof_topics> sequences_{};
    std::array<openwip::telemetry::Telemetry, nof_topics> messages_;
};

}  // namespace wip::host
