// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/view.h"

#include "gui/replayed_cell.h"

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

QString view::verdict_text() const {
    if (!model_.has(openwip::telemetry::Telemetry::kVerdict)) return {};
    const auto& v = model_.verdict();
    if (is_replayed(v)) return QStringLiteral("replay of recorded samples");
    // Why not, says the health bar: here it would lie on the legend.
    return v.valid() ? QStringLiteral("verdict so far: VALID")
                     : QStringLiteral("verdict so far: INVALID");
}

}  // namespace wip::gui
