// SPDX-License-Identifier: GPL-3.0-or-later
#include "flow/kinds.h"

#include <exception>
#include <map>
#include <string>

namespace wip::flow {
namespace {

using known_kinds = std::map<std::string_view, std::span<const end>>;

known_kinds& kinds() {
    static known_kinds known;
    return known;
}

}  // namespace

kind::kind(std::string_view name, std::span<const end> ends) { kinds().emplace(name, ends); }

std::span<const end> ends_of(std::string_view kind) {
    const auto found = kinds().find(kind);
    return found == kinds().end() ? std::span<const end>() : found->second;
}

std::string run_end(const plan& p, const flow& f, const end& e, int out,
                    const std::function<void()>& listening) {
    const teller to(out, f.number, std::string(e.name));
    try {
        e.run({p, f, to, listening});
        return {};
    } catch (const std::exception& failure) {
        to.say_failed(failure.what());
        return failure.what();
    }
}

}  // namespace wip::flow
