// SPDX-License-Identifier: GPL-3.0-or-later
// Selects which of several terminals the pictures show, or all together: a list in the window, and
// the same choice for menus and keys.
#pragma once

#include <QComboBox>

#include "gui/model/session_model.h"

namespace wip::gui {

class terminal_choice : public QWidget {
    Q_OBJECT
public:
    explicit terminal_choice(session_model& model, QWidget* parent = nullptr);

    // Called once per frame: takes in terminals that have come, or a model that began again.
    void refresh();
    // all_users, or a terminal from 0; beyond: nothing happens.
    void choose(int user);
    // The next in the list, or the one before; from the last to the first.
    void step(int by);
    // "terminal 2", "all 5 terminals"; empty when there is only one.
    QString text() const;
    QComboBox& list() { return *list_; }

Q_SIGNALS:
    void changed();

private:
    session_model& model_;
    QComboBox* list_;
    std::uint32_t users_ = 1;
    int shown_ = all_users;
};

}  // namespace wip::gui
