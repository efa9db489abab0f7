// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/plot/slot_axis.h"

#include <algorithm>

namespace wip::gui {

void slot_axis::follow(double newest) {
    if (!following_ || right_ == newest) return;
    const double by = newest - right_;
    right_ = newest;
    if (cursor_) set_cursor(*cursor_ + by);
}

void slot_axis::set_following(bool on) {
    if (following_ == on) return;
    following_ = on;
    Q_EMIT following_changed(on);
}

void slot_axis::set_right(double slot) {
    set_following(false);
    right_ = std::max(0.0, slot);
    Q_EMIT moved();
}

void slot_axis::set_window(double slot_count) {
    window_ = std::clamp(slot_count, shortest, longest);
    Q_EMIT scale_changed();
}

void slot_axis::zoom(double factor, double at) {
    const double before = window_;
    window_ = std::clamp(window_ * factor, shortest, longest);
    if (!following_) right_ = std::max(0.0, at + (right_ - at) * window_ / before);
    Q_EMIT scale_changed();
}

void slot_axis::set_cursor(std::optional<double> slot) {
    if (cursor_ == slot) return;
    cursor_ = slot;
    Q_EMIT cursor_changed();
}

}  // namespace wip::gui
