// SPDX-License-Identifier: GPL-3.0-or-later
// The list of events, which can be searched: drops with their reason, lost locks, changed settings;
// above it the drops of the run so far by place and reason.
#include <QAbstractTableModel>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QScrollBar>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QVBoxLayout>
#include <deque>

#include "gui/views/views.h"

namespace wip::gui {
namespace {

constexpr const char* headers[] = {"slot", "s", "severity", "source", "kind", "reason", "count"};
constexpr int reason_column = 5, count_column = 6, nof_columns = 7;
constexpr const char* severities[] = {"info", "WARNING", "ERROR"};

QString cell(const event_line& e, int column) {
    switch (column) {
        case 0:
            return QString::number(e.slot);
        case 1:
            return QString::number(seconds_of(static_cast<double>(e.slot)), 'f', 2);
        case 2:
            return severities[std::clamp(e.severity, 0, 2)];
        case 3:
            return QString::fromStdString(e.source);
        case 4:
            return QString::fromStdString(e.kind);
        case reason_column:
            return QString::fromStdString(e.reason);
        default:
            return QString::number(e.count);
    }
}

QString drops_of(const char* where, const openwip::control::Direction& d) {
    QString text;
    for (const auto& drop : d.dropped())
        if (drop.count().packets() > 0)
            text += QStringLiteral("%1 %2: %L3   ")
                        .arg(where, QString::fromStdString(drop.reason()))
                        .arg(drop.count().packets());
    return text;
}

// The events of the model as a Qt table; bounded, as the model is.
class event_table : public QAbstractTableModel {
public:
    explicit event_table(const session_model& model) : model_(model) {}
    void update() {
        const auto& events = model_.events();
        if (runs_ != model_.runs()) {
            beginResetModel();
            runs_ = model_.runs();
            lines_.clear();
            seen_ = 0;
            endResetModel();
        }
        if (events.empty() || events.back().serial == seen_) return;
        const auto fresh =
            std::ranges::find_if(events, [&](const auto& e) { return e.serial > seen_; });
        const auto n = static_cast<int>(events.end() - fresh);
        beginInsertRows({}, rowCount(), rowCount() + n - 1);
        lines_.insert(lines_.end(), fresh, events.end());
        seen_ = events.back().serial;
        endInsertRows();
        const int surplus = rowCount() - static_cast<int>(events.size());
        if (surplus > 0) {
            beginRemoveRows({}, 0, surplus - 1);
            lines_.erase(lines_.begin(), lines_.begin() + surplus);
            endRemoveRows();
        }
    }
    std::uint64_t newest() const { return seen_; }  // serial
    int rowCount(const QModelIndex& = {}) const override { return static_cast<int>(lines_.size()); }
    int columnCount(const QModelIndex& = {}) const override { return 7; }
    QVariant data(const QModelIndex& index, int role) const override {
        const event_line& e = lines_[static_cast<std::size_t>(index.row())];
        if (role == Qt::ForegroundRole && e.severity > 0)
            return QColor(e.severity == 1 ? 0x8a5000 : 0xb03000);
        if (role == Qt::ToolTipRole) return QString::fromStdString(e.reason);
        if (role == Qt::TextAlignmentRole && (index.column() < 2 || index.column() == count_column))
            return int(Qt::AlignRight | Qt::AlignVCenter);
        return role == Qt::DisplayRole ? QVariant(cell(e, index.column())) : QVariant();
    }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override {
        if (role != Qt::DisplayRole || orientation != Qt::Horizontal) return {};
        return headers[section];
    }

private:
    const session_model& model_;
    std::deque<event_line> lines_;
    std::uint64_t seen_ = 0, runs_ = 0;
};

class event_view : public view {
public:
    event_view(const session_model& model, slot_axis& axis)
        : view("events", "Events",
               "Drops with their reason, lost locks, changed settings. Type to filter; count: how "
               "many of the same kind since the line before. Above: all drops of the run so far.",
               model, axis) {
        auto* box = new QWidget;
        auto* column = new QVBoxLayout(box);
        column->setContentsMargins(4, 2, 4, 2);
        column->setSpacing(2);
        drops_ = new QLabel("no drops so far");
        drops_->setObjectName("drops");
        drops_->setWordWrap(true);
        drops_->setToolTip("Packets dropped so far by place and reason (status of both stations)");
        search_ = new QLineEdit;
        search_->setPlaceholderText("filter, such as drop or queue_full");
        search_->setClearButtonEnabled(true);
        table_ = new event_table(model);
        table_->setParent(this);
        filtered_ = new QSortFilterProxyModel(this);
        filtered_->setSourceModel(table_);
        filtered_->setFilterKeyColumn(-1);
        filtered_->setFilterCaseSensitivity(Qt::CaseInsensitive);
        connect(search_, &QLineEdit::textChanged, filtered_,
                &QSortFilterProxyModel::setFilterFixedString);
        list_ = new QTableView;
        list_->setModel(filtered_);
        list_->setToolTip(help());
        list_->setSelectionBehavior(QAbstractItemView::SelectRows);
        list_->setEditTriggers(QAbstractItemView::NoEditTriggers);
        list_->verticalHeader()->setVisible(false);
        list_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 4);
        list_->setShowGrid(false);
        list_->setAlternatingRowColors(true);
        // The reason, which may be long, at the end: nothing is cut, and what does not fit is
        // reached with the scroll bar below.
        list_->horizontalHeader()->moveSection(count_column, reason_column);
        list_->horizontalHeader()->setResizeContentsPrecision(100);
        list_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
        list_->setTextElideMode(Qt::ElideNone);
        column->addWidget(drops_);
        column->addWidget(search_);
        column->addWidget(list_, 1);
        setWidget(box);
    }
    int frames_per_second() const override { return 4; }
    QWidget* entrance() override { return search_; }

