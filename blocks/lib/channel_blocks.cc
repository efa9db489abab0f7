// SPDX-License-Identifier: GPL-3.0-or-later
// fading_channel and impairments over the sample models. Both are functions of the absolute sample
// number, so the cut of GNU Radio's calls changes nothing.
#include <gnuradio/io_signature.h>
#include <gnuradio/wip/fading_channel.h>
#include <gnuradio/wip/impairments.h>

#include <mutex>

#include "checked_parameter.h"
#include "profiles/channel_definition.h"
#include "sample/large_scale_gain.h"
#include "sample/noise.h"
#include "sample/stage_chain.h"
#include "sample/tapped_delay_line.h"
#include "types/db.h"
#include "types/grid.h"

namespace gr::wip {

namespace {

namespace model = ::wip::sample_model;

// Keeps the noise independent of the taps, which have the same seed ("nois" in ASCII).
constexpr std::uint32_t noise_purpose = 0x6e6f6973;

std::span<const gr_complex> input(gr_vector_const_void_star& in, int n) {
    return {static_cast<const gr_complex*>(in[0]), static_cast<std::size_t>(n)};
}
std::span<gr_complex> output(gr_vector_void_star& out, int n) {
    return {static_cast<gr_complex*>(out[0]), static_cast<std::size_t>(n)};
}

model::delay_profile make_profile(const std::vector<double>& delays_ns,
                                  const std::vector<double>& powers_db, const std::string& fading) {
    if (delays_ns.size() != powers_db.size())
        throw std::invalid_argument("powers_db has " + std::to_string(powers_db.size()) +
                                    " values for " + std::to_string(delays_ns.size()) +
                                    " delays_ns; valid: one for each");
    if (fading != "rayleigh" && fading != "constant")
        throw std::invalid_argument("fading is '" + fading + "'; valid: 'rayleigh' or 'constant'");
    const auto kind =
        fading == "rayleigh" ? model::tap_fading::rayleigh : model::tap_fading::constant;
    model::delay_profile profile{.name = "of this block", .taps = {}};
    for (std::size_t i = 0; i < delays_ns.size(); ++i)
        profile.taps.push_back(
            {.delay_s = delays_ns[i] * 1e-9, .power_db = powers_db[i], .fading = kind, .k_db = 0});
    return profile;
}

// The configuration of a channel from the lists, or from a definition.
model::channel_config make_channel(const std::string& channel, const std::vector<double>& delays_ns,
                                   const std::vector<double>& powers_db, const std::string& fading,
                                   double doppler_hz, double shadowing_db, std::uint64_t seed) {
    checked_parameter("doppler_hz", doppler_hz, 0, model::max_doppler_hz);
    checked_parameter("shadowing_db", shadowing_db, 0, 20);
    if (channel == "taps") {
        model::channel_config made{.profile = make_profile(delays_ns, powers_db, fading),
                                   .movement = {.path = model::constant_speed{doppler_hz}},
                                   .large_scale = {}};
        if (shadowing_db > 0)
            made.large_scale.shadowing = model::shadowing_config{.deviation_db = shadowing_db};
        return made;
    }
    namespace profiles = ::wip::profiles;
    const profiles::channel_definition definition = profiles::load_definition(channel);
    profiles::channel_choice choice;
    choice.shadowing = profiles::channel_choice::use::off;
    if (shadowing_db > 0) choice.shadowing_db = shadowing_db;
    if (!definition.own_motion()) choice.doppler_hz = doppler_hz;
    return profiles::realise(definition, choice, seed);
}

// Noise over the whole sample rate that leaves this SNR on a subcarrier.
double noise_power(::wip::db snr) {
    checked_parameter("snr_db", snr.value, -30, 100);
    return (::wip::nominal_transmit_level - snr +
            ::wip::db::from_power(double{::wip::fft_size} / ::wip::nof_subcarriers))
        .power();
}

class fading_channel_impl : public fading_channel {
public:
    fading_channel_impl(const model::channel_config& channel, ::wip::db snr, std::uint64_t seed)
        : gr::sync_block("fading_channel", gr::io_signature::make(1, 1, sizeof(gr_complex)),
                         gr::io_signature::make(1, 1, sizeof(gr_complex))),
          movement_(channel.movement, double{::wip::sample_rate_hz}),
          line_(channel.profile, movement_, context(seed)),
          gain_(channel.large_scale, movement_, context(seed)),
          gain_for_response_(channel.large_scale, movement_, context(seed)),
          seed_(seed),
          noise_(noise_power(snr), seed, noise_purpose) {}

