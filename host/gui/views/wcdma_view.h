// SPDX-License-Identifier: GPL-3.0-or-later
// The WCDMA cells of a UMTS bearer as two maps beside each other: hexagons and sites, and every
// user at its place, in the left map with the colour of its SIR, in the right one with that of its
// transmit power. A line leads to the site that the user belongs to. A cross says that its last
// block was lost. Terminals, which have a bearer, are squares; other users are dots.
#pragma once

#include <array>

#include "gui/views/view.h"

namespace wip::gui {

// A user as it is drawn.
struct wcdma_dot {
    double x_m = 0, y_m = 0;
    double site_x_m = 0, site_y_m = 0;  // site of the cell that it belongs to
    double sir_db = 0, power_dbw = 0;
    int user = 0, cell = 0;
    bool lost = false;
    bool is_terminal = false, is_chosen = false;
};

class wcdma_canvas : public QWidget {
    Q_OBJECT
public:
    enum class map { sir, power };

    explicit wcdma_canvas(QWidget* parent = nullptr);
    // `sites_m`: x and y of each; empty: there are no cells, and the text is shown in their place.
    void show(std::vector<wcdma_dot> dots, std::vector<QPointF> sites_m, double side_m);
    void set_words(const QString& text) { words_ = text; }
    const std::vector<wcdma_dot>& dots() const { return dots_; }
    // Where a place in the cells is drawn.
    QPointF place_of(map which, double x_m, double y_m) const;
    // The values at both ends of the colours of a map, dB and dBW.
    std::array<double, 2> ends_of(map which) const;
    QRgb colour_of(map which, const wcdma_dot& dot) const;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    QRect rect_of(map which) const;
    QRectF cells_m() const;
    void paint_map(QPainter& painter, map which) const;
    void paint_scale(QPainter& painter, map which) const;

    std::vector<wcdma_dot> dots_;
    std::vector<QPointF> sites_m_;
    double side_m_ = 0;
    double middle_sir_db_ = 0;           // the median, rounded
    double low_dbw_ = 0, high_dbw_ = 0;  // multiples of 10 that every power so far was between
    QString words_;
};

class wcdma_view : public view {
    Q_OBJECT
public:
    wcdma_view(const session_model& model, slot_axis& axis);
    void refresh(bool all) override;
    int frames_per_second() const override { return 5; }
    bool is_of_terminals() const override { return false; }
    QString words() const override;
    QString csv() const override;
    wcdma_canvas& canvas() { return *canvas_; }

private:
    std::vector<wcdma_dot> dots() const;

    wcdma_canvas* canvas_;
    std::int64_t seen_ = -1;
};

}  // namespace wip::gui
