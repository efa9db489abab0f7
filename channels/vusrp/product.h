// SPDX-License-Identifier: GPL-3.0-or-later
// A kind of USRP as devices.yaml describes it, and what its clock makes of a wish: which master
// clock, which sample rate. Knows nothing of UHD.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "types/db.h"

namespace wip::vusrp {

// The reaction to a master clock that cannot be had.
enum class wrong_clock { refuse, force, fall_back, ignore };

struct clock_choice {
    std::vector<std::int64_t> list;        // Hz, empty: only the range
    std::int64_t lowest = 0, highest = 0;  // 0: only the list
    std::int64_t initial = 0;
    wrong_clock wrong = wrong_clock::refuse;
    std::string refusal{}, experimental{};  // reasons for clocks in the range but not in the list
    std::string shared{};  // reason for clocks too high for several channels; empty: none is
    bool automatic = false;

    bool valid(double hz) const;
};

struct decimation_rule {
    std::int64_t first, last, step;
};

struct value_range {
    double lowest, highest, step;
};
struct bandwidth_range {
    double lowest, highest, initial;
    double forced_up, forced_down;  // what a setting is held within, whatever the range says
};

// A low pass whose corner goes with half the bandwidth, within limits.
struct low_pass {
    double factor, lowest, highest;
    double corner(double bandwidth) const {
        return factor * std::clamp(bandwidth / 2, lowest, highest);
    }
};
// Third-order Butterworth, then a single pole.
struct analog_shape {
    low_pass butterworth, pole;
};

// The largest error of a gain setting, in level and in phase.
struct gain_error_limits {
    double level_db, degrees;
};
// The residue of the tracking of DC offset and image: it changes after each interval, with this
// mean level of DC, and an image that is so far down.
struct tracking_steps {
    double interval_s, dc_dbfs, image_db;
};
// Delay from the converter's side of the digital filters to the connector: of the analog parts in
// microseconds, of the digital ones in samples.
struct chain_delay {
    double us, samples;
    double in_samples(double rate) const { return us * 1e-6 * rate + samples; }
};
// The largest drift of an oscillator: in a day, while it warms up, with the room's temperature.
struct wander_limits {
    double ppm_a_day, warm_up_ppm, temperature_ppm;
};

// The front end of one direction.
struct front_end {
    value_range gain;
    double low_hz;  // up to there the gain ends at low_gain, whatever the range says; 0: nowhere
    db low_gain;
    bandwidth_range bandwidth;
    std::optional<analog_shape> filter;  // none: wider than the medium
    std::vector<std::string> antennas;
    double lowest_hz, highest_hz;
    int bits;
    double dc_dbfs, image_db;
    dbm full_scale;  // sent at the highest gain; received at gain 0
    gain_error_limits gain_error;
    chain_delay delay;

    // The gain that results at this frequency, Hz.
    db gain_at(double hz, db asked) const {
        return hz > low_hz ? asked : std::min(asked, low_gain);
    }
};

struct product {
    std::string name, board, gain_name;
    std::vector<std::string> front;       // of each channel, the last of all others; {RX}: or TX
    std::vector<std::string> subdevices;  // one for each channel: "A:0"
    int packet;                           // samples in the largest
    clock_choice clock;
    std::vector<decimation_rule> decimation;
    front_end transmit, receive;
    std::string antenna_refusal, bandwidth_warning;
    std::vector<std::string> source_refusal;  // of clock, of time
    std::optional<std::vector<std::string>> offered_gpsdo;
    double ppm;
    wander_limits wander;
    std::optional<tracking_steps> tracking;  // of what is received
    double ramp_us;                          // of a burst
    double latency_us, spread_us;
    bool timed_commands;  // of gain and LO
    double settling_us;
    bool calibrated;  // its power, by UHD itself
    int command_queue;
    std::string control;  // family of the FPGA's logic
    // Samples in the device; then frames or, without any, bytes of a socket; bytes of a frame.
    std::int64_t transmit_store, receive_store;
    int frames;
    double socket_bytes;
    int frame_bytes;

    // All numbers that the master clock can be divided by, in rising order.
    std::vector<std::int64_t> ratios() const;
    // The ratio of the nearest rate, to which UHD's arithmetic of ranges leads.
    std::int64_t nearest_ratio(std::int64_t clock_hz, double rate) const;
    // Automatic clocks: the largest power of two of the rate that fits, none for twice the rate.
    std::int64_t automatic_clock(double rate, std::size_t channels = 1) const;
    // The highest clock for several channels of one direction.
    double highest_clock(std::size_t channels) const;
    // The level from a transmitter's full scale to the medium (whose 0 dBFS is 0 dBm), and that
    // from the medium to a receiver's full scale.
    db transmit_level(db gain) const {
        return transmit.full_scale - dbm(transmit.gain.highest) + gain;
    }
    db receive_level(db gain) const { return dbm(0) + gain - receive.full_scale; }
};

const std::vector<product>& products();
// Throws std::invalid_argument with one line: file, key, value, what would be valid.
std::vector<product> read_products(const std::string& yaml, const std::string& file);
// Throws std::invalid_argument with one line that says which there are.
const product& find_product(std::string_view name);

// The text with {key} replaced.
std::string filled_in(std::string text,
                      std::span<const std::pair<std::string, std::string>> values);

}  // namespace wip::vusrp
