// SPDX-License-Identifier: GPL-3.0-or-later
// Rules of the user's own, loaded (library.h): what they decide is checked here, and how long they
// take is measured. A reason of theirs and a decision that is not valid are a bad_input that names
// the setting, the slot, the value and what is valid.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "extension/library.h"
#include "os/pacing.h"
#include "port/own_rules.h"

namespace wip::extension {

// The cost of one rule so far.
struct rule_cost {
    std::string key, value;  // the setting
    os::pacing_summary of_call;
};

// The cost in a message OwnRule, which the receiver's and the MAC's status both have.
template <class OwnRule>
void fill(const rule_cost& cost, OwnRule& rule) {
    rule.set_setting(cost.key);
    rule.set_value(cost.value);
    rule.set_calls(cost.of_call.slots);
    rule.set_longer_than_slot(cost.of_call.behind);
    rule.set_median_us(cost.of_call.median_us);
    rule.set_p99_us(cost.of_call.p99_us);
    rule.set_max_us(cost.of_call.max_us);
}

// The object that a library has made, and the time that its calls took.
class rule {
public:
    rule(const rule&) = delete;
    rule& operator=(const rule&) = delete;
    rule_cost cost() const { return {library_.key(), library_.value(), times_.summary()}; }

protected:
    using free_function = void (*)(void*);
    rule(const std::string& key, const std::string& value);
    ~rule() = default;
    // `kind`: "scheduler", ...; null `made`: `why` says why.
    void take(void* made, free_function free, const openwip_error& why);
    // The library has no such functions.
    [[noreturn]] void lacks(const char* kind, const char* functions) const;
    // Calls the function with (object, decision, reason) and measures the time. `where` is the
    // beginning of an error's text.
    template <class Function, class Decision, class Where>
    void call(Function function, Decision& decision, const Where& where) {
        const std::int64_t began = now_ns();
        const int failed = function(object_.get(), &decision, &why_);
        times_.add(static_cast<double>(now_ns() - began) * 1e-3);
        if (failed != 0) throw refuse(where(), reason(why_));
    }
    bad_input refuse(const std::string& where, const std::string& why) const;

    library library_;
    std::unique_ptr<void, free_function> object_;

private:
    static std::int64_t now_ns();
    static std::string reason(const openwip_error& why);
    os::pacing times_;
    openwip_error why_{};
};

class own_scheduler final : public scheduler_port, public rule {
public:
    own_scheduler(const std::string& key, const std::string& value, const openwip_cell& cell);
    void share(openwip_slot& slot) override;
};

class own_adaptation final : public adaptation_port, public rule {
public:
    own_adaptation(const std::string& key, const std::string& value, const openwip_cell& cell);
    void choose(openwip_report& report) override;
};

class own_predictor final : public rule {
public:
    own_predictor(const std::string& key, const std::string& value, int horizon);
    void update(openwip_gains& gains);
    void reset();
};

}  // namespace wip::extension
