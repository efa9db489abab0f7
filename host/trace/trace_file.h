// SPDX-License-Identifier: GPL-3.0-or-later
// SNR traces as HDF5 files (docs/how-to/channel-traces.md). Both directions stream: a trace of
// hours takes the memory of some chunks of a second. Everything that is read is checked, values
// included.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bin/trace_channel.h"
#include "types/failure.h"
#include "types/grid.h"

namespace wip::trace {

using bin_model::trace_row;

// One line: file, what is wrong, what is valid.
using error = bad_input;

inline constexpr const char* format_name = "openwip-snr-trace";
inline constexpr int format_version = 1;
inline constexpr int chunk_slots = 1500;
inline constexpr std::int64_t max_slots = slots_per_second * 86400 * 7;  // a week
inline constexpr int longest_horizon = 64;                               // slots

// How the predictions of a trace came about.
struct prediction_info {
    // the prediction of row t was known this number of slots before slot t; 0 to longest_horizon
    int horizon_slots = 3;
    std::string method = "nmse";  // nmse or predictor
    double nmse = 0;              // NMSE of the whole trace: requested (nmse) or found (predictor)
    double measured_nmse = 0;     // NMSE of this realisation
};

struct trace_info {
    std::string channel;     // name of the channel
    std::string definition;  // YAML text of the channel as used
    std::uint64_t seed = 0;
    double mean_snr_db = 0;  // requested mean; the realisation's own mean stands in the data
    double speed_kmh = 0, carrier_hz = 0;
    std::string software;
    std::optional<prediction_info> prediction{};
};

// Writes a file without a name and gives it one when finished: a program that ends earlier, even by
// a kill, leaves nothing behind.
class writer {
public:
    writer(const std::string& file, const trace_info& info);  // throws error
    ~writer();
    // Rows in dB; `predicted` has as many rows, or none if the trace has no predictions. Values are
    // rounded to 1/256 dB (a trace compresses to half of its size that way) and have to be within
    // -60 to 80 dB.
    void append(std::span<const trace_row> snr_db, std::span<const trace_row> predicted_snr_db);
    // Closes the file under its name. The nmse of predictions is known only now.
    void finish(const std::optional<prediction_info>& prediction = std::nullopt);

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

class reader {
public:
    // The bytes of a file, which are copied. `called`: its name in errors. Throws error. Bytes from
    // anywhere are for a process without rights (confined_trace.h).
    reader(std::span<const std::byte> image, const std::string& called);
    ~reader();
    const trace_info& info() const noexcept;
    std::int64_t nof_slots() const noexcept;

    // Rows first, first + 1, ...; `predicted_snr_db` empty or of the same size. Throws error for a
    // range that is not in the trace and for a value that is not a number within -60 to 80 dB.
    void read(std::int64_t first, std::span<trace_row> snr_db,
              std::span<trace_row> predicted_snr_db = {});

private:
    void read_head();

    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace wip::trace
