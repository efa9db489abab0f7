// SPDX-License-Identifier: GPL-3.0-or-later
#include "flow/tell.h"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <utility>

#include "types/failure.h"

namespace wip::flow {

void give_up(const std::string& what) { throw machine_error(what, errno); }

std::string text_of(const nlohmann::json& line) {
    return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

double rounded(double x, int digits) {
    const double scale = std::pow(10, digits);
    return std::round(x * scale) / scale;
}

void teller::write_line(const nlohmann::json& line) const {
    const std::string text = text_of(line) + "\n";
    const bool whole = text.size() <= longest_line &&
                       ::write(out_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (!whole) throw machine_error("a line of the result cannot be written to standard output");
}

void teller::say(nlohmann::json what) const {
    what["flow"] = flow_;
    what["end"] = end_;
    write_line(what);
}

void teller::say_part(nlohmann::json what) const {
    what["part"] = 1;
    say(std::move(what));
}

void teller::say_failed(const std::string& why) const {
    write_line({{"flow", flow_}, {"failed", why.substr(0, longest_list)}});
}

void long_list::add(nlohmann::json entry) {
    characters_ += entry.dump().size() + 2;
    entries_.push_back(std::move(entry));
    if (characters_ + 64 > longest_list) finish();
}

void long_list::finish() {
    if (!entries_.empty()) to_.say_part({{name_, rest()}});
}

nlohmann::json long_list::rest() {
    characters_ = 0;
    return std::exchange(entries_, nlohmann::json::array());
}

}  // namespace wip::flow
