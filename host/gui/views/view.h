// SPDX-License-Identifier: GPL-3.0-or-later
// A dockable picture of the model. It is refreshed at most as often as it requests, and only while
// it can be seen. Most are a plot over the time axis (time_view).
#pragma once

#include <QDockWidget>
#include <QTextStream>

#include "gui/model/session_model.h"
#include "gui/plot/time_plot.h"

namespace wip::gui {

class view : public QDockWidget {
    Q_OBJECT
public:
    // `id` names files and layouts and never changes; `help` says how to read the picture.
    view(const QString& id, const QString& title, const QString& help, const session_model& model,
         slot_axis& axis);

    // New data or another place on the axis: draw. `all`: something other than the data changed.
    virtual void refresh(bool all) = 0;
    virtual int frames_per_second() const { return 10; }
    // Paints only what has changed since its last refresh: until then no change may be forgotten.
    virtual bool paints_changes() const { return false; }
    // Whether it has to be refreshed even if no message has come.
    virtual bool ticks() const { return false; }
    // The widget that gets the keyboard when this view gets it.
    virtual QWidget* entrance() { return widget(); }
    // The visible data as a table with a header line; empty: there is nothing to export. A
    // throughput or a delay has the verdict in its line, and without a verdict there is no line.
    virtual QString csv() const { return {}; }
    // The text above the picture, or in place of it; empty: none.
    virtual QString words() const { return {}; }

    const QString& help() const { return help_; }
    const QString& title() const { return title_; }
    // Shows one of several terminals, or all together; the title then says which.
    virtual bool is_of_terminals() const { return true; }
    void name_terminals(const QString& which);
    bool shown() const { return shown_; }

Q_SIGNALS:
    void became_visible();

protected:
    const session_model& model() const { return model_; }
    slot_axis& axis() const { return axis_; }
    template <class T>
    auto visible(const slot_ring<T>& points) const {
        return points.between(axis_.left(), axis_.right());
    }
    // The sample at the cursor, or the newest one; nullptr: none.
    const receiver_point* receiver_sample() const {
        return model_.receiver_points().last_before(axis_.cursor().value_or(axis_.right()));
    }
    // Writes a table: the beginning of a line; the whole table, with a line for each visible point
    // that is selected.
    static QTextStream& begin_line(QTextStream& out, std::int64_t slot) {
        return out << slot << ',' << seconds_of(static_cast<double>(slot)) << ',';
    }
    template <class T, class Cells, class Meant = bool (*)(const T&)>
    QString table_of(
        const slot_ring<T>& points, const QString& columns, Cells cells,
        Meant meant = [](const T&) { return true; }) const {
        QString text;
        QTextStream out(&text);
        out << "slot,seconds," << columns << '\n';
        for (const T& p : visible(points)) {
            if (!meant(p)) continue;
            cells(begin_line(out, p.slot), p);
            out << '\n';
        }
        return text;
    }
    // The rule of the project: no throughput and no delay without the verdict beside it.
    QString verdict_text() const;
    // The same as a cell of a table: "valid", "invalid", "replay"; empty: none yet.
    QString verdict_word() const;
    bool verdict_is_bad() const { return verdict_word() == "invalid"; }

private:
    const session_model& model_;
    slot_axis& axis_;
    QString title_, help_;
    bool shown_ = false;
};

class time_view : public view {
public:
    time_plot& plot() const { return *plot_; }

protected:
    // `right_digits`: of time_plot.
    time_view(const QString& id, const QString& title, const QString& help, const QString& unit,
              const session_model& model, slot_axis& axis, int right_digits = 1);
    template <class T>
    double x_of(const T& point) const {
        return plot_->x_of(static_cast<double>(point.slot));
    }

    time_plot* const plot_;
};

}  // namespace wip::gui
