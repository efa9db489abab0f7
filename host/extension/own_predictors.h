// SPDX-License-Identifier: GPL-3.0-or-later
// Makes predictors for a receiver: the built-in ones by their names, and those of the user's own by
// the value of the setting. An update has no way to fail (phy/prediction/gain_predictor.h), so what
// the user's code fails with is kept here, and the receiver's owner asks for it between two slots.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "extension/own_rules.h"
#include "phy/prediction/gain_predictor.h"

namespace wip::extension {

class own_predictors {
public:
    // phy::make_gain_predictor, which this header must not link with.
    explicit own_predictors(phy::gain_predictor_maker built_in) : built_in_(std::move(built_in)) {}

    // Throws bad_input when the user's code cannot be loaded, and as the built-in maker does.
    std::unique_ptr<phy::gain_predictor> make(std::string_view name, int horizon) {
        const std::string value(name);
        if (!read_extension_name(value)) return built_in_(name, horizon);
        auto rule = std::make_shared<own_predictor>(setting, value, horizon);
        const std::lock_guard lock(kept_->mutex);
        kept_->rule = rule;
        return std::make_unique<adapter>(std::move(rule), kept_);
    }
    // The same, for who cannot throw: nullptr, and a failure().
    std::unique_ptr<phy::gain_predictor> try_to_make(std::string_view name, int horizon) noexcept
        try {
        return make(name, horizon);
    } catch (const std::exception& e) {
        kept_->fail(e.what());
        return nullptr;
    }

    // The reason with which the user's code has failed; empty: it has not.
    bool has_failed() const noexcept { return kept_->failed.load(std::memory_order_acquire); }
    std::string failure() const {
        const std::lock_guard lock(kept_->mutex);
        return kept_->why;
    }
    // The cost of the user's predictor that was made last; empty: none was made.
    std::optional<rule_cost> cost() const {
        const std::lock_guard lock(kept_->mutex);
        const auto rule = kept_->rule.lock();
        return rule ? std::optional(rule->cost()) : std::nullopt;
    }

private:
    static constexpr const char* setting = "phy.predictor";

    struct kept {
        mutable std::mutex mutex;
        std::atomic<bool> failed{false};
        std::string why;
        std::weak_ptr<own_predictor> rule;
        void fail(const std::string& reason) {
            const std::lock_guard lock(mutex);
            if (why.empty()) why = reason;
            failed.store(true, std::memory_order_release);
        }
    };

    class adapter final : public phy::gain_predictor {
    public:
        adapter(std::shared_ptr<own_predictor> rule, std::shared_ptr<kept> kept)
            : rule_(std::move(rule)), kept_(std::move(kept)) {}
        void reset() noexcept override {
            if (!kept_->failed) rule_->reset();
        }
        bool update(const phy::gain_sample& now, phy::bin_gains& ahead) noexcept override {
            openwip_gains g{};
            g.measured = 1;
            std::copy_n(now.gain.re.begin(), OPENWIP_BINS, g.re);
            std::copy_n(now.gain.im.begin(), OPENWIP_BINS, g.im);
            g.gain_error = now.error;
            g.direction_error = now.direction_error;
            if (!ask(g) || g.known == 0) return false;
            std::copy_n(g.ahead_re, OPENWIP_BINS, ahead.re.begin());
            std::copy_n(g.ahead_im, OPENWIP_BINS, ahead.im.begin());
            return true;
        }
        void skip() noexcept override {
            openwip_gains g{};
            ask(g);
        }

    private:
        bool ask(openwip_gains& g) noexcept {
            if (kept_->failed) return false;
            try {
                rule_->update(g);
                return true;
            } catch (const std::exception& e) {
                kept_->fail(e.what());
                return false;
            }
        }
        std::shared_ptr<own_predictor> rule_;
        std::shared_ptr<kept> kept_;
    };

    phy::gain_predictor_maker built_in_;
    std::shared_ptr<kept> kept_ = std::make_shared<kept>();
};

}  // namespace wip::extension
