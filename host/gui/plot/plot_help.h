// SPDX-License-Identifier: GPL-3.0-or-later
// Small things that several plots need.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "gui/plot/colour_map.h"
#include "gui/plot/custom_plot.h"

namespace wip::gui {

inline QPen series_pen(int index, double width = 1.6, Qt::PenStyle style = Qt::SolidLine) {
    return QPen(series_colour(index), width, style);
}

// A range from 0 (or `low`) that holds `high`, ending in a round number, so that a small change of
// the data does not move the axis. True when it had to change: the axis is then drawn again.
inline bool fit_upwards(QCPAxis* axis, double high, double low = 0) {
    double top = 1;
    if (high > low) {
        const double ten = std::pow(10, std::floor(std::log10(high - low)));
        for (const double step : {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0})
            if ((top = step * ten) >= (high - low) * 1.04) break;
    }
    const QCPRange wanted(low, low + top);
    // Shrinks only when most of it is empty, or it would pump.
    const QCPRange now = axis->range();
    const bool keep = now.lower == low && now.upper >= wanted.upper && now.upper <= low + 2.5 * top;
    if (keep) return false;
    axis->setRange(wanted);
    return true;
}

// A plot without an axis of time.
inline QCustomPlot* plain_plot(const QString& help, QSize least) {
    auto* plot = new QCustomPlot;
    plot->setMinimumSize(least);
    plot->setToolTip(help);
    plot->setNotAntialiasedElements(QCP::aeAll);
    return plot;
}

// A legend in the upper left corner of its axis rect that stays out of the way.
inline QCPLegend* small_legend(QCustomPlot* plot, QCPAxisRect* rect,
                               std::initializer_list<QCPGraph*> lines = {}) {
    auto* legend = new QCPLegend;
    rect->insetLayout()->addElement(legend, Qt::AlignRight | Qt::AlignTop);
    rect->insetLayout()->setMargins(QMargins(2, 2, 2, 2));
    legend->setLayer("legend");
    legend->setBrush(QColor(255, 255, 255, 215));
    legend->setBorderPen(Qt::NoPen);
    legend->setRowSpacing(0);
    legend->setMargins(QMargins(4, 1, 4, 1));
    legend->setIconSize(16, 8);
    legend->setFillOrder(QCPLegend::foColumnsFirst);
    legend->setWrap(3);
    legend->setFont(plot->font());
    for (auto* line : lines) line->addToLegend(legend);
    return legend;
}

// Adds a line over the axis `y`; nullptr: that of the plot.
inline QCPGraph* add_line(QCustomPlot* plot, const QString& name, const QPen& pen,
                          QCPAxis* y = nullptr) {
    auto* line =
        y == nullptr ? plot->addGraph() : plot->addGraph(y->axisRect()->axis(QCPAxis::atBottom), y);
    line->setName(name);
    line->setPen(pen);
    return line;
}

// A cross at each of its points.
inline QCPGraph* add_crosses(QCustomPlot* plot, const QString& name, QColor colour, double size) {
    auto* crosses = plot->addGraph();
    crosses->setName(name);
    crosses->setLineStyle(QCPGraph::lsNone);
    crosses->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssCross, colour, size));
    return crosses;
}

// Words at a place of the axis rect, 0 to 1 from its upper left corner.
inline QCPItemText* add_words(QCustomPlot* plot, double x, double y, Qt::Alignment alignment) {
    auto* words = new QCPItemText(plot);
    words->position->setType(QCPItemPosition::ptAxisRectRatio);
    words->position->setCoords(x, y);
    words->setPositionAlignment(alignment);
    words->setBrush(QColor(255, 255, 255, 210));
    return words;
}

// A second plot below the first, with axes of its own.
inline QCPAxisRect* add_rect_below(QCustomPlot* plot) {
    auto* rect = new QCPAxisRect(plot);
    plot->plotLayout()->addElement(plot->plotLayout()->rowCount(), 0, rect);
    for (auto* a : rect->axes()) {
        a->setLayer("axes");
        a->grid()->setLayer("grid");
    }
    return rect;
}

// Both of them from the one edge to the other, whatever stands beside their axes.
inline void line_up(QCustomPlot* plot) {
    auto* edges = new QCPMarginGroup(plot);
    for (auto* rect : plot->axisRects()) rect->setMarginGroup(QCP::msLeft | QCP::msRight, edges);
}

inline void make_logarithmic(QCPAxis* axis) {
    axis->setScaleType(QCPAxis::stLogarithmic);
    axis->setTicker(QSharedPointer<QCPAxisTickerLog>::create());
    axis->setNumberFormat("gb");
    axis->setNumberPrecision(4);
}

// Draws the plot. If not `all`, only the layer "main" has changed, which has a buffer of its own.
inline void draw(QCustomPlot* plot, bool all) {
    if (all)
        plot->replot(QCustomPlot::rpImmediateRefresh);
    else
        plot->layer("main")->replot();
}

// The points that a line is drawn through.
using line_points = QVector<QCPGraphData>;

// Every text of a plot in this font.
inline void use_font(QCustomPlot* plot, const QFont& font) {
    plot->setFont(font);
    for (auto* rect : plot->axisRects())
        for (auto* a : rect->axes()) {
            a->setTickLabelFont(font);
            a->setLabelFont(font);
        }
    for (auto* legend : plot->findChildren<QCPLegend*>()) legend->setFont(font);
    for (int i = 0; i < plot->itemCount(); ++i)
        if (auto* text = qobject_cast<QCPItemText*>(plot->item(i))) text->setFont(font);
}

}  // namespace wip::gui
