// SPDX-License-Identifier: GPL-3.0-or-later
// What happened: drops with their reason, lost locks, changed settings, in a list that can be
// searched; above it the drops of the run so far by place and reason.
#pragma once

#include <QAbstractTableModel>
#include <QLabel>
#include <QLineEdit>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <deque>

#include "gui/views/view.h"

namespace wip::gui {

// The events of the model as a Qt table; bounded, as the model is.
class event_table : public QAbstractTableModel {
    Q_OBJECT
public:
    explicit event_table(const session_model& model) : model_(model) {}
    void update();
    std::uint64_t newest() const { return seen_; }  // serial
    int rowCount(const QModelIndex& = {}) const override { return static_cast<int>(lines_.size()); }
    int columnCount(const QModelIndex& = {}) const override { return 7; }
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    const session_model& model_;
    std::deque<event_line> lines_;
    std::uint64_t seen_ = 0, runs_ = 0;
};

class event_view : public view {
    Q_OBJECT
public:
    event_view(const session_model& model, slot_axis& axis);
    void refresh(bool all) override;
    int frames_per_second() const override { return 4; }
    QString csv() const override;
    QWidget* entrance() override { return search_; }
    event_table& table() { return *table_; }
    QString drops() const { return drops_->text(); }
    QTableView& list() { return *list_; }

private:
    event_table* table_;
    QSortFilterProxyModel* filtered_;
    QTableView* list_;
    QLineEdit* search_;
    QLabel* drops_;
    std::uint64_t sized_for_ = 0;  // the newest event that the columns have room for
};

}  // namespace wip::gui
