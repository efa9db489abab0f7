// SPDX-License-Identifier: GPL-3.0-or-later
// A person's actions in the window: keys, mouse, settings, recording; and what must not happen
// then.
#include <sys/resource.h>

#include <QAction>
#include <QFile>
#include <QLineEdit>
#include <QPushButton>
#include <QStatusBar>
#include <QWheelEvent>
#include <csignal>
#include <stdexcept>

#include "gui/plot/colour_map.h"
#include "gui/views/channel_view.h"
#include "gui/views/controls_view.h"
#include "gui/views/heat_view.h"
#include "gui/window_words.h"
#include "window_world.h"

namespace wip::gui {

namespace {

// The column of pixels in which the line of the cursor is; -1: there is none.
int cursor_column(time_plot& plot) {
    const QImage image = plot.grab().toImage();
    const QRect area = plot.axisRect()->rect();
    for (int x = area.left(); x <= area.right(); ++x)
        if (count(image.copy(x, area.top() + 2, 1, area.height() - 4), QColor(0xd5, 0x5e, 0x00)) ==
            area.height() - 4)
            return x;
    return -1;
}

// Moves the mouse to the middle of the plot. It comes from a point beside it, since a mouse that is
// there already causes no event.
void put_mouse(time_plot& plot) {
    const QPoint middle = plot.axisRect()->rect().center();
    QTest::mouseMove(&plot, middle - QPoint(60, 0));
    QTest::qWait(50);
    QTest::mouseMove(&plot, middle);
    QTest::qWait(50);
}

void turn_wheel(QWidget* over) {
    const QPointF at = over->rect().center();
    QWheelEvent event(at, over->mapToGlobal(at), {}, {0, 120}, Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(over, &event);
}

// Closes a dialogue that opens; opened() tells whether there was one.
class dialogue_watch : public QObject {
public:
    dialogue_watch() {
        connect(&timer_, &QTimer::timeout, this, [this] {
            if (auto* dialogue = QApplication::activeModalWidget()) {
                opened_ = true;
                dialogue->close();
            }
        });
        timer_.start(20);
    }
    bool opened() const { return opened_; }

private:
    QTimer timer_;
    bool opened_ = false;
};

}  // namespace

// shows_run(w, 10): the window shows 10 s of a run (window_world.h), which are 15 000 slots.
class monitor_keys_test : public window_test {
    Q_OBJECT
private Q_SLOTS:
    // --- cursor ---

    void a_mouse_at_rest_is_over_the_newest_slots_while_the_axis_follows() {
        world w;
        QVERIFY(shows_run(w, 10));
        auto& v = w.of<heat_view>("measured_snr");
        put_mouse(v.plot());
        QTRY_VERIFY(w.window->axis().cursor().has_value());
        QTest::qWait(300);
        const double slot = *w.window->axis().cursor();
        QVERIFY(std::abs(slot - 7500) < 30);  // the middle of the 15 000 slots
        const int line = cursor_column(v.plot());
        QVERIFY(line > 0);
        // Two seconds more, and the mouse has not moved.
        for (std::int64_t s = 15'015; s <= 18'000; s += 15) {
            w.cell.say_slot(s);
            if (s % 150 == 0) w.cell.say_receiver(s);
        }
        QVERIFY(w.settle());
        QCOMPARE(*w.window->axis().cursor(), slot + 3000);
        QCOMPARE(cursor_column(v.plot()), line);
        const QString reported = w.window->statusBar()->currentMessage();
        QVERIFY2(reported.startsWith(QStringLiteral("slot %1,").arg(int(slot + 3000))),
                 qPrintable(reported));
        // The channel is that of the slot under the mouse.
        const auto newest = (static_cast<int>(slot) + 3000) / 150 * 150;
        QVERIFY2(
            w.of<channel_view>("channel").csv().contains(QStringLiteral("\n%1,-2500,").arg(newest)),
            qPrintable(w.of<channel_view>("channel").csv().left(120)));
    }

