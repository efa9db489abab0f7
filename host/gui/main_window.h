// SPDX-License-Identifier: GPL-3.0-or-later
// The window: health bar, views as docks, and the frame clock that reads telemetry and lets those
// views draw that can be seen and have something new.
#pragma once

#include <QElapsedTimer>
#include <QMainWindow>
#include <QMenu>
#include <QTimer>
#include <memory>
#include <vector>

#include "gui/cell/replayer.h"
#include "gui/cell/session.h"
#include "gui/health_bar.h"
#include "gui/plot/slot_axis.h"
#include "gui/replay_bar.h"
#include "gui/terminal_choice.h"
#include "gui/views/view.h"

namespace wip::gui {

class main_window : public QMainWindow {
    Q_OBJECT
public:
    explicit main_window(session& shown);
    ~main_window() override;

    slot_axis& axis() { return axis_; }
    health_bar& health() const { return *health_; }
    terminal_choice& terminals() const { return *terminals_; }
    const std::vector<view*>& views() const { return views_; }
    view* view_of(const QString& id) const;
    // One step of the frame clock; the timer calls it, tests too.
    void frame();
    double frames_per_second() const { return frames_per_second_; }

    // Each throws bad_input with one line. An empty path ends it. A replay is not
    // recorded.
    void record(const QString& path);
    void replay(const QString& path);
    replayer* replaying() { return replayer_.get(); }
    record_writer* recording() { return writer_.get(); }
    // The reason why the last recording is not as it was asked for.
    const QString& record_trouble() const { return record_trouble_; }
    // Pictures of the window and of every view that is not closed, tables of those that have some;
    // returns the files.
    QStringList export_to(const QString& folder);

    void arrange();  // the docks as they are at the first start
    void save_layout(const QString& name);
    // False: there is no layout of this name, or it is of another version of the window.
    bool load_layout(const QString& name);
    QStringList layouts() const;
    void set_font_points(int points);

    static constexpr int most_frames_per_second = 30;

Q_SIGNALS:
    void recording_changed(bool on);

protected:
    void closeEvent(QCloseEvent* event) override;

private:
    struct due {
        view* drawn_view;
        qint64 next_ms = 0;
        std::uint64_t seen = 0;
        double seen_right = -1;
        bool all = true;
    };
    void add_views();
    // The following functions are in window_actions.cpp: menus, keys and the dialogues behind them.
    void add_actions();
    void add_file_actions(QMenu* menu);
    void add_view_actions(QMenu* menu);
    void add_go_actions(QMenu* menu);
    void add_layout_actions(QMenu* menu);
    void add_cell_actions(QMenu* menu);
    void go_to(view* v);
    void show_help();
    void say_trouble(const QString& text);

    void redraw_everything();
    void name_terminals();
    void show_cursor();

    session& session_;
    slot_axis axis_;
    health_bar* health_;
    terminal_choice* terminals_;
    QAction* terminals_action_;
    replay_bar* replay_bar_;
    std::unique_ptr<record_writer> writer_;
    std::unique_ptr<replayer> replayer_;
    QString record_trouble_;
    std::vector<view*> views_;
    std::vector<due> due_;
    QTimer clock_;
    QElapsedTimer time_;
    qint64 last_frame_ms_ = 0, next_health_ms_ = 0, counted_since_ms_ = 0;
    int frames_counted_ = 0;
    double frames_per_second_ = 0;
    std::uint64_t runs_seen_ = 0;
};

}  // namespace wip::gui
