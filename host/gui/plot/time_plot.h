// SPDX-License-Identifier: GPL-3.0-or-later
// A plot over the shared time axis: the wheel zooms all of them, dragging moves all of them, and
// the cursor under the mouse is drawn in all of them. Margins are fixed, so that plots above one
// another line up to the pixel.
#pragma once

#include <optional>
#include <vector>

#include "gui/plot/custom_plot.h"
#include "gui/plot/slot_axis.h"

namespace wip::gui {

class time_plot : public QCustomPlot {
    Q_OBJECT
public:
    // `right_digits`: room beside the plot, for the legend of a heat map.
    explicit time_plot(slot_axis& axis, int right_digits = 1);

    // Seconds relative to the right end of the axis.
    double x_of(double slot) const;
    double slot_of(double x) const;
    // Shows a text in the middle of the plot, instead of data; empty: none.
    void say(const QString& text);
    // Shows a text such as the verdict in the upper left corner, or below the legend when there is
    // no room beside it.
    void note(const QString& text, bool bad = false);
    // A second plot below the first with the same time axis.
    QCPAxisRect* add_axis_rect();

Q_SIGNALS:
    void cursor_moved(double slot);

protected:
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void prepare(QCPAxisRect* rect);
    void draw_cursor();
    void place_note();
    void fit_margins(QCPAxisRect* rect);
    void fit_scale();

    slot_axis& axis_;
    QCPItemText* message_;
    QCPItemText* note_;
    std::vector<QCPItemStraightLine*> cursors_;
    double cursor_x_ = 0;  // slot at which the cursors are drawn
    int right_digits_;
    std::optional<QPointF> drag_from_;
    double drag_right_ = 0;
};

}  // namespace wip::gui
