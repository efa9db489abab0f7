// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QEventLoop>
#include <QSettings>
#include <QStatusBar>
#include <QToolBar>
#include <cmath>

#include "gui/plot/plot_help.h"
#include "gui/views/channel_view.h"
#include "gui/views/constellation_view.h"
#include "gui/views/controls_view.h"
#include "gui/views/heat_view.h"
#include "gui/views/spectrum_view.h"
#include "gui/views/views.h"
#include "gui/views/wcdma_view.h"
#include "gui/window_files.h"
#include "types/failure.h"

namespace wip::gui {
namespace {

constexpr int layout_version = 6;  // grows when the set of docks changes

}  // namespace

main_window::main_window(session& shown) : session_(shown), axis_(this) {
    setObjectName("monitor");
    setWindowTitle("OpenWIP monitor");
    setDockOptions(QMainWindow::AllowNestedDocks | QMainWindow::AllowTabbedDocks);
    auto* bar = new QToolBar("Health", this);
    bar->setObjectName("health");
    bar->setMovable(false);
    health_ = new health_bar(session_, bar);
    terminals_ = new terminal_choice(session_.model(), this);
    terminals_action_ = bar->addWidget(terminals_);
    bar->addWidget(health_);
    addToolBar(Qt::TopToolBarArea, bar);
    connect(terminals_, &terminal_choice::changed, this, &main_window::name_terminals);
    replay_bar_ = new replay_bar(this);
    addToolBar(Qt::BottomToolBarArea, replay_bar_);

    add_views();
    name_terminals();
    arrange();
    add_actions();
    statusBar()->showMessage(
        "Space: pause. Wheel: zoom. Drag: move. F1: all keys, and how to read.");

    connect(&axis_, &slot_axis::scale_changed, this, &main_window::redraw_everything);
    connect(&axis_, &slot_axis::moved, this, &main_window::redraw_everything);
    connect(&axis_, &slot_axis::cursor_changed, this, &main_window::show_cursor);
    connect(replay_bar_, &replay_bar::jumped, this, [this] {
        axis_.set_following(true);
        redraw_everything();
    });
    connect(&clock_, &QTimer::timeout, this, &main_window::frame);
    clock_.setTimerType(Qt::PreciseTimer);
    time_.start();
    clock_.start(1000 / most_frames_per_second);
}

main_window::~main_window() { session_.set_tap({}); }

void main_window::add_views() {
    const session_model& model = session_.model();
    for (const auto& kind : heat_kinds()) views_.push_back(new heat_view(kind, model, axis_));
    for (auto* make :
         {make_goodput_view, make_delay_view, make_queue_view, make_bearer_view, make_tcp_view})
        views_.push_back(make(model, axis_));
    views_.push_back(new constellation_view(model, axis_));
    views_.push_back(new channel_view(model, axis_));
    views_.push_back(new spectrum_view(model, axis_));
    views_.push_back(new wcdma_view(model, axis_));
    for (auto* make :
         {make_modulation_histogram, make_retransmission_histogram, make_distribution_view,
          make_fader_view, make_injection_view, make_handover_view, make_event_view})
        views_.push_back(make(model, axis_));
    views_.push_back(new controls_view(session_, axis_));
    for (view* v : views_) {
        due_.push_back({v});
        connect(v, &view::became_visible, this, [this, v] {
            for (auto& d : due_)
                if (d.drawn_view == v) d.all = true;
        });
    }
}

void main_window::arrange() {
    // Three columns: the bins, what the network makes of them, and pictures of one moment. Each
    // column is a list of rows, each row a list of tabs.
    const std::vector<std::vector<std::vector<const char*>>> columns{
        {{"measured_snr"},
         {"predicted_snr"},
         {"prediction_error"},
         {"modulation", "allocation"},
         {"arq_outcome"}},
        {{"goodput"},
         {"packet_delay"},
         {"queue", "bearer", "handover", "delay_injection"},
         {"tcp"}},
        {{"constellation"},
         {"channel", "spectrum", "delay_distribution", "fader", "wcdma"},
         {"modulation_histogram", "arq_histogram"},
         {"events", "controls"}}};
    for (view* v : views_) {
        v->setFloating(false);
        removeDockWidget(v);
    }
    QList<QDockWidget*> tops;
    for (const auto& column : columns) {
        view* first = view_of(column[0][0]);
        if (tops.isEmpty())
            addDockWidget(Qt::LeftDockWidgetArea, first);
        else
            splitDockWidget(tops.back(), first, Qt::Horizontal);
        tops.append(first);
    }
    for (const auto& column : columns) {
        view* above = view_of(column[0][0]);
        for (const auto& row : column) {
            view* first = view_of(row[0]);
            if (first != above) splitDockWidget(above, first, Qt::Vertical);
            above = first;
        }
    }
    // Tabs are added after all rows, since a dock that is split off a tab becomes a tab itself.
    for (const auto& column : columns)
        for (const auto& row : column)
            for (std::size_t i = 1; i < row.size(); ++i)
                tabifyDockWidget(view_of(row[0]), view_of(row[i]));
    for (view* v : views_) v->show();
    for (const auto& column : columns)
        for (const auto& row : column) view_of(row[0])->raise();
    resizeDocks(tops, {40, 32, 28}, Qt::Horizontal);
    resizeDocks({view_of("constellation"), view_of("channel"), view_of("modulation_histogram"),
                 view_of("events")},
                {24, 36, 20, 20}, Qt::Vertical);
    resizeDocks({view_of("goodput"), view_of("packet_delay"), view_of("queue"), view_of("tcp")},
                {22, 25, 20, 33}, Qt::Vertical);
}

void main_window::name_terminals() {
    terminals_action_->setVisible(session_.model().users_seen() > 1);
    for (view* v : views_) v->name_terminals(terminals_->text());
    redraw_everything();
}

view* main_window::view_of(const QString& id) const {
    for (view* v : views_)
        if (v->objectName() == id) return v;
    return nullptr;
}

void main_window::redraw_everything() {
    for (auto& d : due_) d.all = true;
}

void main_window::show_cursor() {
    if (!axis_.cursor()) {
        statusBar()->clearMessage();
        return;
    }
    const double slot = *axis_.cursor();
    QString text = QStringLiteral("slot %1, %2 s")
                       .arg(static_cast<qint64>(slot))
                       .arg(seconds_of(slot), 0, 'f', 3);
    // The bin under the mouse, if it is over a heat map; its value in every one of them.
    for (view* v : views_) {
        auto* heat = qobject_cast<heat_view*>(v);
        if (heat == nullptr || !heat->shown() || !heat->plot().underMouse()) continue;
        const QPoint at = heat->plot().mapFromGlobal(QCursor::pos());
        const int bin = static_cast<int>(std::lround(heat->plot().yAxis->pixelToCoord(at.y())));
        if (bin < 0 || bin >= nof_bins) break;
        text += QStringLiteral(", bin %1").arg(bin);
        for (view* other : views_)
            if (auto* h = qobject_cast<heat_view*>(other))
                text += "   " + h->title() + ": " + h->readout(slot, bin_index(bin));
        break;
    }
    statusBar()->showMessage(text);
    // Pictures of one moment show the moment under the cursor.
    for (auto& d : due_)
        if (d.drawn_view->objectName() == "channel" ||
            d.drawn_view->objectName() == "constellation" ||
            d.drawn_view->objectName() == "spectrum")
            d.seen_right = -1;
}

void main_window::frame() {
    const qint64 now = time_.elapsed();
    if (replayer_ != nullptr) {
        replayer_->advance((now - last_frame_ms_) * 1'000'000);
        if (now >= next_health_ms_) replay_bar_->refresh();
    }
    last_frame_ms_ = now;
    session_.poll();
    session_model& model = session_.model();
    if (model.runs() != runs_seen_) {
        runs_seen_ = model.runs();
        redraw_everything();
    }
    terminals_->refresh();
    axis_.follow(static_cast<double>(model.newest_slot()));
    bool painted = true;
    for (auto& d : due_) {
        if (!d.drawn_view->shown()) continue;
        const bool news =
            d.drawn_view->ticks() || d.seen != model.revision() || d.seen_right != axis_.right();
        if (!d.all && (!news || now < d.next_ms)) {
            painted = painted && (!news || !d.drawn_view->paints_changes());
            continue;
        }
        d.drawn_view->refresh(d.all);
        d.all = false;
        d.seen = model.revision();
        d.seen_right = axis_.right();
        // A little early rather than a frame late: the clock has a grain.
        d.next_ms = now + 1000 / d.drawn_view->frames_per_second() - 8;
    }
    if (painted) model.forget_changes();

    ++frames_counted_;
    if (now - counted_since_ms_ >= 1000) {
        frames_per_second_ =
            1000.0 * frames_counted_ / static_cast<double>(now - counted_since_ms_);
        frames_counted_ = 0;
        counted_since_ms_ = now;
    }
    if (now >= next_health_ms_) {
        next_health_ms_ = now + 250;
        health_->refresh(frames_per_second_);
    }
    if (writer_ != nullptr && writer_->failed()) record({});
}

void main_window::record(const QString& path) {
    session_.set_tap({});
    if (writer_ != nullptr) {
        writer_->finish();
        record_trouble_ = writer_->trouble();
        if (!record_trouble_.isEmpty()) say_trouble("Recording stopped: " + record_trouble_);
        writer_.reset();
    }
    Q_EMIT recording_changed(false);
    if (path.isEmpty()) return;
    if (session_.replaying())
        throw bad_input(
            (path + ": a replay cannot be recorded, as it is a recording already").toStdString());
    writer_ = std::make_unique<record_writer>(path, session_.cell());
    session_.set_tap([this](const raw_message& m) { writer_->write(m); });
    Q_EMIT recording_changed(true);
}

void main_window::replay(const QString& path) {
    if (path.isEmpty()) {
        if (replayer_ == nullptr) return;
        replay_bar_->show_for(nullptr);
        replayer_.reset();
        session_.set_replay(false);
    } else {
        auto fresh = std::make_unique<replayer>(path, session_);
        record({});
        replayer_ = std::move(fresh);
        replay_bar_->show_for(replayer_.get());
    }
    axis_.set_following(true);
    redraw_everything();
}

QStringList main_window::export_to(const QString& folder) {
    QStringList names = make_folder(folder);
    save_picture(this, folder + "/window.png");
    names << folder + "/window.png";
    std::vector<view*> in_front;
    for (view* v : views_)
        if (v->shown()) in_front.push_back(v);
    for (view* v : views_) {
        if (!v->toggleViewAction()->isChecked()) continue;  // closed views are left out
        if (!v->shown()) {
            // A view behind another tab comes to the front for long enough to be laid out, filled
            // and drawn.
            v->raise();
            QEventLoop loop;
            QTimer::singleShot(200, &loop, &QEventLoop::quit);
            loop.exec();
        }
        names << save_view(*v, folder);
    }
    for (view* v : in_front) v->raise();
    return names;
}

void main_window::save_layout(const QString& name) {
    QSettings settings;
    settings.setValue("layout/" + name, saveState(layout_version));
}

bool main_window::load_layout(const QString& name) {
    const bool done =
        restoreState(QSettings().value("layout/" + name).toByteArray(), layout_version);
    if (replayer_ == nullptr) replay_bar_->hide();
    redraw_everything();
    return done;
}

QStringList main_window::layouts() const {
    QSettings settings;
    settings.beginGroup("layout");
    QStringList names = settings.childKeys();
    names.removeAll("last");
    return names;
}

void main_window::set_font_points(int points) {
    QFont font = QApplication::font();
    font.setPointSize(std::clamp(points, 6, 24));
    QApplication::setFont(font);
    for (auto* plot : findChildren<QCustomPlot*>()) use_font(plot, font);
    redraw_everything();
}

void main_window::closeEvent(QCloseEvent* event) {
    save_layout("last");
    QSettings().setValue("geometry", saveGeometry());
    record({});
    QMainWindow::closeEvent(event);
}

}  // namespace wip::gui
