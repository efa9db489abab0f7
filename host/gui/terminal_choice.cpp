// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/terminal_choice.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPixmap>

#include "gui/plot/colour_map.h"

namespace wip::gui {

terminal_choice::terminal_choice(session_model& model, QWidget* parent)
    : QWidget(parent), model_(model), list_(new QComboBox(this)) {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(6, 0, 6, 0);
    auto* label = new QLabel("&Terminal", this);
    label->setBuddy(list_);
    row->addWidget(label);
    row->addWidget(list_);
    list_->setObjectName("terminal_choice");
    list_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    list_->setToolTip(
        "Whose measurements the pictures show. All: counts are summed, and in each bin stands the "
        "terminal that has it. T: the next, Shift+T: the one before");
    connect(list_, &QComboBox::activated, this, [this](int index) { choose(index - 1); });
}

void terminal_choice::refresh() {
    const std::uint32_t users = model_.users_seen();
    if (users == users_ && model_.shown_user() == shown_) return;
    if (users != users_) {
        users_ = users;
        list_->clear();
        list_->addItem("all");
        for (std::uint32_t u = 0; u < users; ++u) {
            QPixmap colour(12, 12);
            colour.fill(QColor(terminal_colour(static_cast<int>(u))));
            list_->addItem(QIcon(colour), QString::number(u + 1));
        }
    }
    shown_ = model_.shown_user();
    list_->setCurrentIndex(shown_ + 1);
    Q_EMIT changed();
}

void terminal_choice::choose(int user) {
    if (user < all_users || user >= static_cast<int>(model_.users_seen())) return;
    model_.show_user(user);
    refresh();
}

void terminal_choice::step(int by) {
    const int choices = static_cast<int>(model_.users_seen()) + 1;
    choose((model_.shown_user() + 1 + by + choices) % choices - 1);
}

QString terminal_choice::text() const {
    if (users_ < 2) return {};
    return shown_ == all_users ? QStringLiteral("all %1 terminals").arg(users_)
                               : terminal_name(shown_);
}

}  // namespace wip::gui
