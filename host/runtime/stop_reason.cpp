// SPDX-License-Identifier: GPL-3.0-or-later
#include "runtime/stop_reason.h"

#include <google/protobuf/util/json_util.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>

namespace wip::host {
namespace {

constexpr std::size_t longest_words = 500, longest_file = 4096;  // characters; bytes

stop_reason somebody_asked() { return {openwip::stop::ASKED, "asked to stop"}; }

}  // namespace

int exit_code_of(stop_cause cause) {
    switch (cause) {
        case openwip::stop::DIED:
        case openwip::stop::SILENT:
        case openwip::stop::GONE:
        case openwip::stop::FAILED:
            return config::exit_peer_lost;
        case openwip::stop::UNFIT:
            return config::exit_bad_input;
        default:  // also causes that only a later version knows
            return config::exit_asked;
    }
}

stop_reason read_reason(const std::string& text) {
    openwip::stop::Reason read;
    google::protobuf::util::JsonParseOptions lenient;
    lenient.ignore_unknown_fields = true;
    stop_reason r;
    if (google::protobuf::util::JsonStringToMessage(text, &read, lenient).ok())
        r = {read.cause(), read.words()};
    else
        r.words = text.substr(0, text.find('\n'));
    if (r.words.size() > longest_words) r.words.resize(longest_words);
    return r.given() ? r : somebody_asked();
}

stop_reason reason_to_stop() {
    std::string text;
    if (const char* run = std::getenv("OPENWIP_RUN"); run != nullptr) {
        std::ifstream in(std::string(run) + "/why", std::ios::binary);
        text.resize(longest_file);
        in.read(text.data(), static_cast<std::streamsize>(text.size()));
        text.resize(static_cast<std::size_t>(in.gcount()));
    }
    return read_reason(text);
}

stop_reason reason_of(const openwip::control::Request& request) {
    stop_reason r = somebody_asked();
    if (request.cause() != openwip::stop::CAUSE_UNSPECIFIED) r.cause = request.cause();
    if (!request.stop().empty()) r.words = request.stop();
    return r;
}

}  // namespace wip::host
