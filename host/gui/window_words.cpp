// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/window_words.h"

#include <QApplication>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>
#include <QStatusBar>
#include <cstdio>

#include "gui/views/controls_view.h"
#include "types/failure.h"

namespace wip::gui {
namespace {

constexpr int every_ms = 500;
constexpr int counted_at_once = 4;  // views whose lines one call counts

}  // namespace

window_words::window_words(const main_window& window, const QString& path)
    : window_(window), path_(path) {
    const QString trouble = write();
    if (!trouble.isEmpty())
        throw bad_input(QStringLiteral("--words is '%1': %2; valid: a file that can be written")
                            .arg(path_, trouble)
                            .toStdString());
    QObject::connect(&timer_, &QTimer::timeout, &timer_, [this] {
        const QString now = write();
        if (!now.isEmpty() && !complained_)
            std::fprintf(stderr, "openwip monitor: --words: %s: %s\n", qPrintable(path_),
                         qPrintable(now));
        complained_ = complained_ || !now.isEmpty();
    });
    timer_.start(every_ms);
}

QString window_words::write() {
    const auto& all = window_.views();
    for (int i = 0; i < counted_at_once; ++i, ++next_) {
        const view* v = all[next_ % all.size()];
        const auto lines = v->csv().count('\n');
        lines_[v->objectName()] = static_cast<int>(std::max<qsizetype>(1, lines) - 1);
    }
    QJsonObject health, views, controls;
    for (const QString& field : window_.health().fields())
        health[field] = window_.health().text_of(field);
    for (const view* v : all)
        views[v->objectName()] = QJsonObject{
            {"title", v->windowTitle()}, {"shown", v->shown()}, {"lines", lines_[v->objectName()]}};
    const auto* panel = qobject_cast<controls_view*>(window_.view_of("controls"));
    for (const auto& row : control_rows())
        controls[QString::fromStdString(row.station + " " + row.key)] =
            panel->read_back(row.station, row.key);
    const QWidget* focus = QApplication::focusWidget();
    const QJsonObject state{{"health", health},
                            {"views", views},
                            {"controls", controls},
                            {"control_status", panel->status()},
                            {"status_bar", window_.statusBar()->currentMessage()},
                            {"terminals", window_.terminals().text()},
                            {"focus", focus == nullptr ? QString() : focus->objectName()}};
    QSaveFile file(path_);
    const QByteArray text = QJsonDocument(state).toJson();
    const bool good = file.open(QIODevice::WriteOnly) && file.write(text) == text.size();
    return good && file.commit() ? QString() : file.errorString();
}

}  // namespace wip::gui
