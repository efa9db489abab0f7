// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/window_words.h"

#include <QApplication>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>
#include <QStatusBar>

#include "gui/controls_view.h"

namespace wip::gui {
namespace {

constexpr int every_ms = 500;
constexpr int counted_at_once = 4;

}  // namespace

window_words::window_words(const main_window& of, const QString& path) : of_(of), path_(path) {
    QObject::connect(&timer_, &QTimer::timeout, &timer_, [this] { write(); });
    timer_.start(every_ms);
}

void window_words::write() {
    const auto& all = of_.views();
    for (int i = 0; i < counted_at_once; ++i, ++next_) {
        const view* v = all[next_ % all.size()];
        const auto lines = v->csv().count('\n');
        lines_[v->objectName()] = static_cast<int>(std::max<qsizetype>(1, lines) - 1);
    }
    QJsonObject health, views, controls;
    for (const QString& field : of_.health().fields()) health[field] = of_.health().text_of(field);
    for (const view* v : all)
        views[v->objectName()] = QJsonObject{
            {"title", v->windowTitle()}, {"shown", v->shown()}, {"lines", lines_[v->objectName()]}};
    const auto* panel = qobject_cast<controls_view*>(of_.view_of("controls"));
    for (const auto& row : control_rows())
        controls[QStringLiteral("%1 %2").arg(row.station, row.key)] =
            panel->read_back(row.station, row.key);
    const QWidget* focus = QApplication::focusWidget();
    const QJsonObject said{{"health", health},
                           {"views", views},
                           {"controls", controls},
                           {"control_status", panel->status()},
                           {"status_bar", of_.statusBar()->currentMessage()},
                           {"terminals", of_.terminals().text()},
                           {"focus", focus == nullptr ? QString() : focus->objectName()}};
    QSaveFile file(path_);
    if (file.open(QIODevice::WriteOnly)) file.write(QJsonDocument(said).toJson()), file.commit();
}

}  // namespace wip::gui
