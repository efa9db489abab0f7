// SPDX-License-Identifier: GPL-3.0-or-later
// Menus and keys of the window.
#include <QAction>
#include <QApplication>
#include <QDateTime>
#include <QDialog>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QInputDialog>
#include <QMenu>
#include <QMenuBar>
#include <QStatusBar>
#include <QTextBrowser>
#include <QVBoxLayout>
#include <map>

#include "gui/main_window.h"
#include "gui/plot/colour_map.h"
#include "gui/window_files.h"
#include "types/failure.h"

namespace wip::gui {
namespace {

QString name_with_time(const QString& stem, const QString& ending) {
    return stem + "-" + QDateTime::currentDateTime().toString("yyyyMMdd-hhmmss") + ending;
}

template <typename F>
QAction* add(QMenu* menu, const QString& text, const QKeySequence& key, const QString& help,
             F then) {
    auto* action = menu->addAction(text);
    action->setShortcut(key);
    action->setStatusTip(help);
    action->setToolTip(help);
    QObject::connect(action, &QAction::triggered, menu, then);
    return action;
}

}  // namespace

void main_window::say_trouble(const QString& text) { statusBar()->showMessage(text, 20'000); }

void main_window::add_actions() {
    add_file_actions(menuBar()->addMenu("&File"));
    add_view_actions(menuBar()->addMenu("&View"));
    add_go_actions(menuBar()->addMenu("&Go"));
    add_layout_actions(menuBar()->addMenu("&Layout"));
    add_cell_actions(menuBar()->addMenu("&Cell"));
    auto* help = menuBar()->addMenu("&Help");
    add(help, "&Keys and how to read", Qt::Key_F1, "All keys, and one line for each view",
        [this] { show_help(); });
}

void main_window::add_file_actions(QMenu* menu) {
    // Every one of these may find a full disk or a folder that is not ours.
    const auto attempt = [this](auto step) {
        return [this, step] {
            try {
                step();
            } catch (const std::exception& e) {
                say_trouble(e.what());
            }
        };
    };
    auto* record_action = menu->addAction("&Record...");
    record_action->setCheckable(true);
    record_action->setShortcut(Qt::Key_R);
    record_action->setStatusTip(
        "Write every message that comes in to a run record, to look at it again later");
    record_action->setObjectName("record");
    connect(this, &main_window::recording_changed, record_action, &QAction::setChecked);
    connect(record_action, &QAction::triggered, this, [this, record_action, attempt] {
        attempt([this] {
            if (writer_ != nullptr) {
                const QString path = writer_->path();
                statusBar()->showMessage("Recorded: " + path, 10'000);
                record({});
                return;
            }
            if (session_.replaying())
                throw bad_input("A replay cannot be recorded, as it is a recording already");
            const QString path =
                QFileDialog::getSaveFileName(this, "Run record", name_with_time("run", ".h5"));
            if (!path.isEmpty()) record(path);
        })();
        record_action->setChecked(writer_ != nullptr);
    });
    add(menu, "&Open a record...", QKeySequence::Open, "Replay a run record", attempt([this] {
            const QString path = QFileDialog::getOpenFileName(this, "Run record", {},
                                                              "Run records (*.h5);;All files (*)");
            if (!path.isEmpty()) replay(path);
        }));
    add(menu, "&Back to the running cell", {}, "End the replay", attempt([this] { replay({}); }));
    menu->addSeparator();
    add(menu, "&Screenshot of the window", QKeySequence("Ctrl+S"),
        "PNG of the window, in the current folder", attempt([this] {
            const QString path = name_with_time("monitor", ".png");
            save_picture(this, path);
            statusBar()->showMessage("Saved " + path, 10'000);
        }));
    add(menu, "&Export all views...", QKeySequence("Ctrl+E"),
        "What can be seen now: a PNG of every view, a CSV of those with data", attempt([this] {
            const QString folder = QFileDialog::getExistingDirectory(this, "Export into folder");
            if (folder.isEmpty()) return;
            const auto names = export_to(folder + "/" + name_with_time("monitor", ""));
            statusBar()->showMessage(QStringLiteral("%1 files in %2").arg(names.size()).arg(folder),
                                     10'000);
        }));
    add(menu, "Export all views &here", QKeySequence("Ctrl+Shift+E"),
        "The same into a new folder of the current one, without a question", attempt([this] {
            const QString folder = name_with_time("monitor", "");
            const auto names = export_to(folder);
            statusBar()->showMessage(QStringLiteral("%1 files in %2").arg(names.size()).arg(folder),
                                     10'000);
        }));
    auto* one = menu->addMenu("Export one &view");
    for (view* v : views_) {
        auto* submenu = one->addMenu(v->title());
        add(submenu, "CSV...", {}, "The visible window as a table", attempt([this, v] {
                const QString path =
                    QFileDialog::getSaveFileName(this, "CSV", v->objectName() + ".csv");
                if (!path.isEmpty()) save_table(*v, path);
            }));
        add(submenu, "PNG...", {}, "The picture", attempt([this, v] {
                const QString path =
                    QFileDialog::getSaveFileName(this, "PNG", v->objectName() + ".png");
                if (!path.isEmpty()) save_picture(v->widget(), path);
            }));
    }
    menu->addSeparator();
    add(menu, "&Quit", QKeySequence("Ctrl+Q"), "Close the window; the cell goes on",
        [this] { close(); });
}

void main_window::add_view_actions(QMenu* menu) {
    auto* pause = menu->addAction("&Pause");
    pause->setCheckable(true);
    pause->setShortcut(Qt::Key_Space);
    pause->setStatusTip("Hold the pictures; data goes on being taken in");
    connect(pause, &QAction::toggled, this, [this](bool on) { axis_.set_following(!on); });
    connect(&axis_, &slot_axis::following_changed, pause,
            [pause](bool on) { pause->setChecked(!on); });
    add(menu, "&Newest", Qt::Key_End, "Follow the newest slot again",
        [this] { axis_.set_following(true); });
    add(menu, "&Oldest", Qt::Key_Home, "Go to the oldest slot that is kept", [this] {
        axis_.set_right(static_cast<double>(session_.model().oldest_slot()) + axis_.window());
    });
    add(menu, "Zoom &in", Qt::Key_Plus, "Half the time window",
        [this] { axis_.zoom(0.5, axis_.cursor().value_or(axis_.right())); });
    add(menu, "Zoom ou&t", Qt::Key_Minus, "Twice the time window",
        [this] { axis_.zoom(2, axis_.cursor().value_or(axis_.right())); });
    add(menu, "&Earlier", Qt::Key_Left, "Move by a quarter of the window",
        [this] { axis_.set_right(axis_.right() - axis_.window() / 4); });
    add(menu, "&Later", Qt::Key_Right, "Move by a quarter of the window",
        [this] { axis_.set_right(axis_.right() + axis_.window() / 4); });
    auto* lengths = menu->addMenu("&Window");
    for (const int seconds : {1, 5, 10, 30, 60, 300})
        add(lengths, QStringLiteral("%1 s").arg(seconds), {}, "Length of the time axis",
            [this, seconds] { axis_.set_window(slots_of(seconds)); });
    auto* users = menu->addMenu("&Terminal");
    connect(users, &QMenu::aboutToShow, this, [this, users] {
        users->clear();
        const int n = static_cast<int>(session_.model().users_seen());
        for (int u = n > 1 ? all_users : 0; u < n; ++u) {
            auto* action =
                users->addAction(u == all_users ? QStringLiteral("All") : terminal_name(u));
            action->setCheckable(true);
            action->setChecked(n == 1 || u == session_.model().shown_user());
            connect(action, &QAction::triggered, this, [this, u] { terminals_->choose(u); });
        }
    });
    add(menu, "Ne&xt terminal", Qt::Key_T, "Show the next of several terminals, or all",
        [this] { terminals_->step(1); });
    add(menu, "Pre&vious terminal", QKeySequence("Shift+T"), "Show the terminal before, or all",
        [this] { terminals_->step(-1); });
    menu->addSeparator();
    add(menu, "L&arger text", QKeySequence("Ctrl++"), "For a projector",
        [this] { set_font_points(QApplication::font().pointSize() + 1); });
    add(menu, "S&maller text", QKeySequence("Ctrl+-"), "",
        [this] { set_font_points(QApplication::font().pointSize() - 1); });
    add(menu, "&Full screen", Qt::Key_F11, "",
        [this] { isFullScreen() ? showNormal() : showFullScreen(); });
    menu->addSeparator();
    for (view* v : views_) menu->addAction(v->toggleViewAction());
}

void main_window::go_to(view* v) {
    v->show();
    v->raise();
    v->entrance()->setFocus(Qt::ShortcutFocusReason);
}

void main_window::add_go_actions(QMenu* menu) {
    const std::map<QString, QKeySequence> keys{
        {"controls", QKeySequence("Ctrl+K")},     {"events", QKeySequence("Ctrl+F")},
        {"measured_snr", QKeySequence("Ctrl+1")}, {"modulation", QKeySequence("Ctrl+2")},
        {"allocation", QKeySequence("Ctrl+3")},   {"goodput", QKeySequence("Ctrl+4")},
        {"packet_delay", QKeySequence("Ctrl+5")}, {"queue", QKeySequence("Ctrl+6")},
        {"tcp", QKeySequence("Ctrl+7")},          {"constellation", QKeySequence("Ctrl+8")},
        {"channel", QKeySequence("Ctrl+9")},      {"spectrum", QKeySequence("Ctrl+0")},
    };
    for (view* v : views_) {
        const auto key = keys.find(v->objectName());
        add(menu, v->title(), key == keys.end() ? QKeySequence() : key->second,
            "To the front, and the keyboard to it", [this, v] { go_to(v); });
    }
}

void main_window::add_layout_actions(QMenu* menu) {
    connect(menu, &QMenu::aboutToShow, this, [this, menu] {
        menu->clear();
        add(menu, "&Default", {}, "As at the first start", [this] { arrange(); });
        add(menu, "&Save as...", {}, "Keep this arrangement under a name", [this] {
            const QString name =
                QInputDialog::getText(this, "Save layout", "Name").remove('/').trimmed();
            if (!name.isEmpty()) save_layout(name);
        });
        menu->addSeparator();
        for (const QString& name : layouts())
            add(menu, name, {}, "Arrange as saved", [this, name] { load_layout(name); });
    });
}

void main_window::add_cell_actions(QMenu* menu) {
    connect(menu, &QMenu::aboutToShow, this, [this, menu] {
        menu->clear();
        for (const auto& name : session_.running_cells()) {
            auto* action = menu->addAction(QString::fromStdString(name));
            action->setCheckable(true);
            action->setChecked(name == session_.cell());
            connect(action, &QAction::triggered, this, [this, name] {
                replay({});
                session_.choose_cell(name);
            });
        }
        if (menu->isEmpty()) menu->addAction("No cell is running")->setEnabled(false);
    });
}

void main_window::show_help() {
    QString text =
        "<h3>Keys</h3><table>"
        "<tr><td>Space</td><td>pause and go on</td></tr>"
        "<tr><td>+ - or wheel</td><td>shorter or longer time window</td></tr>"
        "<tr><td>Left, Right, drag</td><td>earlier, later (pauses)</td></tr>"
        "<tr><td>Home, End</td><td>oldest, newest</td></tr>"
        "<tr><td>T, Shift+T</td><td>the next terminal, the one before, all</td></tr>"
        "<tr><td>R</td><td>record into a file</td></tr>"
        "<tr><td>Ctrl+O, P</td><td>open a run record; play or hold it</td></tr>"
        "<tr><td>Ctrl+S, Ctrl+E</td><td>screenshot; export all views as PNG and CSV</td></tr>"
        "<tr><td>Ctrl+Shift+E</td><td>the same into a new folder here</td></tr>"
        "<tr><td>Ctrl+K</td><td>to the controls: type what to find, Tab to it, Return to "
        "send</td></tr>"
        "<tr><td>Ctrl+F, Ctrl+1 to 9, 0</td><td>to the events, to a view (menu Go)</td></tr>"
        "<tr><td>Ctrl++ Ctrl+-</td><td>larger, smaller text</td></tr>"
        "<tr><td>F11</td><td>full screen</td></tr></table><h3>How to read</h3>";
    for (const view* v : views_)
        text += "<p><b>" + v->title() + ".</b> " + v->help().toHtmlEscaped() + "</p>";
    QDialog dialog(this);
    dialog.setWindowTitle("Keys and how to read");
    dialog.resize(640, 600);
    auto* column = new QVBoxLayout(&dialog);
    auto* browser = new QTextBrowser;
    browser->setHtml(text);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
    column->addWidget(browser);
    column->addWidget(buttons);
    dialog.exec();
}

}  // namespace wip::gui
