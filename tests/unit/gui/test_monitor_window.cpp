// SPDX-License-Identifier: GPL-3.0-or-later
// The real window in front of a scripted cell: what is published over ZeroMQ has to be on the
// screen, as values and as pixels.
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QtTest>
#include <stdexcept>

#include "digest.h"
#include "gui/model/meaning.h"
#include "gui/plot/colour_map.h"
#include "gui/views/channel_view.h"
#include "gui/views/constellation_view.h"
#include "gui/views/controls_view.h"
#include "gui/views/heat_view.h"
#include "window_world.h"

namespace wip::gui {

class monitor_window_test : public window_test {
    Q_OBJECT
private Q_SLOTS:
    void finds_the_running_cell_by_itself_and_says_when_none_runs() {
        world w(false);
        w.window->frame();
        w.window->health().refresh(30);
        QVERIFY(w.window->health().text_of("stream").contains("No cell is running"));
        w.cell.start();
        QVERIFY(w.cell.wait_for_reader([&] { QTest::qWait(5); }));
        QVERIFY(shows_run(w, 1));
        QCOMPARE(w.window->health().text_of("stream"), QString("Cell 'script'"));
        QCOMPARE(w.shown->state(), stream_state::live);
        w.cell.end();
        QTRY_COMPARE_WITH_TIMEOUT(w.shown->state(), stream_state::ended, 3000);
        QTRY_VERIFY(w.window->health().text_of("stream").contains("has ended"));
    }

    void heat_maps_show_every_bin_of_every_slot_in_its_colour() {
        world w;
        QVERIFY(shows_run(w, 10));
        QCOMPARE(w.shown->model().newest_slot(), std::int64_t{15000});
        const auto check = [&](const char* id, auto expected) {
            const QImage image = w.picture(id);
            auto& plot = w.of<heat_view>(id).plot();
            int looked = 0;
            for (const std::int64_t slot : {3750, 8250, 11250, 14250})
                for (int bin = 0; bin < nof_bins; bin += 3) {
                    const QPoint at(static_cast<int>(
                                        plot.xAxis->coordToPixel(seconds_of(double(slot - 15000)))),
                                    static_cast<int>(plot.yAxis->coordToPixel(bin)));
                    QVERIFY(plot.axisRect()->rect().contains(at));
                    QVERIFY2(
                        (image.pixel(at) & 0xffffffu) == (expected(slot, bin) & 0xffffffu),
                        qPrintable(QStringLiteral("%1 slot %2 bin %3").arg(id).arg(slot).arg(bin)));
                    ++looked;
                }
            QCOMPARE(looked, 36);
        };
        const auto snr = [](std::int64_t slot, int bin) {
            return double(scripted_cell::snr(slot, bin));
        };
        check("measured_snr", [&](std::int64_t s, int b) {
            return colour_at(colour_map::viridis, snr(s, b), 0, 35);
        });
        check("predicted_snr", [&](std::int64_t s, int b) {
            return colour_at(colour_map::viridis, snr(s, b) + (b % 2 == 0 ? 4 : -6), 0, 35);
        });
        check("prediction_error", [&](std::int64_t, int b) {
            return colour_at(colour_map::signed_values, b % 2 == 0 ? 4 : -6, -10, 10);
        });
        check("modulation",
              [](std::int64_t, int b) { return modulation_colour(scripted_cell::bits(b)); });
        check("arq_outcome",
              [](std::int64_t, int b) { return outcome_colour(scripted_cell::outcome(b)); });
        QCOMPARE(w.of<heat_view>("measured_snr").readout(14985, bin_index(20)),
                 QString::number(snr(14985, 20), 'f', 1) + " dB");
        QCOMPARE(w.of<heat_view>("modulation").readout(14985, bin_index(4)), QString("16-QAM"));
        QCOMPARE(w.of<heat_view>("arq_outcome").readout(14985, bin_index(2)), QString("bad"));
    }

