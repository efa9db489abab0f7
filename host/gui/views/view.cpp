// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/view.h"

#include "gui/model/meaning.h"

namespace wip::gui {

view::view(const QString& id, const QString& title, const QString& help, const session_model& model,
           slot_axis& axis)
    : QDockWidget(title), model_(model), axis_(axis), title_(title), help_(help) {
    setObjectName(id);
    setToolTip(help);
    connect(this, &QDockWidget::visibilityChanged, this, [this](bool on) {
        shown_ = on;
        if (on) Q_EMIT became_visible();
    });
}

void view::name_terminals(const QString& which) {
    setWindowTitle(which.isEmpty() || !is_of_terminals() ? title_ : title_ + ": " + which);
}

QString view::verdict_word() const {
    if (!model_.has(openwip::telemetry::Telemetry::kVerdict)) return {};
    const auto& v = model_.verdict();
    return is_replayed(v) ? "replay" : v.valid() ? "valid" : "invalid";
}

QString view::verdict_text() const {
    const QString word = verdict_word();
    if (word.isEmpty()) return {};
    // The health bar shows why a run is invalid, for which there is no room here.
    return word == "replay" ? "replay of recorded samples" : "verdict so far: " + word.toUpper();
}

time_view::time_view(const QString& id, const QString& title, const QString& help,
                     const QString& unit, const session_model& model, slot_axis& axis,
                     int right_digits)
    : view(id, title, help, model, axis), plot_(new time_plot(axis, right_digits)) {
    plot_->setToolTip(help);
    plot_->yAxis->setLabel(unit);
    setWidget(plot_);
}

}  // namespace wip::gui
