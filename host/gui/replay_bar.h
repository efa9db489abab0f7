// SPDX-License-Identifier: GPL-3.0-or-later
// The handles of a replay: play or hold, position, speed.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QSlider>
#include <QToolBar>
#include <QToolButton>

#include "gui/cell/replayer.h"

namespace wip::gui {

class replay_bar : public QToolBar {
    Q_OBJECT
public:
    explicit replay_bar(QWidget* parent = nullptr);
    void show_for(replayer* replay);  // nullptr: hides
    void refresh();

Q_SIGNALS:
    void jumped();

private:
    replayer* replayer_ = nullptr;
    QToolButton* play_;
    QSlider* position_;
    QComboBox* speed_;
    QLabel* text_;
    static constexpr double history_s = 60;  // seconds of history that a jump restores
};

}  // namespace wip::gui
