// SPDX-License-Identifier: GPL-3.0-or-later
// A dockable picture of the model. It is asked to refresh at most as often as it wants to be, and
// only while it can be seen.
#pragma once

#include <QDockWidget>
#include <QString>

#include "gui/model/session_model.h"
#include "gui/plot/slot_axis.h"

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
    // Has something to do even when no message has come.
    virtual bool ticks() const { return false; }
    // What the keyboard goes to when it goes to this view.
    virtual QWidget* entrance() { return widget(); }
    // What can be seen, as a table with a header line; empty: nothing to export. A throughput or a
    // delay has the verdict in its line, and without a verdict there is no line.
    virtual QString csv() const { return {}; }

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

}  // namespace wip::gui
