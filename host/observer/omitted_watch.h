// SPDX-License-Identifier: GPL-3.0-or-later
// How many more connections or processes a sample leaves out than the last one did, each source
// for itself: one that does not answer for a while has left out nothing and nothing new.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace wip::observer {

class omitted_watch {
public:
    // The increase for a source that has answered. Later values are compared with the first one of
    // each source.
    std::uint64_t more(const std::string& source, std::uint64_t now) {
        const auto [last, first] = last_.try_emplace(source, now);
        const std::uint64_t grown = now > last->second ? now - last->second : 0;
        last->second = now;
        return grown;
    }
    // Called when there is no subscriber any more: what happens meanwhile is not reported later.
    void forget() { last_.clear(); }

private:
    std::map<std::string, std::uint64_t> last_;
};

}  // namespace wip::observer
