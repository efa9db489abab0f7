// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/view.h"

#include "gui/replayed_cell.h"

namespace wip::gui {

view::view(const QString& id, const QString& title, const QString& help, const session_model& model,
           slot_axis& axis)
    : QDockWidget(title), model_(model), axis_(axis), help_(help) {
    setObjectName(id);
    setToolTip(help);
    connect(this, &QDockWidget::visibilityChanged, this, [this](bool on) {
        shown_ = on;
        if (on) Q_EMIT became_visible();
    });
}

QString view::verdict_text() const {
    if (!model_.has(openwip::telemetry::Telemetry::kVerdict)) return {};
    const auto& v = model_.verdict();
    if (is_replayed(v)) return QStringLiteral("replay of recorded samples");
    if (v.valid()) return QStringLiteral("verdict so far: VALID");
    QString text = QStringLiteral("verdict so far: INVALID");
    if (v.reason_size() > 0) text += ": " + QString::fromStdString(v.reason(0)).left(80);
    return text;
}

}  // namespace wip::gui
