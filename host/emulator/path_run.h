// SPDX-License-Identifier: GPL-3.0-or-later
// A run whose time a calendar keeps: packets between what has the TCP (a Linux kernel, ns-3) and
// the path that carries them, until the traffic is over and the path drained; what both count, as
// one JSON object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "emulator/emulator_config.h"
#include "emulator/link_pair.h"
#include "sample/distinct_streams.h"
#include "schema/control.pb.h"
#include "types/quantity.h"
#include "virtual/pcap_file.h"
#include "virtual/timed_run.h"

namespace wip::emulator {

struct run_times {
    double first_s = 0;  // times at which the first and the last counts are taken
    double last_s = 0;
    std::string packets;    // file: all IP packets at the interfaces (pcap); empty: none
    std::string telemetry;  // file: telemetry of the run (runtime/telemetry_file.h); empty: none
};

class path_run {
public:
    path_run(const emulator_config& config, const run_times& times);
    virtual ~path_run();
    path_run(const path_run&) = delete;
    path_run& operator=(const path_run&) = delete;

    // Statuses of both ends at the first count, at the last, and when everything is drained; time
    // on the calendar and on the wall, packets at the interfaces. Throws peer_error when
    // the traffic does not come to an end.
    void write(double longest_s, std::ostream& out);

protected:
    // The counts of one end's interface. `refused`: packets of the path that it did not take, by
    // errno.
    struct counts {
        packets_bytes sent, received;
        std::map<int, packets_bytes> refused;
    };
    virtual counts interface(std::size_t side) const = 0;  // 0: the server's, then the terminals'
    virtual virtual_time::timed_run& run() = 0;
    virtual std::uint64_t steps() const = 0;
    // Whether everything besides the path has drained as well.
    virtual bool others_are_idle() const { return true; }
    // Add what a derived class counts itself to the statuses of both ends, and to the result.
    virtual void add_to_base(openwip::control::MacStatus& /*base*/) const {}
    virtual void add_to_terminal(openwip::control::MacStatus& /*terminal*/) const {}
    virtual void add_members(nlohmann::json& /*result*/) const {}

    // Fills in the packets that an interface took, and its counts as the report has them.
    static void fill_delivered(const counts& c, openwip::control::Direction& d);
    static nlohmann::json to_json(const counts& c);

    void fill_base(openwip::control::MacStatus& base);
    void fill_terminal(openwip::control::MacStatus& terminal);

private:
    // Refuses two random streams of this run with the same key; before the path, which draws them.
    const sample_model::distinct_streams streams_;

protected:
    const std::unique_ptr<packet_path> path_;
    std::optional<virtual_time::pcap_file> packets_;

private:
    // The slots of the cell, whatever link carries its packets.
    std::int64_t slots();
    nlohmann::json statuses();
    nlohmann::json interfaces() const;
    void publish_statuses(slot k);
    void tell_of_links();

    const run_times times_;
    const std::size_t sides_;
    struct publication;
    std::unique_ptr<publication> telemetry_;  // destroyed before what it reads
};

}  // namespace wip::emulator
