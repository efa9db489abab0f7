// SPDX-License-Identifier: GPL-3.0-or-later
#include "vusrp/radio_model.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <uhd/exception.hpp>
#include <uhd/utils/log.hpp>
#include <utility>

#include "types/number_text.h"
#include "types/require.h"

namespace wip::vusrp {
namespace {

constexpr std::int64_t medium_hz = 7'680'000;
static_assert(medium_hz == air::sample_rate);
constexpr int header_bytes = 16;      // header of a packet that has a time
constexpr double default_rate = 1e6;  // Hz, the rate of UHD's DSP cores, before one is set

std::string megahertz(double hz, int digits) {
    char text[40];
    std::snprintf(text, sizeof text, "%.*f", digits, hz / 1e6);
    return text;
}

const product* product_of(const uhd::device_addr_t& args) {
    if (!args.has_key("product") || args["product"] == "VUSRP") return nullptr;
    try {
        return &find_product(args["product"]);
    } catch (const std::invalid_argument& e) {
        throw uhd::value_error(std::string("vusrp: ") + e.what());
    }
}

std::uint32_t hash(const std::string& text) {
    std::uint32_t h = 2166136261u;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
    return h ^ h >> 15;
}

// The seed of all errors that are drawn: the argument `seed`, or else a hash of the radio's node.
// The name of the medium is not part of it, because the name of a cell may contain a process
// number.
std::uint32_t device_seed(const uhd::device_addr_t& args) {
    const std::string product = args.get("product", "");
    if (!args.has_key("seed"))
        return hash(args.get(args.has_key("air") ? "node" : "serial", "") + product);
    const auto seed = read_setting<std::uint32_t>(args["seed"]);
    if (!seed)
        throw uhd::value_error(not_valid("vusrp: device argument seed", args["seed"],
                                         "a whole number from 0 to 4294967295"));
    return hash(std::to_string(*seed) + product);
}

tick microseconds(double us) { return std::llround(us * 1e-6 * air::sample_rate); }

tick up_to(std::minstd_rand& random, tick most) {
    return most > 0 ? std::uniform_int_distribution<tick>(0, most)(random) : 0;
}

}  // namespace

double number_of(const uhd::device_addr_t& args, const std::string& key, double fallback,
                 double low, double high) {
    if (!args.has_key(key)) return fallback;
    const auto value = read_number<double>(args[key]);
    if (!value || *value < low || *value > high)
        throw uhd::value_error(not_valid("vusrp: device argument " + key, args[key],
                                         "a number from " + text_of(low) + " to " + text_of(high)));
    return *value;
}

uhd::time_spec_t to_time(tick n, const exact_rate& rate, tick offset) {
    if (rate.clock == medium_hz && rate.divider == 1)
        return uhd::time_spec_t::from_ticks(n + offset, air::sample_rate);
    const auto own = sample_model::time_of_sample(n, rate);
    return uhd::time_spec_t(own.full, own.fraction) +
           uhd::time_spec_t::from_ticks(offset, air::sample_rate);
}

tick to_sample(const uhd::time_spec_t& time, const exact_rate& rate, tick offset) {
    if (rate.clock == medium_hz && rate.divider == 1)
        return time.to_ticks(air::sample_rate) - offset;
    const uhd::time_spec_t t = time - uhd::time_spec_t::from_ticks(offset, air::sample_rate);
    return sample_model::sample_of_time({t.get_full_secs(), t.get_frac_secs()}, rate);
}

radio_model::radio_model(const uhd::device_addr_t& args)
    : kind_(product_of(args)),
      clock_hz_(medium_hz),
      base_{medium_hz},
      clock_map_({medium_hz}, {medium_hz}),
      seed_(device_seed(args)),
      random_(seed_) {
    // The error of the oscillator in 10^-12: uniform within the limits, and the same for the same
    // seed.
    const double drawn = static_cast<double>(seed_ % 2001) / 1000 - 1;
    oscillator_parts_ =
        std::llround(1e6 * number_of(args, "ppm", kind_ ? drawn * kind_->ppm : 0, -100, 100));
    // Requested rate, rate, bandwidth and carrier of a channel, each for receiver and transmitter.
    for (std::size_t i = 0; i < channels(); ++i)
        channels_.push_back(
            {{air::sample_rate, air::sample_rate},
             {{medium_hz}, {medium_hz}},
             {std::make_shared<bandwidth_setting>(0), std::make_shared<bandwidth_setting>(0)},
             {std::make_shared<bandwidth_setting>(air::default_frequency),
              std::make_shared<bandwidth_setting>(air::default_frequency)}});
    follow_reference(false);
    latency_ =
        microseconds(number_of(args, "latency_us", kind_ ? kind_->latency_us : 0, 0, 20'000));
    spread_ = microseconds(number_of(args, "spread_us", kind_ ? kind_->spread_us : 0, 0, 20'000));
    settling_ = kind_ ? microseconds(kind_->settling_us) : 0;
    read_control(args);
    if (!kind_) return;
    faults_ = number_of(args, "faults", 1, 0, 1) != 0;
    analog_ = number_of(args, "analog", 1, 0, 1) != 0;
    calibrated_ = number_of(args, "calibrated", kind_->calibrated, 0, 1) != 0;
    automatic_ = kind_->clock.automatic && !args.has_key("master_clock_rate");
    clock_hz_ = std::llround(first_clock(args));
    for (std::size_t i = 0; i < channels(); ++i)
        for (const side s : {side::receive, side::transmit}) {
            channels_[i].requested_rate[s == side::transmit] = default_rate;
            set_bandwidth(s, i, front(s).bandwidth.initial);
        }
    divide_clock();
}

// A radio without a product has the control logic that most products have, and buffers that are a
// fixed part of the medium's: 17 ms before the transmitter, 8.5 ms after the receiver, and 34 ms
// in the host. So they fill before the medium's own do.
void radio_model::read_control(const uhd::device_addr_t& args) {
    const std::string release = args.get("uhd", "4.9");
    const std::string control = args.get("control", kind_ ? kind_->control : "rfnoc_duc");
    if (control != "ideal" && control != "rfnoc" && control != "rfnoc_duc" && control != "b200")
        throw uhd::value_error(not_valid("vusrp: device argument control", control,
                                         "ideal, rfnoc, rfnoc_duc or b200"));
    try {
        control_ = &fpga::family_of_release(control, release);
    } catch (const std::invalid_argument&) {
        throw uhd::value_error(
            not_valid("vusrp: device argument uhd", release, "a release from 4.0 to 4.10"));
    }
    // UHD starts the receiver anew after an overflow from 4.2 on.
    restarts_ = control == "ideal" || (release != "4.0" && release != "4.1");
    transmit_store_ = air::transmit_fifo_size / 2;
    receive_store_ = air::receive_ring_size / 8;
    receive_frames_ = air::receive_ring_size / 2;
    if (!kind_) return;
    constexpr double most_bytes = 1e9;
    const auto frame = [&](const char* key) {
        const double bytes = number_of(args, key, kind_->frame_bytes, 40, 65536);
        return static_cast<std::int64_t>(bytes - header_bytes) / 4;
    };
    const auto frames = [&](const char* key) {
        return static_cast<std::int64_t>(number_of(args, key, kind_->frames, 1, 65536));
    };
    transmit_store_ = kind_->transmit_store;
    receive_store_ = kind_->receive_store;
    if (kind_->frames > 0) {
        transmit_store_ += frames("num_send_frames") * frame("send_frame_size");
        usb_frame_ = frame("recv_frame_size");
        receive_frames_ = frames("num_recv_frames") * usb_frame_;
    } else {
        receive_frames_ = static_cast<std::int64_t>(
            number_of(args, "recv_buff_size", kind_->socket_bytes, 1, most_bytes) / 4);
    }
}

void radio_model::divide_clock() {
    for (channel_state& c : channels_)
        for (int i = 0; i < 2; ++i)
            c.rate[i] = {clock_hz_, kind_->nearest_ratio(clock_hz_, c.requested_rate[i]), parts_};
}

radio_model radio_model::of(std::size_t channel) const {
    radio_model m(*this);
    m.channel_ = channel;
    return m;
}

double radio_model::first_clock(const uhd::device_addr_t& args) {
    const double initial = static_cast<double>(kind_->clock.initial);
    const double asked = number_of(args, "master_clock_rate", initial, 1, 1e10);
    const clock_choice& c = kind_->clock;
    if (c.wrong == wrong_clock::ignore) return initial;
    if (c.valid(asked)) {
        const auto at = [asked](std::int64_t hz) { return std::abs(double(hz) - asked) < 1; };
        if (!c.experimental.empty() && std::none_of(c.list.begin(), c.list.end(), at))
            UHD_LOG_WARNING("X300", c.experimental);
        return asked;
    }
    const std::pair<std::string, std::string> values[] = {{"mhz", c.wrong == wrong_clock::fall_back
                                                                      ? std::to_string(asked / 1e6)
                                                                      : megahertz(asked, 2)}};
    const std::string words = filled_in(c.refusal, values);
    if (c.wrong == wrong_clock::refuse) throw uhd::runtime_error(words);
    if (c.wrong == wrong_clock::fall_back) {
        UHD_LOG_WARNING("MPM", words);
        return initial;
    }
    return set_clock(asked);
}

void radio_model::follow_reference(bool on) {
    follows_reference_ = on;
    parts_ = on ? 0 : oscillator_parts_;
    base_.parts = parts_;
    for (channel_state& c : channels_) c.rate[0].parts = c.rate[1].parts = parts_;
    clock_map_ = sample_model::rate_map({medium_hz}, base_);
}

double radio_model::clock() const { return static_cast<double>(clock_hz_); }

double radio_model::set_clock(double hz) {
    // The clock of such a radio cannot be changed at run time.
    if (!kind_ || kind_->clock.wrong != wrong_clock::force) return clock();
    const double lowest = static_cast<double>(kind_->clock.lowest);
    const double highest = static_cast<double>(kind_->clock.highest);
    const double valid_hz = std::min(highest, std::max(lowest, hz));
    if (valid_hz != hz)
        UHD_LOG_WARNING("AD936X", "The requested master_clock_rate "
                                      << hz / 1e6
                                      << " MHz exceeds bounds imposed by UHD.\n"
                                         "The master_clock_rate has been forced to "
                                      << valid_hz / 1e6 << " MHz.\n");
    // A new master clock makes the radio calibrate its filters again, which sets their bandwidth to
    // the clock.
    if (std::llround(valid_hz) != clock_hz_)
        for (channel_state& c : channels_)
            for (const side s : {side::receive, side::transmit})
                *c.bandwidth[s == side::transmit] =
                    std::min(valid_hz, front(s).bandwidth.forced_down);
    clock_hz_ = std::llround(valid_hz);
    divide_clock();
    return clock();
}

void radio_model::prepare_clock(side s, std::size_t channels_of_stream,
                                std::size_t channels_in_all) {
    if (ideal() || kind_->clock.shared.empty()) return;
    if (automatic_ && channels_of_stream > 1) {
        double fastest = 0;
        for (const channel_state& c : channels_)
            fastest = std::max({fastest, c.requested_rate[0], c.requested_rate[1]});
        set_clock(static_cast<double>(kind_->automatic_clock(fastest, channels_of_stream)));
    }
    const double valid_hz = kind_->highest_clock(channels_in_all);
    if (clock() - valid_hz < 1) return;
    const std::pair<std::string, std::string> values[] = {{"mhz", megahertz(clock(), 6)},
                                                          {"can", megahertz(valid_hz, 6)},
                                                          {"n", std::to_string(channels_in_all)},
                                                          {"RX", capital_name_of(s)}};
    throw uhd::value_error(filled_in(kind_->clock.shared, values));
}

double radio_model::set_bandwidth(side s, std::size_t channel, double hz) {
    const bandwidth_range& range = front(s).bandwidth;
    // A setting below `forced_up` is raised to it, and one above `forced_down` lowered to it.
    const double valid_hz = std::clamp(hz, range.forced_up, range.forced_down);
    if (valid_hz != hz && !kind_->bandwidth_warning.empty()) {
        const auto mhz = [](double f) {
            char text[40];
            std::snprintf(text, sizeof text, "%g", f / 1e6);
            return std::string(text);
        };
        const std::pair<std::string, std::string> values[] = {{"mhz", mhz(hz)},
                                                              {"can", mhz(valid_hz)}};
        UHD_LOG_WARNING(front(s).filter ? "AD936X" : "ZBX",
                        filled_in(kind_->bandwidth_warning, values));
    }
    *channels_[channel].bandwidth[s == side::transmit] = std::min(valid_hz, clock());
    return valid_hz;
}

double radio_model::set_rate(side s, std::size_t channel, double requested_rate) {
    const int i = s == side::transmit;
    if (!kind_) {
        if (std::abs(requested_rate - air::sample_rate) > 1)
            UHD_LOG_WARNING("VUSRP", name_of(s) << " rate " << requested_rate / 1e6
                                                << " MS/s is not possible: 7.68 MS/s");
        return air::sample_rate;
    }
    if (automatic_ && requested_rate > static_cast<double>(kind_->clock.highest))
        throw uhd::value_error(
            "[ad936x_manager] Cannot get determine a tick rate if sampling rate exceeds maximum "
            "tick rate (" +
            std::to_string(requested_rate) + " > " +
            std::to_string(static_cast<double>(kind_->clock.highest)) + ")");
    channel_state& c = channels_[channel];
    c.requested_rate[i] = requested_rate;
    if (automatic_) set_clock(static_cast<double>(kind_->automatic_clock(requested_rate)));
    c.rate[i] = {clock_hz_, kind_->nearest_ratio(clock_hz_, requested_rate), parts_};
    if (c.rate[i].divider > 1 && c.rate[i].divider % 2)
        UHD_LOG_WARNING("CORES",
                        "The requested "
                            << (s == side::receive ? "decimation" : "interpolation")
                            << " is odd; the user should expect CIC rolloff.\n"
                               "Select an even decimation to ensure that a halfband filter is "
                               "enabled.\n"
                            << c.rate[i].divider << " = (" << clock() / 1e6 << " MHz)/("
                            << requested_rate / 1e6 << " MHz)\n");
    return clock() / static_cast<double>(c.rate[i].divider);
}

tick radio_model::medium_of_own(tick n) const noexcept {
    const auto p = clock_map_.of(n);
    return p.whole + (p.fraction != 0);
}

tick radio_model::random_spread() { return up_to(random_, spread_); }
tick radio_model::random_settling() { return up_to(random_, settling_); }

std::vector<sample_model::impairment_config> radio_model::impairments(side s) const {
    using namespace sample_model;
    if (!kind_ || !faults_) return {};
    const front_end& f = front(s);
    const quantiser_config converter{static_cast<double>(f.bits), 0};
    const iq_imbalance_config image{f.image_db, static_cast<double>(seed() % 360)};
    const dc_offset_config dc{f.dc_dbfs, static_cast<double>(seed() / 360 % 360)};
    // In the order in which the signal passes them: converter and modulator when sending,
    // demodulator and converter when receiving.
    if (s == side::transmit) return {converter, image, dc};
    // A radio with the model of the analog edge (analog_edge.h) has image and DC offset from
    // tracked().
    if (has_edge() && kind_->tracking) return {converter};
    return {image, dc, converter};
}

actual_gain radio_model::gain_setting(side s, std::size_t channel, double gain) const {
    const db nominal = level(s, db(gain));
    if (!has_edge()) return {nominal, 0};
    const std::uint32_t key = 2 * seed_of(channel) + (s == side::transmit);
    const actual_gain error = error_of_gain(front(s).gain_error, key, gain);
    return {nominal + error.level, error.turns};
}

double radio_model::random_turns() {
    return has_edge() ? std::uniform_real_distribution<double>(0, 1)(random_) : 0;
}

double radio_model::chain_delay(side s) const {
    return has_edge() ? front(s).delay.in_samples(rate(s).hz()) : 0;
}

std::int64_t radio_model::ramp_samples() const {
    return has_edge() ? std::llround(kind_->ramp_us * 1e-6 * rate(side::transmit).hz()) : 0;
}

std::optional<tracked_errors> radio_model::tracked() const {
    if (!has_edge() || !kind_->tracking) return std::nullopt;
    return tracked_errors(kind_->receive, *kind_->tracking, seed(), rate(side::receive).hz());
}

// All channels have the same oscillator. With an external reference there is no wander.
std::optional<wander_stage> radio_model::wander(side s) const {
    if (!has_edge() || follows_reference_) return std::nullopt;
    return wander_stage(kind_->wander, seed_, rate(s).hz(), s == side::transmit ? 1 : -1,
                        own().carrier[s == side::transmit]);
}

db radio_model::level(side s, db gain) const {
    if (!kind_) return gain;
    return s == side::receive ? kind_->receive_level(gain) : kind_->transmit_level(gain);
}

dbm radio_model::reference(side s, db gain) const {
    return dbm(0) + (s == side::receive ? -level(s, gain) : level(s, gain));
}

db radio_model::gain_for(side s, dbm reference) const {
    return s == side::receive ? kind_->receive.full_scale - reference
                              : reference - this->reference(s, db(0));
}

std::string radio_model::front_name(side s, std::size_t channel) const {
    const std::pair<std::string, std::string> values[] = {{"RX", capital_name_of(s)}};
    return filled_in(kind_->front[std::min(channel, kind_->front.size() - 1)], values);
}

std::string radio_model::antenna_refusal(side s, const std::string& antenna) const {
    std::string all;
    for (const std::string& a : front(s).antennas) all += (all.empty() ? "" : ", ") + a;
    const std::pair<std::string, std::string> values[] = {
        {"RX", capital_name_of(s)}, {"rx", name_of(s)}, {"antenna", antenna}, {"antennas", all}};
    return filled_in(kind_->antenna_refusal, values);
}

std::string radio_model::source_refusal(bool of_time, const std::string& source,
                                        const std::string& sources) const {
    if (!kind_)
        return (of_time ? "update_time" : "update_clock") + ("_source: unknown source: " + source);
    if (source == "gpsdo" && kind_->offered_gpsdo) return kind_->offered_gpsdo->at(of_time);
    const std::pair<std::string, std::string> values[] = {{"source", source}, {"sources", sources}};
    return filled_in(kind_->source_refusal.at(of_time), values);
}

}  // namespace wip::vusrp
