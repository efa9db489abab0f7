// SPDX-License-Identifier: GPL-3.0-or-later
// A kind of USRP as devices.yaml describes it, and how it chooses master clock and sample rate for
// a requested rate. It does not depend on UHD.
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

// The reaction to a master clock that the product does not have.
enum class wrong_clock { refuse, force, fall_back, ignore };

struct clock_choice {
    std::vector<std::int64_t> list;        // Hz, empty: only the range
    std::int64_t lowest = 0, highest = 0;  // 0: only the list
    std::int64_t initial = 0;
    wrong_clock wrong = wrong_clock::refuse;
    std::string refusal{}, experimental{};  // texts for clocks that are not valid, and for those in
                                            // the range but not in the list
    std::string shared{};  // text for clocks that are too high for several channels; empty: none is
                           // too high
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
    double forced_up, forced_down;  // limits to which a setting is forced, in addition to the range
};

// A low pass whose corner frequency is proportional to half the bandwidth, within limits (Hz).
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
// The residue of the tracking of DC offset and image, which changes after each interval: mean level
// of the DC offset, and image rejection.
struct tracking_steps {
    double interval_s, dc_dbfs, image_db;
};
// Delay between the host's side of the digital filters and the connector: of the analog parts in
// microseconds, of the digital ones in samples.
struct chain_delay {
    double us, samples;
    double in_samples(double rate) const { return us * 1e-6 * rate + samples; }
};
// The largest frequency deviation of an oscillator: aging in a day, while it warms up, by the
// room's temperature.
struct wander_limits {
    double ppm_a_day, warm_up_ppm, temperature_ppm;
};

// The front end of one direction.
struct front_end {
    value_range gain;
    double low_hz;  // up to this frequency the gain is limited to low_gain; 0: nowhere
    db low_gain;
    bandwidth_range bandwidth;
    std::optional<analog_shape> filter;  // nullopt: wider than the sample rate of the medium
    std::vector<std::string> antennas;
    double lowest_hz, highest_hz;
    int bits;
    double dc_dbfs, image_db;
    dbm full_scale;  // power at full scale: transmitted at the highest gain; received at gain 0
    gain_error_limits gain_error;
    chain_delay delay;

    // The gain that results from a requested one at this frequency, Hz.
    db gain_at(double hz, db asked) const {
        return hz > low_hz ? asked : std::min(asked, low_gain);
    }
};

struct product {
    std::string name, board, gain_name;
    std::vector<std::string> front;       // [channel], name of the front end; the last one also of
                                          // further channels; {RX} stands for RX or TX
    std::vector<std::string> subdevices;  // one for each channel: "A:0"
    int packet;                           // samples in the largest packet
    clock_choice clock;
    std::vector<decimation_rule> decimation;
    front_end transmit, receive;
    std::string antenna_refusal, bandwidth_warning;
    std::vector<std::string> source_refusal;  // texts for a refused clock source, and time source
    std::optional<std::vector<std::string>> offered_gpsdo;
    double ppm;
    wander_limits wander;
    std::optional<tracking_steps> tracking;  // the receiver's; nullopt: no tracking
    double ramp_us;                          // rise time at the start of a burst
    double latency_us, spread_us;
    bool timed_commands;  // whether changes of gain and LO can be timed
    double settling_us;
    bool calibrated;  // UHD has data of its power
    int command_queue;
    std::string control;  // family of the FPGA's control logic (fpga/family.h)
    // Samples that the device stores; the number of the host's frames or, if 0, the bytes of its
    // socket; bytes of a frame.
    std::int64_t transmit_store, receive_store;
    int frames;
    double socket_bytes;
    int frame_bytes;

    // All divisors of the master clock, in rising order.
    std::vector<std::int64_t> ratios() const;
    // The divisor whose rate is nearest to `rate`, as UHD's ranges choose it.
    std::int64_t nearest_ratio(std::int64_t clock_hz, double rate) const;
    // The master clock that the radio chooses for a rate: the rate times the largest power of two
    // that does not exceed the highest clock, but not twice the rate.
    std::int64_t automatic_clock(double rate, std::size_t channels = 1) const;
    // The highest clock for several channels of one direction.
    double highest_clock(std::size_t channels) const;
    // The gain in dB from a transmitter's full scale to the medium (whose 0 dBFS is 0 dBm), and
    // from the medium to a receiver's full scale.
    db transmit_level(db gain) const {
        return transmit.full_scale - dbm(transmit.gain.highest) + gain;
    }
    db receive_level(db gain) const { return dbm(0) + gain - receive.full_scale; }
};

const std::vector<product>& products();
// Throws std::invalid_argument with one line: file, key, value, what would be valid.
std::vector<product> read_products(const std::string& yaml, const std::string& file);
// Throws std::invalid_argument with one line that lists the valid ones.
const product& find_product(std::string_view name);

// Returns the text with every {key} replaced by its value.
std::string filled_in(std::string text,
                      std::span<const std::pair<std::string, std::string>> values);

}  // namespace wip::vusrp
