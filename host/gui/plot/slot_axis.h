// SPDX-License-Identifier: GPL-3.0-or-later
// The time axis and the cursor that all views share, in air slots. While it follows, its right end
// is the newest slot; a pause holds it, and then it can be moved and zoomed at rest. Plots draw
// seconds relative to the right end: the numbers along the axis stand still while the pictures
// move. So does the cursor while the axis follows, at the mouse: it is over an ever newer slot. At
// rest it stays with its slot.
#pragma once

#include <QObject>
#include <cstdint>
#include <optional>

namespace wip::gui {

class slot_axis : public QObject {
    Q_OBJECT
public:
    explicit slot_axis(QObject* parent = nullptr) : QObject(parent) {}

    double left() const { return right_ - window_; }
    double right() const { return right_; }
    double window() const { return window_; }  // length of the visible window in slots
    bool following() const { return following_; }
    std::optional<double> cursor() const { return cursor_; }

    void follow(double newest);  // once per frame
    void set_following(bool on);
    void set_right(double slot);  // stops following
    void set_window(double slot_count);
    // Scales the window by the factor; below 1 it becomes shorter. `at`: the slot that keeps its
    // place when paused.
    void zoom(double factor, double at);
    void set_cursor(std::optional<double> slot);

    static constexpr double shortest = 150, longest = 900'000;  // slots: 0.1 s to 10 min

Q_SIGNALS:
    void scale_changed();  // the length of the window has changed
    void moved();          // the right end has moved while paused
    void cursor_changed();
    void following_changed(bool on);

private:
    double right_ = 0, window_ = 15'000;
    bool following_ = true;
    std::optional<double> cursor_;
};

}  // namespace wip::gui
