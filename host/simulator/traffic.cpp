// SPDX-License-Identifier: GPL-3.0-or-later
#include "simulator/traffic.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <stdexcept>

#include "simulator/flow_ends.h"
#include "simulator/senders.h"

namespace wip::simulator {
namespace {

constexpr double most_seconds = 1e6;

double number(const std::string& word, double least, double most) {
    double x = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), x);
    if (error != std::errc() || end != word.data() + word.size() || !(x >= least) || !(x <= most)) {
        std::ostringstream why;
        why << word << " is no number " << least << ".." << most;
        throw std::invalid_argument(why.str());
    }
    return x;
}

}  // namespace

traffic::traffic(std::vector<place> sides) : sides_(std::move(sides)) {}
traffic::~traffic() = default;

const place& traffic::side(const std::string& word) const {
    return sides_[static_cast<std::size_t>(
        number(word, 0, static_cast<double>(sides_.size()) - 1))];
}

void traffic::add(const std::string& line) {
    std::istringstream in(line);
    std::vector<std::string> w;
    for (std::string word; in >> word;) w.push_back(word);
    if (w.empty() || w[0][0] == '#') return;
    const auto seconds = [&w](std::size_t i) { return number(w[i], 0, most_seconds); };
    const auto bytes = [&w](std::size_t i) {
        return static_cast<std::uint32_t>(number(w[i], 1, 1e9));
    };
    try {
        if (w[0] == "set" && w.size() == 3) {
            set_attribute(w[1], w[2]);
            return;
        }
        const bool bulk = w[0] == "bulk";
        if ((bulk || w[0] == "transfer") &&
            (w.size() == 6 || w.size() == 7 || (bulk && w.size() == 8))) {
            tcp_flow f{flows_++, side(w[1]), side(w[2]), seconds(3), 0, 0, w[5], 0, 0};
            if (bulk)
                f.seconds = number(w[4], 1e-3, most_seconds);
            else
                f.bytes = static_cast<std::uint64_t>(number(w[4], 1, 1e15));
            if (w.size() > 6) f.window_kb = static_cast<int>(number(w[6], 0, 65536));
            if (w.size() > 7) f.measured = seconds(7);
            ends_.push_back(std::make_unique<tcp_receiver>(f));
            ends_.push_back(std::make_unique<tcp_sender>(f));
        } else if (w[0] == "sessions" && w.size() >= 7 && w.size() % 2 == 1) {
            session_flow f{flows_++, side(w[1]), side(w[2]), seconds(3), w[4], {}};
            for (std::size_t i = 5; i < w.size(); i += 2)
                f.bytes.insert(f.bytes.end(), static_cast<std::size_t>(number(w[i + 1], 1, 1e4)),
                               bytes(i));
            ends_.push_back(std::make_unique<session_receiver>(f));
            ends_.push_back(std::make_unique<session_sender>(f));
        } else if (w[0] == "pages" && w.size() == 9) {
            const double start = seconds(3);
            ends_.push_back(std::make_unique<page_client>(
                page_flow{flows_++, side(w[1]), side(w[2]), start, start + seconds(4), seconds(7),
                          bytes(5), bytes(6), w[8]}));
        } else if (w[0] == "voip" && w.size() == 7) {
            const double start = seconds(3);
            const voip_flow f{flows_++, side(w[1]),         side(w[2]),
                              start,    start + seconds(4), number(w[5], 1e-6, most_seconds),
                              bytes(6)};
            ends_.push_back(std::make_unique<voip_receiver>(f));
            ends_.push_back(std::make_unique<voip_sender>(f));
        } else {
            throw std::invalid_argument(
                "not of the form of a flow; valid: bulk, transfer, sessions, pages, voip, set");
        }
    } catch (const std::invalid_argument& e) {
        throw std::invalid_argument("plan: " + line + ": " + e.what());
    }
}

bool traffic::done() const {
    return std::ranges::all_of(ends_, [](const auto& e) { return e->done(); });
}

nlohmann::json traffic::result() const {
    auto all = nlohmann::json::array();
    for (const auto& e : ends_)
        if (e->done()) all.push_back(e->result());
    return all;
}

}  // namespace wip::simulator
