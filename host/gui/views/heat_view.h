// SPDX-License-Identifier: GPL-3.0-or-later
// The six heat maps, bins over time: one table of what each paints, one class.
#pragma once

#include <functional>
#include <vector>

#include "gui/plot/colour_map.h"
#include "gui/plot/heat_strip.h"
#include "gui/plot/time_plot.h"
#include "gui/views/view.h"
#include "types/bin.h"

namespace wip::gui {

struct heat_kind {
    const char* id;
    const char* title;
    const char* help;
    const char* unit;
    colour_map map;
    double low, high;
    // NaN: unknown.
    double (*value)(const slot_column&, bin_index);
    // Categories instead of a scale: their colours and names; nullptr: a scale.
    QRgb (*colour)(int) = nullptr;
    QString (*name)(int) = nullptr;
    // The categories are the terminals, as many as there are.
    bool terminals = false;
};
const std::vector<heat_kind>& heat_kinds();

class heat_view : public time_view {
    Q_OBJECT
public:
    heat_view(const heat_kind& kind, const session_model& model, slot_axis& axis);
    void refresh(bool all) override;
    int frames_per_second() const override { return 30; }
    bool paints_changes() const override { return true; }
    QString csv() const override;

    // The text of the readout for this slot and bin.
    QString readout(double slot, bin_index bin) const;

private:
    void make_legend();
    double highest() const;
    QRgb paint(const slot_column& c, bin_index bin) const;

    const heat_kind& kind_;
    heat_strip* strip_;
    std::vector<QCPAbstractItem*> legend_;
    std::vector<QMetaObject::Connection> placed_;
    double legend_to_ = 0;
};

}  // namespace wip::gui
