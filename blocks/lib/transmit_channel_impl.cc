// SPDX-License-Identifier: GPL-3.0-or-later
#include <gnuradio/io_signature.h>
#include <gnuradio/wip/transmit_channel.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "checked_parameter.h"
#include "fader/received_samples.h"
#include "fader/station_soundings.h"
#include "medium/control_server.h"
#include "medium/sent_bursts.h"
#include "mix/change_door.h"
#include "mix/mixer.h"
#include "profiles/channel_definition.h"
#include "sample/snr_range.h"
#include "sample_clock.h"
#include "types/grid.h"
#include "uhd_pmt.h"

namespace gr::wip {

namespace {

namespace mix = ::wip::mix;
namespace profiles = ::wip::profiles;

// Samples of delay of a path's interpolation filter. They are compensated, as on the paths of a
// cell on the medium.
constexpr std::int64_t path_delay = 6;
constexpr std::size_t kept_samples = 1 << 17, most_samples = 8192;
constexpr std::size_t sender = 0, receiver = 1;  // nodes

profiles::channel_choice make_choice(double speed_kmh, const std::string& shadowing, int user) {
    using use = profiles::channel_choice::use;
    profiles::channel_choice choice;
    if (speed_kmh != -1) {
        checked_parameter("speed_kmh", speed_kmh, 0, 500);
        choice.speed_kmh = speed_kmh;
    }
    checked_parameter("user", user, 0, profiles::max_random_users - 1);
    choice.user = static_cast<std::size_t>(user);
    choice.shadowing = shadowing == "on" ? use::on : use::off;
    if (shadowing == "on" || shadowing == "off") return choice;
    double deviation = -1;
    const char* const end = shadowing.data() + shadowing.size();
    if (std::from_chars(shadowing.data(), end, deviation).ptr != end ||
        !(deviation >= 0 && deviation <= 20))
        throw std::invalid_argument("shadowing is '" + shadowing +
                                    "'; valid: 'off', 'on', or 0..20 dB");
    choice.shadowing_db = deviation;
    return choice;
}

mix::mix_config make_mix(const std::string& channel, double speed_kmh, const std::string& shadowing,
                         int user, double noise_dbfs, std::uint64_t seed) {
    using ::wip::sample_model::lowest_noise_dbfs;
    checked_parameter("noise_dbfs", noise_dbfs, lowest_noise_dbfs,
                      ::wip::sample_model::highest_noise_dbfs);
    mix::mix_config c;
    c.seed = seed;
    c.nodes.resize(2);
    c.nodes[sender].name = "base", c.nodes[receiver].name = "terminal";
    if (noise_dbfs > lowest_noise_dbfs) c.nodes[receiver].noise_dbfs = noise_dbfs;
    mix::path_config path{.from = sender, .to = receiver, .delay_samples = path_delay};
    path.user = static_cast<std::uint32_t>(user);
    path.request.model = channel;
    if (speed_kmh != -1) path.request.speed_kmh = speed_kmh;
    path.request.shadowing.on = shadowing != "off";
    const profiles::channel_choice choice = make_choice(speed_kmh, shadowing, user);
    path.request.shadowing.deviation_db = choice.shadowing_db;
    path.channel = profiles::realise(profiles::load_definition(channel), choice, seed);
    c.paths.push_back(path);
    return c;
}

class transmit_channel_impl : public transmit_channel {
public:
    transmit_channel_impl(const mix::mix_config& config, const std::string& control)
        : gr::sync_block("transmit_channel", gr::io_signature::make(1, 1, sizeof(gr_complex)),
                         gr::io_signature::make(1, 1, sizeof(gr_complex))),
          paths_(config.paths),
          mixer_(config),
          stations_(config) {
        no_samples_.begin(0);
        sent_.begin(0);
        if (!control.empty())
            control_ = std::make_unique<::wip::air::control_server>(
                controlled(control, config),
                [this](const std::string& line) { GR_LOG_INFO(d_logger, line); },
                [](const ::wip::host::stop_reason&) {});
        // The process's umask decides who may connect: a medium, of the same group, asks there too
        // (flowgraphs/apps/base_station.py).
        if (control.starts_with("ipc://")) {
            const mode_t mask = ::umask(0);
            ::umask(mask);
            std::filesystem::permissions(control.substr(6),
                                         static_cast<std::filesystem::perms>(0666 & ~mask));
        }
    }

