// SPDX-License-Identifier: GPL-3.0-or-later
// Small things that several plots need.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

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
inline QCPLegend* small_legend(QCustomPlot* plot, QCPAxisRect* rect) {
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
    return legend;
}

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
