// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/cell/replayer.h"

#include <algorithm>

namespace wip::gui {

replayer::replayer(const QString& path, session& into) : reader_(path), session_(into) {
    session_.set_replay(true);
}

void replayer::play_to(std::int64_t ns) {
    position_ = std::clamp<std::int64_t>(ns, 0, length_ns());
    for (; next_ < reader_.size() && reader_.time_ns(next_) - reader_.time_ns(0) <= position_;
         ++next_)
        session_.take(reader_.message(next_));
}

void replayer::advance(std::int64_t wall_ns) {
    reader_.take_in();
    std::int64_t to = position_;
    if (playing_ && !at_end())
        to += static_cast<std::int64_t>(static_cast<double>(wall_ns) * speed_);
    // The position that was asked for may come later than that, and time waits for it.
    if (!reader_.whole() && reader_.size() != 0)
        to = std::max(position_,
                      std::min(to, reader_.time_ns(reader_.size() - 1) - reader_.time_ns(0)));
    play_to(to);
}

void replayer::seek(std::int64_t ns, double history_s) {
    ns = std::clamp<std::int64_t>(ns, 0, length_ns());
    const auto from = static_cast<std::int64_t>(static_cast<double>(ns) - history_s * 1e9);
    // Forward over a short way the model is already right; everything else is made anew.
    if (ns < position_ || reader_.at(std::max<std::int64_t>(0, from)) > next_) {
        session_.clear();
        next_ = reader_.at(std::max<std::int64_t>(0, from));
    }
    play_to(ns);
}

}  // namespace wip::gui