    void a_heat_map_that_scrolls_is_the_same_as_one_drawn_anew() {
        world w;
        for (std::int64_t slot = 15; slot <= 12'000; slot += 15) {
            w.cell.say_slot(slot);
            if (slot % 600 == 0) QTest::qWait(35);  // lets frames be drawn in between
        }
        QVERIFY(w.settle());
        auto& v = w.of<heat_view>("measured_snr");
        v.raise();
        QTest::qWait(100);
        const QImage scrolled = v.plot().grab().toImage();
        v.refresh(true);
        QCOMPARE(scrolled, v.plot().grab().toImage());
    }

    void goodput_and_delay_are_shown_only_with_the_verdict() {
        world w;
        w.cell.say_run(3, false);
        QVERIFY(w.settle());
        QCOMPARE(w.window->health().text_of("verdict"), QString("no verdict yet"));
        QCOMPARE(count(below_legend(w.picture("goodput")), series_colour(0)), 0);
        QCOMPARE(count(below_legend(w.picture("packet_delay")), series_colour(1)), 0);
        w.picture("delay_distribution");
        QVERIFY(w.of("delay_distribution").words().contains("No verdict yet"));
        w.cell.say_verdict(4500, false);
        for (std::int64_t slot = 4650; slot <= 6000; slot += 150) {
            w.cell.say_slot(slot);
            w.cell.say_verdict(slot, true);
        }
        QVERIFY(w.settle());
        QVERIFY(w.window->health().text_of("verdict").startsWith("VALID"));
        QVERIFY(count(below_legend(w.picture("goodput")), series_colour(0)) > 20);
        QVERIFY(count(below_legend(w.picture("packet_delay")), series_colour(1)) > 20);
        QVERIFY(w.of("goodput").csv().contains("6e+06,8e+06,0"));
        w.cell.say_verdict(6150, false);
        QVERIFY(w.settle());
        QCOMPARE(w.window->health().text_of("verdict"),
                 QString("INVALID: late: 3 slots missed their time"));
    }

