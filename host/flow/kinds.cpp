// SPDX-License-Identifier: GPL-3.0-or-later
#include "flow/kinds.h"

#include <exception>
#include <map>
#include <string>

namespace wip::flow {
namespace {

constexpr end bulk[] = {{"receiver", true, true, receive_bulk}, {"sender", false, true, send_bulk}};
constexpr end sessions[] = {{"receiver", true, true, receive_sessions},
                            {"sender", false, true, send_sessions}};
constexpr end compare[] = {{"receiver", true, true, receive_compared},
                           {"sender", false, true, send_compared}};
constexpr end pages[] = {{"server", true, false, serve_pages}, {"client", false, true, ask_pages}};
constexpr end voip[] = {{"receiver", true, true, listen_voip}, {"sender", false, true, talk_voip}};

}  // namespace

std::span<const end> ends_of(std::string_view kind) {
    static const std::map<std::string_view, std::span<const end>> kinds = {
        {"bulk", bulk},       {"transfer", bulk}, {"sessions", sessions},
        {"compare", compare}, {"pages", pages},   {"voip", voip}};
    const auto found = kinds.find(kind);
    return found == kinds.end() ? std::span<const end>() : found->second;
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
