// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/plot/heat_strip.h"

#include <algorithm>
#include <cmath>

namespace wip::gui {

heat_strip::heat_strip(QCustomPlot* plot, const session_model& model, const slot_axis& axis,
                       painter paint)
    : QCPAbstractItem(plot), model_(model), axis_(axis), paint_(std::move(paint)) {
    setLayer("main");
    setSelectable(false);
    setAntialiased(false);
}

double heat_strip::slots_per_column() const {
    const int width = std::max(16, mParentPlot->axisRect()->width());
    return axis_.window() / width;
}

const slot_column* heat_strip::column_at(double slot) const {
    const slot_column* c = model_.columns().last_before(slot);
    // A sample stands for the slots until the next one; longer than that, nothing is known.
    const double reach = std::max(2.5 * model_.column_spacing(), 1.5 * column_slots_);
    return c != nullptr && slot - static_cast<double>(c->slot) <= reach ? c : nullptr;
}

void heat_strip::paint_column(std::int64_t index) {
    const auto width = static_cast<std::int64_t>(image_.width());
    const auto x = static_cast<int>(((index % width) + width) % width);
    const slot_column* c = column_at(static_cast<double>(index + 1) * column_slots_ - 1e-9);
    for (int b = 0; b < nof_bins; ++b) {
        auto* line = reinterpret_cast<QRgb*>(image_.scanLine(nof_bins - 1 - b));
        line[x] = (c != nullptr ? paint_(*c, bin_index(b)) : no_data) | 0xff000000u;
    }
}

void heat_strip::update(bool all) {
    const int width = std::max(16, mParentPlot->axisRect()->width());
    const double per_column = slots_per_column();
    if (image_.width() != width || per_column != column_slots_ || all) {
        if (image_.width() != width) image_ = QImage(width, nof_bins, QImage::Format_RGB32);
        column_slots_ = per_column;
        last_ = first_ - 1;
    }
    const auto right = static_cast<std::int64_t>(std::floor(axis_.right() / per_column));
    const std::int64_t left = right - width + 1;
    std::int64_t from = left;
    if (last_ >= first_ && left >= first_ && left <= last_) {  // the old picture overlaps: keep it
        from = last_ + 1;
        if (model_.oldest_change() <= model_.newest_slot()) {
            const double changed = static_cast<double>(model_.oldest_change()) / per_column;
            from = std::min(from, static_cast<std::int64_t>(std::floor(changed)));
        }
        // The newest columns were painted before their samples had come.
        const double reach = 2.5 * model_.column_spacing() / per_column + 2;
        from = std::min(from, last_ - static_cast<std::int64_t>(reach));
        from = std::max(from, left);
    }
    for (std::int64_t c = from; c <= right; ++c) paint_column(c);
    first_ = left;
    last_ = right;
}

void heat_strip::draw(QCPPainter* canvas) {
    if (image_.isNull() || last_ < first_) return;
    const QRect area = mParentPlot->axisRect()->rect();
    const int width = image_.width();
    // The column at the left edge, and where the ring wraps.
    const auto split = static_cast<int>(((first_ % width) + width) % width);
    canvas->setRenderHint(QPainter::SmoothPixmapTransform, false);
    canvas->drawImage(QRect(area.left(), area.top(), width - split, area.height()), image_,
                      QRect(split, 0, width - split, nof_bins));
    if (split > 0)
        canvas->drawImage(QRect(area.left() + width - split, area.top(), split, area.height()),
                          image_, QRect(0, 0, split, nof_bins));
}

}  // namespace wip::gui
