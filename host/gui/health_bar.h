// SPDX-License-Identifier: GPL-3.0-or-later
// The line on top of the window: what is looked at, the verdict so far, and whether anything is
// wrong with the radio, with real time, or with the telemetry itself. Words as well as colours.
#pragma once

#include <QFrame>
#include <QLabel>
#include <map>
#include <vector>

#include "gui/cell/session.h"

namespace wip::gui {

class health_bar : public QFrame {
    Q_OBJECT
public:
    explicit health_bar(const session& shown, QWidget* parent = nullptr);
    void refresh(double frames_per_second);
    QString text_of(const QString& field) const;
    std::vector<QString> fields() const;

private:
    enum class mood { neutral, good, bad };
    void add(const QString& field, const QString& help);
    void set(const QString& field, const QString& text, mood m = mood::neutral);
    // Verdict and all its reasons, however long, in the tool tip.
    void show_verdict();

    const session& session_;
    std::map<QString, QLabel*> labels_;
    std::map<QString, mood> moods_;
    QString verdict_help_;
};

}  // namespace wip::gui