    int work(int n, gr_vector_const_void_star& in, gr_vector_void_star& out) override {
        const std::uint64_t first = nitems_read(0), end = first + static_cast<std::uint64_t>(n);
        const auto* from = static_cast<const gr_complex*>(in[0]);
        auto* to = static_cast<gr_complex*>(out[0]);
        tags_.clear();
        get_tags_in_range(tags_, 0, first, end, pmt::mp("tx_time"));
        std::sort(tags_.begin(), tags_.end(), tag_t::offset_compare);
        auto tag = tags_.begin();
        for (std::uint64_t item = first; item < end;) {
            for (; tag != tags_.end() && tag->offset == item; ++tag)
                if (const auto time = ::wip::read_sample_time(tag->value)) clock_.set(item, *time);
            std::uint64_t stop = std::min(end, item + most_samples);
            if (tag != tags_.end()) stop = std::min(stop, tag->offset);
            const auto size = static_cast<std::size_t>(stop - item);
            fade({from, size}, {to, size}, clock_.at(item).value);
            item = stop;
            from += size;
            to += size;
        }
        return n;
    }
    std::uint64_t clipped() const override { return clipped_; }

private:
    ::wip::air::controlled controlled(const std::string& endpoint, const mix::mix_config& config) {
        return {endpoint,
                config,
                "air:\n  clock: transmitter\n",
                [this, config](openwip::control::AirStatus& a) {
                    auto& path = *a.add_fader_paths();  // its ends alone
                    path.set_from(config.nodes[sender].name);
                    path.set_to(config.nodes[receiver].name);
                    ::wip::air::say_bursts(stations_.heard(), config, a);
                    a.set_clock("transmitter");
                    a.set_speed(1);
                    a.set_now(now_);
                    a.set_slots((samples_faded_ - samples_faded_before_) / ::wip::slot_samples);
                    a.set_clipped(clipped_ - clipped_before_);
                },
                [this] {
                    clipped_before_ = clipped_.load(),
                    samples_faded_before_ = samples_faded_.load();
                },
                [this](mix::mixer_changes c) { return changes_.ask(std::move(c), [] {}); }};
    }
    void fade(std::span<const gr_complex> in, std::span<gr_complex> out, mix::tick at) {
        // The time went back: earlier samples are not known any more.
        if (at < sent_.end()) sent_.begin(at);
        sent_.write(at, in);
        sent_.catch_up(at);  // after a long silence the samples before it are not needed any more
        changes_.serve(mixer_, paths_, at + ::wip::slot_samples - 1);
        // The first sample is preceded by silence, against which the known burst is detected.
        if (at != received_until_) stations_.received(sender, at - silence_size, silence_, mixer_);
        received_until_ = at + static_cast<mix::tick>(in.size());
        stations_.received(sender, at, in, mixer_);
        const std::array<const mix::sample_source*, 2> sources{&sent_, &no_samples_};
        mixer_.hear(receiver, at, out, sources, tunings_);
        std::uint64_t clipped = 0;
        for (const gr_complex v : out)
            clipped += (std::abs(v.real()) >= 1) + static_cast<unsigned>(std::abs(v.imag()) >= 1);
        clipped_ += clipped;
        samples_faded_ += out.size();
        now_ = at;
        if (at > forgotten_ + mix::mixer::fade_samples)
            mixer_.forget_before((forgotten_ = at) - mixer_.max_delay());
    }

    std::vector<mix::path_config> paths_;
    mix::mixer mixer_;
    ::wip::cabled::station_soundings stations_;  // as a fader's (channels/fader)
    static constexpr mix::tick silence_size = 8192;
    const std::vector<gr_complex> silence_ = std::vector<gr_complex>(silence_size);
    mix::tick received_until_ = -1;  // end of the samples that stations_ has had
    mix::change_door changes_;
    ::wip::cabled::received_samples sent_{kept_samples}, no_samples_{1};
    std::array<mix::node_tuning, 2> tunings_{};
    ::wip::sample_clock clock_{::wip::sample(0)};
    mix::tick forgotten_ = 0;
    std::atomic<std::uint64_t> clipped_{0}, clipped_before_{0};
    std::atomic<std::uint64_t> samples_faded_{0}, samples_faded_before_{0};
    std::atomic<mix::tick> now_{0};
    std::vector<tag_t> tags_;
    std::unique_ptr<::wip::air::control_server> control_{};  // last, so that its thread ends first
};

}  // namespace

transmit_channel::sptr transmit_channel::make(const std::string& channel, double speed_kmh,
                                              const std::string& shadowing, int user,
                                              double noise_dbfs, std::uint64_t seed,
                                              const std::string& control) {
    return gnuradio::make_block_sptr<transmit_channel_impl>(
        make_mix(channel, speed_kmh, shadowing, user, noise_dbfs, seed), control);
}

}  // namespace gr::wip