    int work(int n, gr_vector_const_void_star& in, gr_vector_void_star& out) override {
        const auto first = static_cast<std::int64_t>(nitems_written(0));
        line_.work(first, input(in, n), output(out, n));
        if (!gain_.empty()) gain_.work(first, output(out, n), output(out, n));
        std::lock_guard lock(mutex_);
        noise_.seek(first);
        noise_.work(output(out, n), output(out, n));
        return n;
    }
    void set_snr_db(double snr_db) override {
        const model::noise changed(noise_power(::wip::db(snr_db)), seed_, noise_purpose);
        std::lock_guard lock(mutex_);
        noise_ = changed;
    }
    gr_complex response(std::int64_t index, double hz) const override {
        std::lock_guard lock(mutex_);
        const double amplitude = gain_for_response_.gain(index).amplitude();
        return gr_complex(amplitude * line_.response(index, hz));
    }

private:
    static model::stage_context context(std::uint64_t seed) {
        return {.sample_rate = double{::wip::sample_rate_hz}, .seed = seed, .purpose = 0};
    }
    model::motion movement_;
    model::tapped_delay_line line_;
    model::large_scale_gain gain_;
    // Not gain_: each remembers where it was asked last.
    mutable model::large_scale gain_for_response_;
    const std::uint64_t seed_;
    mutable std::mutex mutex_;
    model::noise noise_;
};

std::vector<model::impairment_config> chosen_impairments(double cfo_hz, double clock_ppm,
                                                         double linewidth_hz,
                                                         double image_rejection_db, double dc_dbfs,
                                                         int bits) {
    constexpr double longest_delay_samples = 65536;
    std::vector<model::impairment_config> list;
    if (cfo_hz != 0) list.push_back(model::cfo_config{.hz = cfo_hz, .drift_hz_per_s = 0});
    if (clock_ppm != 0)
        list.push_back(model::clock_offset_config{
            .ppm = clock_ppm,
            .start_delay_samples = clock_ppm < 0 ? longest_delay_samples : 0,
            .max_delay_samples = longest_delay_samples});
    if (linewidth_hz != 0) list.push_back(model::phase_noise_config{.linewidth_hz = linewidth_hz});
    if (image_rejection_db != 200)
        list.push_back(model::iq_imbalance_config{.image_rejection_db = image_rejection_db});
    if (dc_dbfs != -200) list.push_back(model::dc_offset_config{.dbfs = dc_dbfs});
    if (bits != 0) list.push_back(model::quantiser_config{.bits = double(bits)});
    return list;
}

class impairments_impl : public impairments {
public:
    impairments_impl(const std::vector<model::impairment_config>& list, std::uint64_t seed)
        : gr::sync_block("impairments", gr::io_signature::make(1, 1, sizeof(gr_complex)),
                         gr::io_signature::make(1, 1, sizeof(gr_complex))),
          chain_(list, {.sample_rate = double{::wip::sample_rate_hz}, .seed = seed, .purpose = 1}) {
    }
    int work(int n, gr_vector_const_void_star& in, gr_vector_void_star& out) override {
        chain_.work(static_cast<std::int64_t>(nitems_written(0)), input(in, n), output(out, n));
        return n;
    }

private:
    model::stage_chain chain_;
};

}  // namespace

fading_channel::sptr fading_channel::make(const std::vector<double>& delays_ns,
                                          const std::vector<double>& powers_db, double doppler_hz,
                                          const std::string& fading, double snr_db,
                                          std::uint64_t seed, const std::string& channel,
                                          double shadowing_db) {
    return gnuradio::make_block_sptr<fading_channel_impl>(
        make_channel(channel, delays_ns, powers_db, fading, doppler_hz, shadowing_db, seed),
        ::wip::db(snr_db), seed);
}

impairments::sptr impairments::make(double cfo_hz, double clock_ppm, double linewidth_hz,
                                    double image_rejection_db, double dc_dbfs, int bits,
                                    std::uint64_t seed) {
    return gnuradio::make_block_sptr<impairments_impl>(
        chosen_impairments(cfo_hz, clock_ppm, linewidth_hz, image_rejection_db, dc_dbfs, bits),
        seed);
}

}  // namespace gr::wip
