// SPDX-License-Identifier: GPL-3.0-or-later
// The conditions of a network as browsers are told them, a JSON object in one of these forms:
//
//   DevTools protocol  latency, downloadThroughput, uploadThroughput, offline, packetLoss, ...
//   ChromeDriver       latency, download_throughput, upload_throughput or throughput, offline
//   Puppeteer, k6      latency, download, upload
//   Lighthouse         rttMs and throughputKbps, or requestLatencyMs, downloadThroughputKbps and
//                      uploadThroughputKbps
//
// Throughputs are in byte/s, those of Lighthouse in kbit/s; latencies are round trips in ms.
#pragma once

#include <string>
#include <string_view>

namespace wip::emulator {

struct throttling_profile {
    double down_kbps = 0, up_kbps = 0;  // 0: no limit
    double round_trip_ms = 0;
    double loss = 0;
    int queue_packets = 0;  // 0: not given
};

// By its first character.
bool is_throttling_profile(std::string_view text);

// Throws std::invalid_argument, which says the key, its value and what is valid.
throttling_profile read_throttling_profile(const std::string& text);

}  // namespace wip::emulator