    void while_the_axis_is_held_the_cursor_stays_with_its_slot() {
        world w;
        QVERIFY(shows_run(w, 10));
        QTest::keyClick(w.window.get(), Qt::Key_Space);
        auto& v = w.of<heat_view>("measured_snr");
        put_mouse(v.plot());
        QTRY_VERIFY(w.window->axis().cursor().has_value());
        const double slot = *w.window->axis().cursor();
        const auto is_there = [&] {
            QCOMPARE(*w.window->axis().cursor(), slot);
            const double expected = v.plot().xAxis->coordToPixel(v.plot().x_of(slot));
            QVERIFY2(std::abs(cursor_column(v.plot()) - expected) <= 1.01,
                     qPrintable(
                         QStringLiteral("%1, not %2").arg(cursor_column(v.plot())).arg(expected)));
        };
        QTest::qWait(100);
        is_there();
        const int before = cursor_column(v.plot());
        for (const auto key : {Qt::Key_Left, Qt::Key_Right, Qt::Key_Right, Qt::Key_Left,
                               Qt::Key_Left, Qt::Key_Minus, Qt::Key_Plus}) {
            QTest::keyClick(w.window.get(), key);
            QTest::qWait(100);
            is_there();
        }
        // The keys have moved the axis by a quarter of the window.
        QVERIFY(cursor_column(v.plot()) > before + 50);
        w.cell.say_slot(15'015);
        QVERIFY(w.settle());
        is_there();
    }

    void late_samples_are_painted_even_when_a_frame_was_skipped() {
        world w;
        // The base station reports all slots, and then the terminal reports slots of long ago.
        for (std::int64_t slot = 15; slot <= 15'000; slot += 15) {
            scripted_cell::message m;
            m.set_slot(slot);
            m.mutable_slot_sample()->mutable_bits_per_symbol()->assign(nof_bins, 4);
            w.cell.publish("base", "slot", m);
        }
        QVERIFY(w.settle());
        auto& v = w.of<heat_view>("measured_snr");
        const auto say = [&w](std::int64_t slot) {
            scripted_cell::message m;
            m.set_slot(slot);
            for (int b = 0; b < nof_bins; ++b) m.mutable_slot_sample()->add_snr_db(20);
            const auto before = w.shown->reader().total().received;
            w.cell.publish("terminal", "slot", m);
            for (int i = 0; i < 10 && w.shown->reader().total().received == before; ++i) {
                ::usleep(1000);
                w.window->frame();
            }
        };
        for (std::int64_t slot = 12'000; slot >= 3000; slot -= 300) {
            say(slot + 15);  // this message is drawn
            say(slot);       // this one comes too soon after it, and is only read
            QTest::qWait(60);
        }
        QVERIFY(w.settle());
        const QImage painted = v.plot().grab().toImage();
        QVERIFY(count(painted, QColor(colour_at(colour_map::viridis, 20, 0, 35))) > 500);
        v.refresh(true);
        QCOMPARE(painted, v.plot().grab().toImage());
    }

    // --- terminals ---

    void t_and_the_list_choose_the_terminal() {
        world w;
        for (std::int64_t slot = 15; slot <= 3000; slot += 15) w.cell.say_shared_slot(slot, 3);
        QVERIFY(w.settle());
        auto& choice = w.window->terminals();
        auto& snr = w.of<heat_view>("measured_snr");
        QVERIFY(choice.isVisible());
        QCOMPARE(choice.list().count(), 4);
        const auto shows = [&](const QString& title, int user) {
            QCOMPARE(snr.windowTitle(), "Measured SNR: " + title);
            QCOMPARE(choice.list().currentIndex(), user + 1);
            if (user >= 0)
                QCOMPARE(snr.readout(2985, bin_index(1)),
                         QString::number(scripted_cell::shared_snr(user), 'f', 1) + " dB");
        };
        shows("all 3 terminals", all_users);
        for (int user = 0; user < 3; ++user) {
            QTest::keyClick(w.window.get(), Qt::Key_T);
            shows(QStringLiteral("terminal %1").arg(user + 1), user);
        }
        QTest::keyClick(w.window.get(), Qt::Key_T);
        shows("all 3 terminals", all_users);
        QTest::keyClick(w.window.get(), Qt::Key_T, Qt::ShiftModifier);
        shows("terminal 3", 2);
        QTest::keyClick(&choice.list(), Qt::Key_Up);
        shows("terminal 2", 1);
        // The picture has the terminal's colour only, over the whole width of what is known.
        const QImage image = w.picture("measured_snr");
        QVERIFY(count(image, QColor(colour_at(colour_map::viridis,
                                              double(scripted_cell::shared_snr(1)), 0, 35))) > 500);
        QTest::qWait(100);
        QCOMPARE(w.of<heat_view>("modulation").readout(2985, bin_index(0)), QString("unused"));
        QCOMPARE(w.of<heat_view>("modulation").readout(2985, bin_index(1)), QString("4-QAM"));
    }

    // --- settings ---

    void a_setting_is_found_changed_and_sent_with_the_keyboard_and_not_with_the_wheel() {
        world w;
        w.cell.serve_control("base");
        QVERIFY(shows_run(w, 1));
        auto& v = w.of<controls_view>("controls");
        QTest::keyClick(w.window.get(), Qt::Key_K, Qt::ControlModifier);
        auto* search = dynamic_cast<QLineEdit*>(v.entrance());  // the widget that gets the keyboard
        QTRY_VERIFY(search->hasFocus());
        QTRY_COMPARE_WITH_TIMEOUT(v.read_back("base", "link.bins"), QString("25"), 5000);
        QTest::keyClicks(search, "link.bins");
        auto* bins = v.findChild<QDoubleSpinBox*>("edit base link.bins");
        auto* modulation = v.findChild<QComboBox*>("edit base link.modulation");
        QTRY_VERIFY(bins->isVisible() && bins->isEnabled() && !modulation->isVisible());
        QTest::keyClick(search, Qt::Key_Tab);
        QTRY_VERIFY(bins->hasFocus());
        turn_wheel(bins);
        QCOMPARE(bins->value(), 25.0);
        QTest::keyClick(bins, Qt::Key_A, Qt::ControlModifier);
        QTest::keyClicks(bins, "7");
        QVERIFY(w.cell.requests().empty());
        QTest::keyClick(bins, Qt::Key_Return);
        QTRY_COMPARE_WITH_TIMEOUT(v.read_back("base", "link.bins"), QString("7"), 5000);
        QCOMPARE(w.cell.requests(), std::vector<std::string>{"link:\n  bins: 7\n"});
        // The wheel does not change a list of choices, either.
        search->clear();
        QTRY_VERIFY(modulation->isVisible() && modulation->isEnabled());
        modulation->setFocus();
        const QString before = modulation->currentText();
        turn_wheel(modulation);
        QTest::qWait(100);
        QCOMPARE(modulation->currentText(), before);
        QCOMPARE(w.cell.requests().size(), std::size_t{1});
    }

    void a_small_value_is_neither_shown_nor_sent_as_nothing() {
        world w;
        w.cell.serve_control("terminal", "uplink:\n  loss: 1e-05\n");
        QVERIFY(shows_run(w, 1));
        auto& v = w.of<controls_view>("controls");
        v.raise();
        auto* loss = v.findChild<QDoubleSpinBox*>("edit terminal uplink.loss");
        auto* set = v.findChild<QPushButton*>("set terminal uplink.loss");
        QTRY_VERIFY_WITH_TIMEOUT(loss->isEnabled(), 5000);
        QCOMPARE(loss->value(), 1e-5);
        QCOMPARE(loss->cleanText(), QString("0.00001"));
        QTest::mouseClick(set, Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(!w.cell.requests().empty(), 5000);
        QCOMPARE(w.cell.requests().back(), std::string("uplink:\n  loss: 0.00001\n"));
        loss->setFocus();
        loss->selectAll();
        QTest::keyClicks(loss, "0.0000025");
        QTest::keyClick(loss, Qt::Key_Return);
        QTRY_COMPARE_WITH_TIMEOUT(w.cell.requests().size(), std::size_t{2}, 5000);
        QCOMPARE(w.cell.requests().back(), std::string("uplink:\n  loss: 0.0000025\n"));
    }

    void a_replay_sets_nothing_in_the_running_cell() {
        QTemporaryDir folder;
        const QString path = folder.filePath("run.h5");
        world w;
        w.cell.serve_control("base");
        w.window->record(path);
        QVERIFY(shows_run(w, 1));
        w.window->record({});
        auto& v = w.of<controls_view>("controls");
        v.raise();
        QTRY_COMPARE_WITH_TIMEOUT(v.read_back("base", "link.bins"), QString("25"), 5000);
        auto* bins = v.findChild<QDoubleSpinBox*>("edit base link.bins");
        auto* value = v.findChild<QLabel*>("value base link.bins");
        QTRY_VERIFY(bins->isEnabled());
        w.window->replay(path);
        // A change is refused at once, before anything has been drawn, and after it.
        v.apply("base", "link.bins", "10");
        QVERIFY2(v.status().contains("replay"), qPrintable(v.status()));
        QTRY_VERIFY(!bins->isEnabled());
        v.apply("base", "link.bins", "11");
        QVERIFY(v.status().contains("Not sent: a replay has no controls"));
        QCOMPARE(value->text(), QString("-"));
        QCOMPARE(v.read_back("base", "link.bins"), QString());
        QTest::qWait(1500);
        QVERIFY(w.cell.requests().empty());
        for (const auto* editor : v.findChildren<QDoubleSpinBox*>()) QVERIFY(!editor->isEnabled());
        for (const auto* editor : v.findChildren<QComboBox*>()) QVERIFY(!editor->isEnabled());
        for (const auto* button : v.findChildren<QPushButton*>()) QVERIFY(!button->isEnabled());
        // Back at the cell they can be used again.
        w.window->replay({});
        QTRY_COMPARE_WITH_TIMEOUT(value->text(), QString("25"), 5000);
        v.apply("base", "link.bins", "12");
        QTRY_COMPARE_WITH_TIMEOUT(value->text(), QString("12"), 5000);
        QCOMPARE(w.cell.requests(), std::vector<std::string>{"link:\n  bins: 12\n"});
    }

    void what_was_read_back_ends_with_its_cell() {
        world w;
        w.cell.serve_control("base");
        QVERIFY(shows_run(w, 1));
        auto& v = w.of<controls_view>("controls");
        auto* bins = v.findChild<QDoubleSpinBox*>("edit base link.bins");
        const auto is_known = [&] { return v.read_back("base", "link.bins") == "25"; };
        v.raise();
        QTRY_VERIFY_WITH_TIMEOUT(is_known(), 5000);
        // Another run of the same name, which has another supervisor: the window asks again. An
        // answer of the run before comes late.
        w.cell.answers_after_us = 700'000;
        QTest::qWait(1100);
        const auto subject = w.shown->subject();
        w.cell.be_kept_by(::getppid());
        QTRY_VERIFY_WITH_TIMEOUT(w.shown->subject() != subject, 5000);
        QVERIFY(!is_known());
        QTRY_VERIFY(!bins->isEnabled());
        w.cell.answers_after_us = 0;
        QTRY_VERIFY_WITH_TIMEOUT(is_known() && bins->isEnabled(), 5000);
        // Another cell, which does not run, while a question is open.
        w.cell.answers_after_us = 700'000;
        QTest::qWait(1100);
        w.shown->choose_cell("other");
        QVERIFY(!is_known());
        QVERIFY(!v.csv().contains("link.bins"));
        QTest::qWait(1500);
        QVERIFY(!is_known());
        QVERIFY(!bins->isEnabled());
        // The values are unknown as well when the cell has ended.
        w.cell.answers_after_us = 0;
        w.shown->choose_cell("script");
        QTRY_VERIFY_WITH_TIMEOUT(is_known(), 5000);
        w.cell.end();
        QTRY_VERIFY_WITH_TIMEOUT(!is_known() && !bins->isEnabled(), 5000);
    }

    // --- text, recording, words ---

    void text_becomes_larger_and_smaller() {
        world w;
        QVERIFY(shows_run(w, 1));
        auto& plot = w.plot("queue");
        const int points = plot.xAxis->tickLabelFont().pointSize();
        const int left = plot.axisRect()->left();
        for (int i = 0; i < 4; ++i)
            QTest::keyClick(w.window.get(), Qt::Key_Plus, Qt::ControlModifier);
        QTest::qWait(100);
        const int now = QApplication::font().pointSize();
        QCOMPARE(plot.xAxis->tickLabelFont().pointSize(), now);
        QVERIFY(now >= points + 3);
        QVERIFY(plot.axisRect()->left() > left);  // the larger text has room
        for (int i = 0; i < 4; ++i)
            QTest::keyClick(w.window.get(), Qt::Key_Minus, Qt::ControlModifier);
        QTest::qWait(100);
        QCOMPARE(QApplication::font().pointSize(), now - 4);
        QCOMPARE(w.window->axis().window(), 15'000.0);  // which + and - alone change
    }

    void r_says_whether_it_records() {
        QTemporaryDir folder;
        world w;
        QVERIFY(shows_run(w, 1));
        dialogue_watch dialogues;
        auto* action = w.window->findChild<QAction*>("record");
        QVERIFY(action != nullptr && !action->isChecked());
        // R ends a recording that an option has begun, without a question.
        const QString path = folder.filePath("a.h5");
        w.window->record(path);
        QVERIFY(action->isChecked());
        QTest::keyClick(w.window.get(), Qt::Key_R);
        QVERIFY(w.window->recording() == nullptr && !action->isChecked());
        QVERIFY(w.window->statusBar()->currentMessage().contains(path));
        QVERIFY(!dialogues.opened());
        QVERIFY_THROWS_EXCEPTION(std::runtime_error, w.window->record("/no/such/folder/b.h5"));
        QVERIFY(!action->isChecked());
        QVERIFY_THROWS_EXCEPTION(std::runtime_error, w.window->record("/dev/full"));
        // The disk takes no more: the window names the file that could not be written.
        w.window->record(folder.filePath("b.h5"));
        QVERIFY(action->isChecked());
        const auto recorder = [&] {
            return static_cast<pid_t>(w.window->recording()->process_id());
        };
        const rlimit little{6000, 6000};
        QCOMPARE(::prlimit(recorder(), RLIMIT_FSIZE, &little, nullptr), 0);
        for (std::int64_t slot = 1515; slot < 9000; slot += 15) w.cell.say_slot(slot);
        QVERIFY(w.settle());
        QTest::keyClick(w.window.get(), Qt::Key_R);
        QVERIFY(w.window->recording() == nullptr && !action->isChecked());
        QVERIFY(w.window->record_trouble().contains("b.h5: File too large"));
        QVERIFY(w.window->statusBar()->currentMessage().contains(w.window->record_trouble()));
        QVERIFY(!QFile::exists(folder.filePath("b.h5")));
        // A recorder that ends by itself ends it.
        w.window->record(folder.filePath("b.h5"));
        ::kill(recorder(), SIGKILL);
        QTRY_VERIFY_WITH_TIMEOUT(w.window->recording() == nullptr, 5000);
        QVERIFY(!action->isChecked());
        QVERIFY(w.window->statusBar()->currentMessage().contains("was ended by SIGKILL"));
        // A replay cannot be recorded.
        w.window->record(folder.filePath("c.h5"));
        w.window->replay(path);
        QVERIFY(w.window->recording() == nullptr && !action->isChecked());
        QTest::keyClick(w.window.get(), Qt::Key_R);
        QTest::qWait(100);
        QVERIFY(!dialogues.opened() && !action->isChecked());
        QVERIFY(w.window->statusBar()->currentMessage().contains("replay cannot be recorded"));
        QVERIFY_THROWS_EXCEPTION(std::runtime_error, w.window->record(folder.filePath("d.h5")));
        QVERIFY(!QFile::exists(folder.filePath("d.h5")));
        // Without a replay R asks for the file; without an answer nothing is recorded.
        w.window->replay({});
        QTest::keyClick(w.window.get(), Qt::Key_R);
        QTRY_VERIFY(dialogues.opened());
        QVERIFY(w.window->recording() == nullptr && !action->isChecked());
    }

    // `--words` FILE: the window writes the texts that it shows into this file (window_words.h).
    void words_that_cannot_be_written_are_refused_at_once() {
        QTemporaryDir folder;
        world w;
        QVERIFY(shows_run(w, 1));
        const window_words words(*w.window, folder.filePath("words.json"));
        QVERIFY(QFile::exists(folder.filePath("words.json")));
        for (const QString& path : {QString("/no/such/folder/words.json"), folder.path()}) {
            std::string reported;
            try {
                const window_words refused(*w.window, path);
            } catch (const std::runtime_error& e) {
                reported = e.what();
            }
            QVERIFY2(reported.starts_with("--words is '" + path.toStdString() + "': "),
                     reported.c_str());
            QVERIFY(reported.find('\n') == std::string::npos);
        }
    }
};

}  // namespace wip::gui

int main(int argc, char** argv) {
    return wip::gui::run_window_test<wip::gui::monitor_keys_test>(argc, argv);
}

#include "test_monitor_keys.moc"
