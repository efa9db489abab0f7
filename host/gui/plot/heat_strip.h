// SPDX-License-Identifier: GPL-3.0-or-later
// Bins x time as pixels. The picture is a ring of columns, one per pixel of width: when time moves
// on, only new columns (and those that changed) are painted, and the rest is copied. That is what
// makes six of them at 30 frames a second cheap; QCPColorMap paints all of it every time.
#pragma once

#include <QImage>
#include <functional>

#include "gui/model/session_model.h"
#include "gui/plot/colour_map.h"
#include "gui/plot/custom_plot.h"
#include "gui/plot/slot_axis.h"
#include "types/bin.h"

namespace wip::gui {

class heat_strip : public QCPAbstractItem {
    Q_OBJECT
public:
    using painter = std::function<QRgb(const slot_column&, bin_index)>;
    heat_strip(QCustomPlot* plot, const session_model& model, const slot_axis& axis, painter paint);

    // Bring the picture up to date; `all`: every column.
    void update(bool all);
    double selectTest(const QPointF&, bool, QVariant* = nullptr) const override { return -1; }

    // The column of the model that is shown at this slot; nullptr: none.
    const slot_column* column_at(double slot) const;

protected:
    void draw(QCPPainter* canvas) override;

private:
    double slots_per_column() const;
    void paint_column(std::int64_t index);

    const session_model& model_;
    const slot_axis& axis_;
    painter paint_;
    QImage image_;
    double column_slots_ = 0;             // slots of a column when the picture was made
    std::int64_t first_ = 0, last_ = -1;  // columns that are in the picture
};

}  // namespace wip::gui