    void refresh(bool all) override {
        const auto* bar = list_->verticalScrollBar();
        const bool at_end = bar->value() >= bar->maximum();
        table_->update();
        if (sized_for_ != table_->newest() || all) {
            sized_for_ = table_->newest();
            list_->resizeColumnsToContents();
        }
        if (at_end) list_->scrollToBottom();
        QString drops = drops_of("base downlink", model().base().downlink()) +
                        drops_of("base uplink", model().base().uplink()) +
                        drops_of("terminal downlink", model().terminal().downlink()) +
                        drops_of("terminal uplink", model().terminal().uplink());
        if (drops.isEmpty()) drops = "no drops so far";
        if (drops_->text() != drops) drops_->setText(drops);
    }

    QString csv() const override {
        QString text;
        QTextStream out(&text);
        out << "slot,seconds,severity,source,kind,reason,count\n";
        const auto quoted = [](const std::string& s) {
            return "\"" + QString::fromStdString(s).replace("\"", "\"\"") + "\"";
        };
        // Filters as the list does. The list itself may be behind another view and out of date.
        const auto found = [words = search_->text()](const event_line& e) {
            for (int column = 0; column < nof_columns; ++column)
                if (cell(e, column).contains(words, Qt::CaseInsensitive)) return true;
            return false;
        };
        for (const auto& e : model().events()) {
            if (!found(e)) continue;
            begin_line(out, e.slot)
                << severities[std::clamp(e.severity, 0, 2)] << ',' << quoted(e.source) << ','
                << quoted(e.kind) << ',' << quoted(e.reason) << ',' << e.count << '\n';
        }
        return text;
    }

private:
    event_table* table_;
    QSortFilterProxyModel* filtered_;
    QTableView* list_;
    QLineEdit* search_;
    QLabel* drops_;
    std::uint64_t sized_for_ = 0;  // the newest event that the columns have room for
};

}  // namespace

view* make_event_view(const session_model& model, slot_axis& axis) {
    return new event_view(model, axis);
}

}  // namespace wip::gui
