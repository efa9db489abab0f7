// SPDX-License-Identifier: GPL-3.0-or-later
#include "packet/attempt_models.h"

#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>

#include "sample/counter_random.h"
#include "sample/flat_fading.h"
#include "types/require.h"

namespace wip::packet_model {
namespace {

constexpr int period = 100;  // attempts

class burst final : public attempt_errors {
public:
    burst(const attempt_config& c, std::uint32_t key)
        : fails_(c.burst), attempt_(static_cast<int>(period * sample_model::uniform(0, key))) {}
    bool fails(std::int64_t) override {
        attempt_ = (attempt_ + 1) % period;
        return attempt_ < fails_;
    }

private:
    int fails_, attempt_;
};

class gilbert_elliott final : public attempt_errors {
public:
    gilbert_elliott(const attempt_config& c, std::uint32_t key) : config_(c), key_(key) {
        begin(0);
    }
    bool fails(std::int64_t at_ns) override {
        // After this time the state is practically independent of the last one: 100 times the sum
        // of the mean durations.
        const double independent_after_ns = 1e8 * (config_.good_ms + config_.bad_ms);
        if (static_cast<double>(at_ns) - until_ns_ > independent_after_ns) begin(at_ns);
        while (until_ns_ <= static_cast<double>(at_ns)) {
            bad_ = !bad_;
            until_ns_ += duration();
        }
        const double loss = bad_ ? config_.bad_loss : config_.good_loss;
        return sample_model::uniform(draws_++, key_) < loss;
    }

private:
    void begin(std::int64_t at_ns) {
        bad_ = sample_model::uniform(draws_++, key_) <
               config_.bad_ms / (config_.good_ms + config_.bad_ms);
        until_ns_ = static_cast<double>(at_ns) + duration();
    }
    double duration() {
        return -1e6 * (bad_ ? config_.bad_ms : config_.good_ms) *
               std::log(sample_model::uniform(draws_++, key_));
    }
    attempt_config config_;
    std::uint32_t key_;
    std::uint64_t draws_ = 0;
    bool bad_ = false;
    double until_ns_ = 0;
};

class fading final : public attempt_errors {
public:
    fading(const attempt_config& c, std::uint32_t purpose)
        : gain_(c.doppler_hz, rate, c.seed, purpose),
          least_power_(std::pow(10, 0.1 * (c.needed_db - c.snr_db))) {}
    bool fails(std::int64_t at_ns) override {
        std::array<std::complex<float>, 1> h;
        gain_.seek(at_ns / (1'000'000'000 / rate));
        gain_.gains(h);
        return std::norm(h[0]) < least_power_;
    }

private:
    static constexpr std::int64_t rate = 1'000'000;
    sample_model::flat_fading gain_;
    double least_power_;
};

class episode final : public attempt_errors {
public:
    episode(std::unique_ptr<attempt_errors> errors, const attempt_config& c)
        : errors_(std::move(errors)),
          from_ns_(std::llround(1e9 * c.from_s)),
          until_ns_(c.for_s > 0 ? from_ns_ + std::llround(1e9 * c.for_s)
                                : std::numeric_limits<std::int64_t>::max()) {}
    bool fails(std::int64_t at_ns) override {
        return at_ns >= from_ns_ && at_ns < until_ns_ && errors_->fails(at_ns);
    }

private:
    std::unique_ptr<attempt_errors> errors_;
    std::int64_t from_ns_, until_ns_;
};

std::unique_ptr<attempt_errors> make(const attempt_config& config, std::uint32_t purpose) {
    const std::uint32_t key = sample_model::derive_key(config.seed, purpose);
    switch (config.kind) {
        case attempt_config::model::none:
            break;
        case attempt_config::model::burst:
            return std::make_unique<burst>(config, key);
        case attempt_config::model::gilbert_elliott:
            return std::make_unique<gilbert_elliott>(config, key);
        case attempt_config::model::fading:
            return std::make_unique<fading>(config, purpose);
    }
    return nullptr;
}

}  // namespace

void attempt_config::check() const {
    check_range(burst, setting::wlan_burst);
    check_range(good_ms, setting::wlan_good_ms);
    check_range(bad_ms, setting::wlan_bad_ms);
    check_range("wlan.good_loss", good_loss, 0, 1);
    check_range("wlan.bad_loss", bad_loss, 0, 1);
    check_range("wlan.snr_db", snr_db, setting::channel_snr_db);
    check_range("wlan.needed_db", needed_db, -60, 80);
    check_range("wlan.doppler_hz", doppler_hz, 0, 2000);
    check_range(from_s, setting::wlan_errors_from_s);
    check_range(for_s, setting::wlan_errors_for_s);
}

double needed_db_of(double rate_mbps) {
    return rate_mbps < 2 ? -3.8 : rate_mbps < 5.5 ? 0.7 : rate_mbps < 11 ? 3.3 : 6.3;
}

std::unique_ptr<attempt_errors> make_attempt_errors(const attempt_config& config,
                                                    std::uint32_t purpose) {
    config.check();
    auto errors = make(config, purpose);
    if (!errors || (config.from_s == 0 && config.for_s == 0)) return errors;
    return std::make_unique<episode>(std::move(errors), config);
}

}  // namespace wip::packet_model