    void packet_delay_is_stacked_from_its_parts() {
        world w;
        QVERIFY(shows_run(w, 10));
        auto& v = w.of("packet_delay");
        const QImage image = w.picture("packet_delay");
        constexpr std::array stacked{1.0, 3.0, 6.0, 10.0, 15.0};
        for (std::size_t i = 0; i < 5; ++i) {
            double top = 0;
            for (const auto& p : *w.of("packet_delay", delay_parts[i].name).data())
                top = std::max(top, p.value);
            QCOMPARE(top, stacked[i]);
        }
        // Colours from the bottom to the top of a bucket that has a packet.
        const std::array<std::pair<double, int>, 5> at{
            {{0.5, 0}, {2, 5}, {4.5, 2}, {8, 1}, {12.5, 3}}};
        for (const auto& [ms, colour] : at) {
            const int y = static_cast<int>(w.plot("packet_delay").yAxis->coordToPixel(ms));
            int n = 0;
            for (int x = 0; x < image.width(); ++x)
                n += (image.pixel(x, y) & 0xffffffu) == (series_colour(colour).rgb() & 0xffffffu);
            QVERIFY2(n > 50, qPrintable(QStringLiteral("%1 ms: %2 pixels").arg(ms).arg(n)));
        }
        w.picture("delay_distribution");
        const QString summary = w.of("delay_distribution").words();
        QVERIFY2(summary.contains("100 packets, 0 dropped"), qPrintable(summary));
        QVERIFY2(summary.contains("median 15.00 ms, 99 % 15.00 ms"), qPrintable(summary));
        w.cell.say_packet(15'000, 1000, "retransmissions_exceeded");
        QVERIFY(w.settle());
        w.picture("delay_distribution");
        QVERIFY(w.of("delay_distribution").words().contains("1 dropped"));
        QVERIFY(v.csv().contains("retransmissions_exceeded"));
    }

    void histograms_count_the_frames_of_the_window() {
        world w;
        QVERIFY(shows_run(w, 10));
        w.window->axis().set_window(slots_of(2));
        QTest::qWait(300);
        const auto modulation = lines_of(w.of("modulation_histogram"));
        for (const char* counted : {"4,9000", "6,3000", "1,0"})  // 3 a slot, 3000 slots
            QVERIFY2(modulation.contains(counted), counted);
        const auto arq = lines_of(w.of("arq_histogram"));
        for (const char* counted : {"0,27000", "1,3000"}) QVERIFY2(arq.contains(counted), counted);
        const QImage picture = w.picture("modulation_histogram");
        QVERIFY(count(picture, series_colour(0)) > 500);
        // Every bar has its name, which ends below it.
        auto& plot = w.plot("modulation_histogram");
        for (int bits = 1; bits <= 8; ++bits) {
            const int x = static_cast<int>(plot.xAxis->coordToPixel(bits));
            const int y = plot.axisRect()->bottom() + 8;
            const QImage name = picture.copy(x - 12, y, 14, picture.height() - y);
            int dark = 0;
            for (int i = 0; i < name.width() * name.height(); ++i)
                dark += qGray(name.pixel(i % name.width(), i / name.width())) < 128;
            QVERIFY2(dark > 8, modulation_name(bits));
        }
        QVERIFY(count(w.picture("arq_histogram"), series_colour(1)) > 500);
    }

    void queue_and_tcp_follow_the_messages() {
        world w;
        QVERIFY(shows_run(w, 10));
        const QImage queue = w.picture("queue");
        const auto& line = *w.of("queue", "downlink").data();
        QVERIFY(line.size() > 100);
        QCOMPARE(line.at(line.size() - 1)->value, 10.0);
        QVERIFY(count(below_legend(queue), series_colour(0)) > 50);
        QVERIFY(count(below_legend(w.picture("tcp")), series_colour(0)) > 50);
        const QString csv = w.of("tcp").csv();
        QVERIFY(csv.contains("\"base 10.42.0.1:5201 > 10.42.0.2:40000\",20,"));
    }

    void constellation_and_channel_show_the_receiver_sample() {
        world w;
        QVERIFY(shows_run(w, 1));
        const QImage points = w.picture("constellation");
        auto& plane = w.of<constellation_view>("constellation").canvas().of(2);
        QCOMPARE(plane.points, 4 * 10);
        constexpr int middle = constellation_canvas::side / 2;
        const int off = static_cast<int>(std::lround(45 * middle / 127.0));
        for (const int x : {middle - off, middle + off})
            for (const int y : {middle - off, middle + off})
                QCOMPARE(plane.hits[static_cast<std::size_t>(y * constellation_canvas::side + x)],
                         10u);
        // The image in the window has that colour in four places and nowhere else.
        const QRgb hit = plane.image.pixel(middle + off, middle - off);
        QVERIFY(qGray(hit) < 200);
        QVERIFY(count(points, QColor(hit)) >= 4);
        const QImage channel = w.picture("channel");
        QVERIFY(count(channel, series_colour(0)) > 100);
        QVERIFY(count(channel, series_colour(2)) > 50);
        QVERIFY(w.of<channel_view>("channel").csv().contains("1500,-2500,"));
    }

    void events_are_listed_with_their_reason_and_drops_are_summed() {
        world w;
        w.cell.say_run(4);
        w.cell.say_event(6000, "lock", "losses_pilots");
        QVERIFY(w.settle());
        w.picture("events");
        auto& v = w.of("events");
        const auto& table = *v.findChild<QTableView*>()->model();
        QCOMPARE(table.rowCount(), 3);
        QCOMPARE(table.data(table.index(2, 5)).toString(), QString("losses_pilots"));
        QCOMPARE(table.data(table.index(2, 6)).toInt(), 7);
        QVERIFY(v.findChild<QLabel*>("drops")->text().contains("base downlink queue_full: 2"));
        QVERIFY(v.csv().contains("\"queue_full\",7"));
    }

    void garbage_and_later_versions_are_counted_and_shown() {
        world w;
        QVERIFY(shows_run(w, 1));
        for (int i = 0; i < 3; ++i) w.cell.raw("base", {"slot", "\xff\xfe garbage"});
        w.cell.raw("base", {"slot"});
        w.cell.raw("base", {"slot", "a", "b"});
        // Parseable, but with 24 bins.
        scripted_cell::message odd;
        odd.set_slot(1500);
        for (int b = 0; b < 24; ++b) odd.mutable_slot_sample()->add_snr_db(1);
        w.cell.publish("terminal", "slot", odd);
        scripted_cell::message later;
        later.set_slot(1500);
        later.set_version(openwip::telemetry::VERSION_CURRENT + 1);
        later.mutable_event();
        w.cell.publish("base", "event", later);
        w.cell.skip("terminal", "slot", 5);
        w.cell.say_slot(1515);
        QVERIFY(w.settle());
        QTRY_VERIFY(w.window->health().text_of("telemetry").contains("garbage 6"));
        const QString text = w.window->health().text_of("telemetry");
        QVERIFY2(text.contains("future version 1"), qPrintable(text));
        QVERIFY2(text.contains("lost 5"), qPrintable(text));
        QCOMPARE(w.shown->model().newest_slot(), std::int64_t{1515});
    }

    void a_stream_that_stalls_is_said_to() {
        world w;
        QVERIFY(shows_run(w, 1));
        QTRY_VERIFY_WITH_TIMEOUT(w.window->health().text_of("stream").startsWith("STALLED"), 5000);
        w.cell.say_slot(1515);
        QTRY_COMPARE(w.window->health().text_of("stream"), QString("Cell 'script'"));
    }

    void a_replay_shows_what_the_run_showed() {
        QTemporaryDir folder;
        const QString path = folder.filePath("run.h5");
        world w;
        w.window->record(path);
        w.cell.say_run(5);
        w.cell.raw("base", {"slot", "garbage"});
        QVERIFY(w.settle());
        const auto counts = w.shown->reader().total();
        w.window->record({});
        const auto live = digest(w.shown->model());
        const QString csv = w.of<heat_view>("measured_snr").csv();
        QVERIFY(csv.count('\n') > 490);

        session_options options;
        options.run_root = folder.path().toStdString();
        session offline(options);
        main_window window(offline);
        window.show();
        window.replay(path);
        QVERIFY(window.replaying() != nullptr);
        window.replaying()->set_speed(50);
        QTRY_VERIFY(window.replaying()->at_end());
        QCOMPARE(digest(offline.model()), live);
        QCOMPARE(offline.reader().total(), counts);
        QTest::qWait(100);
        QCOMPARE(dynamic_cast<heat_view*>(window.view_of("measured_snr"))->csv(), csv);
        // Back and forth: the model is made anew, and is the same again.
        window.replaying()->seek(0, 60);
        QVERIFY(digest(offline.model()) != live);
        window.replaying()->seek(window.replaying()->length_ns(), 1e6);
        QCOMPARE(digest(offline.model()), live);
        window.replay({});
        QVERIFY(offline.model().empty() || offline.state() == stream_state::no_cell);
    }

    void a_control_is_sent_and_its_value_read_back() {
        world w;
        w.cell.serve_control("base");
        QVERIFY(shows_run(w, 1));
        auto& v = w.of<controls_view>("controls");
        v.raise();
        QTRY_COMPARE_WITH_TIMEOUT(v.read_back("base", "link.bins"), QString("25"), 5000);
        auto* editor = v.findChild<QDoubleSpinBox*>("edit base link.bins");
        auto* button = v.findChild<QPushButton*>("set base link.bins");
        auto* value = v.findChild<QLabel*>("value base link.bins");
        QVERIFY(editor != nullptr && button != nullptr && value != nullptr);
        QTRY_VERIFY(editor->isEnabled());
        QCOMPARE(editor->value(), 25.0);
        QVERIFY(!v.findChild<QDoubleSpinBox*>("edit base link.max_retransmissions")->isEnabled());
        editor->setValue(10);
        QTest::mouseClick(button, Qt::LeftButton);
        QTRY_COMPARE_WITH_TIMEOUT(value->text(), QString("10"), 5000);
        QCOMPARE(w.cell.requests().back(), std::string("link:\n  bins: 10\n"));
        QVERIFY(v.status().contains("taken"));
        v.apply("base", "link.modulation", "8");
        QTRY_VERIFY(v.status().contains("only link.bins can be changed here"));
        w.cell.stop_control();
        v.apply("base", "link.bins", "5");
        QTRY_VERIFY_WITH_TIMEOUT(v.status().contains("does not answer"), 5000);
        QCOMPARE(v.read_back("base", "link.bins"), QString("10"));
    }

    // The configuration has a new predictor at once; the receiver lets it learn first.
    void what_the_receiver_says_of_itself_is_what_holds() {
        openwip::control::MacStatus mac;
        mac.set_effective_yaml("link:\n  combining: off\n  delay: 3\nphy:\n  predictor: last\n");
        QCOMPARE(controls_view::in_use(mac).at("phy.predictor"), std::string("last"));
        mac.mutable_radio()->set_predictor("delay");
        mac.mutable_radio()->set_combining(true);
        const auto found = controls_view::in_use(mac);
        QCOMPARE(found.at("phy.predictor"), std::string("delay"));
        QCOMPARE(found.at("link.combining"), std::string("on"));
        QCOMPARE(found.at("link.delay"), std::string("3"));
        mac.set_effective_yaml("link:\n  delay: 3\n");
        QCOMPARE(controls_view::in_use(mac).size(), std::size_t{1});
    }

    void pause_zoom_and_cursor_are_shared() {
        world w;
        QVERIFY(shows_run(w, 10));
        QTest::keyClick(w.window.get(), Qt::Key_Space);
        QVERIFY(!w.window->axis().following());
        w.cell.say_slot(15'015);
        QVERIFY(w.settle());
        QCOMPARE(w.window->axis().right(), 15'000.0);
        QTest::keyClick(w.window.get(), Qt::Key_Plus);
        QCOMPARE(w.window->axis().window(), 7'500.0);
        auto& v = w.of<heat_view>("measured_snr");
        QCOMPARE(v.plot().xAxis->range().lower, -5.0);
        QCOMPARE(w.plot("queue").xAxis->range().lower, -5.0);
        const QRect area = v.plot().axisRect()->rect();
        QTest::mouseMove(&v.plot(), area.center());
        QTRY_VERIFY(w.window->axis().cursor().has_value());
        QVERIFY(std::abs(*w.window->axis().cursor() - 11'250) < 30);
        // Over another plot of the same axis there is the same line.
        const QImage queue = w.plot("queue").grab().toImage();
        QVERIFY(count(queue, QColor(0xd5, 0x5e, 0x00)) > 20);
        QTest::keyClick(w.window.get(), Qt::Key_End);
        QVERIFY(w.window->axis().following());
        QTRY_COMPARE(w.window->axis().right(), 15'015.0);
    }

    void everything_can_be_taken_away_as_files() {
        world w;
        QVERIFY(shows_run(w, 2));
        QTemporaryDir folder;
        const auto names = w.window->export_to(folder.filePath("out"));
        for (const view* v : w.window->views()) {
            const QImage image(folder.filePath("out/" + v->objectName() + ".png"));
            QVERIFY2(image.width() > 100 && image.height() > 60, qPrintable(v->objectName()));
        }
        QCOMPARE(QImage(folder.filePath("out/window.png")).size(), w.window->size());
        QFile csv(folder.filePath("out/measured_snr.csv"));
        QVERIFY(csv.open(QIODevice::ReadOnly));
        const auto lines = csv.readAll().split('\n');
        QCOMPARE(lines.size(), 1 + 200 + 1);
        QVERIFY(lines[0].startsWith("slot,seconds,bin0,"));
        QVERIFY(lines[200].startsWith("3000,2,"));
        QVERIFY_THROWS_EXCEPTION(std::runtime_error, w.window->export_to("/proc/no/such"));
    }

    void layouts_are_kept() {
        world w;
        w.cell.say_run(1);
        w.window->view_of("tcp")->hide();
        w.window->save_layout("without tcp");
        w.window->arrange();
        QTRY_VERIFY(w.window->view_of("tcp")->isVisible());
        QVERIFY(w.window->layouts().contains("without tcp"));
        QVERIFY(w.window->load_layout("without tcp"));
        QTRY_VERIFY(!w.window->view_of("tcp")->isVisible());
        QVERIFY(!w.window->load_layout("no such"));
    }
};

}  // namespace wip::gui

int main(int argc, char** argv) {
    return wip::gui::run_window_test<wip::gui::monitor_window_test>(argc, argv);
}

#include "test_monitor_window.moc"
