// SPDX-License-Identifier: GPL-3.0-or-later
// The views of the link and of what runs over it: what was said is there as a value, in its table,
// and at its place in the picture.
#include <QHeaderView>
#include <QLineEdit>
#include <QTableView>
#include <array>

#include "gui/plot/colour_map.h"
#include "gui/plot/time_plot.h"
#include "gui/views/controls_view.h"
#include "gui/views/heat_view.h"
#include "window_world.h"

namespace wip::gui {

class monitor_views_test : public window_test {
    Q_OBJECT
private Q_SLOTS:
    void predicted_snr_and_its_error_are_those_of_the_base_station() {
        world w;
        QVERIFY(shows_run(w, 2));
        const double snr = scripted_cell::snr(2985, 20);
        QCOMPARE(w.of<heat_view>("predicted_snr").readout(2985, bin_index(20)),
                 QString::number(snr + 4, 'f', 1) + " dB");
        QCOMPARE(w.of<heat_view>("predicted_snr").readout(2985, bin_index(21)),
                 QString::number(snr + 1 - 6, 'f', 1) + " dB");
        QCOMPARE(w.of<heat_view>("prediction_error").readout(2985, bin_index(20)),
                 QString("4.0 dB"));
        QCOMPARE(w.of<heat_view>("prediction_error").readout(2985, bin_index(21)),
                 QString("-6.0 dB"));
    }

    void the_allocation_of_one_terminal_has_one_colour() {
        world w;
        QVERIFY(shows_run(w, 10));
        const QImage image = w.picture("allocation");
        auto& v = w.of<heat_view>("allocation");
        const QRect area = v.plot().axisRect()->rect();
        const int share = 100 * count(image.copy(area), QColor(terminal_colour(0))) /
                          (area.width() * area.height());
        QVERIFY2(share > 95, qPrintable(QString::number(share)));
        QCOMPARE(v.readout(14985, bin_index(7)), QString("terminal 1"));
        QVERIFY(lines_of(v)[1].endsWith(",0,0,0,0"));
    }

    void the_allocation_of_several_terminals_has_the_colour_of_each() {
        world w;
        for (std::int64_t slot = 15; slot <= 15'000; slot += 15) w.cell.say_shared_slot(slot, 3);
        QVERIFY(w.settle());
        const QImage image = w.picture("allocation");
        auto& v = w.of<heat_view>("allocation");
        QCOMPARE(v.windowTitle(), QString("Allocation: all 3 terminals"));
        const int x = v.plot().axisRect()->center().x();
        for (int bin = 0; bin < nof_bins; ++bin) {
            const int y = static_cast<int>(v.plot().yAxis->coordToPixel(bin));
            QCOMPARE(QColor(image.pixel(x, y)), QColor(terminal_colour(bin % 3)));
            QCOMPARE(v.readout(7500, bin_index(bin)),
                     QStringLiteral("terminal %1").arg(bin % 3 + 1));
            // With all terminals shown, each bin has the value measured by the terminal that has
            // it.
            QCOMPARE(w.of<heat_view>("measured_snr").readout(7500, bin_index(bin)),
                     QString::number(scripted_cell::shared_snr(bin % 3), 'f', 1) + " dB");
        }
    }

    void goodput_and_capacity_are_lines_at_their_values() {
        world w;
        QVERIFY(shows_run(w, 10));
        const QImage image = w.picture("goodput");
        auto& plot = w.plot("goodput");
        for (const auto& [graph, mbps, colour] : {std::tuple{0, 8.0, 1}, std::tuple{1, 6.0, 0}}) {
            auto& line = *plot.graph(graph)->data();
            QVERIFY(line.size() > 90);
            for (const auto& point : line) QCOMPARE(point.value, mbps);
            const int n = count_row(image, plot.yAxis->coordToPixel(mbps), series_colour(colour));
            QVERIFY2(n > 100, qPrintable(QStringLiteral("%1 Mbit/s: %2").arg(mbps).arg(n)));
        }
    }

    void a_share_below_the_axis_has_no_bar_but_its_place() {
        world w;
        QVERIFY(shows_run(w, 10));
        const QImage image = w.picture("arq_histogram");
        auto& v = w.of("arq_histogram");
        QCOMPARE(lines_of(v)[8], QString("7,1"));  // of some 150,000
        auto& plot = *v.findChild<QCustomPlot*>();
        QCOMPARE(plot.xAxis->range().upper, 7.6);
        const auto high = [&](double retransmissions) {
            return count_column(image, plot.xAxis->coordToPixel(retransmissions), series_colour(1));
        };
        QVERIFY(high(0) > high(1) && high(1) > 10);
        QCOMPARE(high(7), 0);
    }

    void the_delay_distribution_falls_where_the_delays_are() {
        world w;
        QVERIFY(shows_run(w, 10));
        const QImage image = w.picture("delay_distribution");
        auto& v = w.of("delay_distribution");
        constexpr std::array parts{1.0, 2.0, 3.0, 4.0, 5.0, 15.0};
        for (int i = 0; i < 6; ++i) {
            auto& line = *w.plot("delay_distribution").graph(i)->data();
            QVERIFY(line.size() > 100);
            for (const auto& p : line) {
                const double ms = parts[static_cast<std::size_t>(i)];
                if (std::abs(p.key / ms - 1) < 1e-3) continue;  // the step itself is left out
                QCOMPARE(p.value, p.key < ms ? 100.0 : 0.0);
            }
        }
        // The total: a black line from all to none at 15 ms, and none at 7 ms.
        const auto& area = *w.plot("delay_distribution").axisRect();
        const auto column = [&](double ms) {
            return count_column(image.copy(0, area.top() + 3, image.width(), area.height() - 6),
                                w.plot("delay_distribution").xAxis->coordToPixel(ms), Qt::black, 9);
        };
        QVERIFY2(column(15) > area.height() - 10, qPrintable(QString::number(column(15))));
        QCOMPARE(column(7), 0);
        const auto lines = lines_of(v);
        QCOMPARE(lines.size(), 1 + 1001);
        QCOMPARE(lines[501], QString("50,1,2,3,4,5,15,valid"));
    }

    void nothing_covers_the_words_of_the_delay_distribution() {
        world w;
        QVERIFY(shows_run(w, 10));
        w.picture("delay_distribution");
        auto& plot = w.plot("delay_distribution");
        auto* legend = legend_of(plot);
        QVERIFY(legend != nullptr);
        const QImage with = plot.grab().toImage();
        const QRect area = plot.axisRect()->rect();
        QVERIFY(dark(with.copy(0, 0, with.width(), area.top())) > 100);
        legend->setVisible(false);
        plot.replot();
        const QImage without = plot.grab().toImage();
        for (int y = 0; y < with.height(); ++y)
            for (int x = 0; x < with.width(); ++x)
                if (qGray(without.pixel(x, y)) < 100)
                    QVERIFY2(qGray(with.pixel(x, y)) < 100,
                             qPrintable(QStringLiteral("%1, %2").arg(x).arg(y)));
        // The last number of the axis ends inside of the room that is left for it.
        const QFontMetrics text(plot.xAxis->tickLabelFont());
        QVERIFY(plot.axisRect()->margins().right() >= text.horizontalAdvance("1000") / 2);
    }

    void queues_show_both_ends_and_drops() {
        world w;
        QVERIFY(shows_run(w, 10));
        const QImage image = w.picture("queue");
        auto& v = w.of("queue");
        QVERIFY(w.of("queue", "uplink").data()->size() > 90);
        for (const auto& p : *w.of("queue", "uplink").data()) QCOMPARE(p.value, 2.0);
        QVERIFY(count_row(image, w.plot("queue").yAxis->coordToPixel(2), series_colour(2)) > 100);
        // One more packet is dropped every 3000 slots; in the first status there is no step.
        QCOMPARE(w.of("queue", "dropped").data()->size(), 5);
        for (int i = 0; i < 5; ++i) {
            const auto at = *w.of("queue", "dropped").data()->at(i);
            QCOMPARE(at.key, seconds_of(3000.0 * (i + 1) - 15'000));
            const int x = static_cast<int>(w.plot("queue").xAxis->coordToPixel(at.key));
            const int y = static_cast<int>(w.plot("queue").yAxis->coordToPixel(at.value));
            QVERIFY2(count(image.copy(x - 4, y - 4, 9, 9), series_colour(1)) > 2,
                     qPrintable(QString::number(i)));
        }
        const auto lines = lines_of(v);
        QCOMPARE(lines[0], QString("slot,seconds,downlink_packets,downlink_bytes,uplink_packets,"
                                   "dropped_packets"));
        QVERIFY(lines.contains("2985,1.99,1,1500,,"));
        QVERIFY(lines.contains("3150,2.1,2,3000,2,"));
        QVERIFY(lines.contains("6000,4,4,6000,2,1"));
    }

    void a_base_station_without_queue_samples_has_its_statuses() {
        world w;
        for (std::int64_t slot = 150; slot <= 3000; slot += 150) {
            scripted_cell::message m;
            m.set_slot(slot);
            m.mutable_mac()->set_role("base");
            auto& queued = *m.mutable_mac()->mutable_downlink()->mutable_queued();
            queued.set_packets(7);
            queued.set_bytes(7000);
            w.cell.publish("base", "status", m);
        }
        QVERIFY(w.settle());
        const QImage image = w.picture("queue");
        auto& v = w.of("queue");
        QCOMPARE(w.of("queue", "downlink").data()->size(), 20);
        QVERIFY(count_row(image, w.plot("queue").yAxis->coordToPixel(7), series_colour(0)) > 30);
        const auto lines = lines_of(v);
        QCOMPARE(lines.size(), 21);
        QCOMPARE(lines[20], QString("3000,2,7,7000,,"));
    }

    void tcp_shows_round_trip_and_timeout() {
        world w;
        QVERIFY(shows_run(w, 10));
        const QImage image = w.picture("tcp");
        auto& plot = w.plot("tcp");
        auto* ms = plot.axisRect(1)->axis(QCPAxis::atLeft);
        int found = 0;
        for (int i = 0; i < plot.graphCount(); ++i) {
            auto& line = *plot.graph(i)->data();
            if (plot.graph(i)->valueAxis() != ms || line.isEmpty()) continue;
            const double value = line.at(0)->value;
            QCOMPARE(value, found == 0 ? 20.0 : 24.0);
            for (const auto& p : line) QCOMPARE(p.value, value);
            QVERIFY2(count_row(image, ms->coordToPixel(value), series_colour(0)) > 100,
                     qPrintable(QString::number(value)));
            ++found;
        }
        QCOMPARE(found, 2);
        QVERIFY(lines_of(w.of("tcp"))[1].endsWith(",20,24,0"));
    }

    void events_are_written_out_and_nothing_of_them_is_cut() {
        world w;
        w.cell.say_run(2);
        w.cell.say_event(3000, "drop", "retransmissions_exceeded");
        w.cell.say_event(3015, "lock", "losses_pilots");
        QVERIFY(w.settle());
        const QImage image = w.picture("events");
        auto& v = w.of("events");
        auto& list = *v.findChild<QTableView*>();
        QVERIFY(count(image, QColor(0x8a, 0x50, 0x00)) > 20);  // the colour of warnings
        const auto& columns = *list.horizontalHeader();
        for (int c = 0; c < 7; ++c) {
            const QString longest = c == 5 ? "retransmissions_exceeded" : "";
            QVERIFY(list.columnWidth(c) > list.fontMetrics().horizontalAdvance(longest) + 4);
            QVERIFY(list.columnWidth(c) >= columns.sectionSizeHint(c));
        }
        // The whole reason, and the count before it, are visible without scrolling.
        QVERIFY(columns.visualIndex(6) < columns.visualIndex(5));
        QVERIFY2(
            columns.length() <= list.viewport()->width(),
            qPrintable(
                QStringLiteral("%1 of %2").arg(columns.length()).arg(list.viewport()->width())));
        // The table that is taken away is the list that is seen.
        QCOMPARE(lines_of(v).size(), 1 + list.model()->rowCount());
        dynamic_cast<QLineEdit*>(v.entrance())->setText("LOCK");
        QCOMPARE(lines_of(v).size(), 1 + 1);
        QVERIFY(lines_of(v)[1].contains("\"losses_pilots\",7"));
        w.window->axis().set_right(1500);
        QCOMPARE(lines_of(v).size(), 1 + 1);
    }

    void controls_write_out_what_was_read_back() {
        world w;
        QVERIFY(shows_run(w, 1));
        auto& v = w.of<controls_view>("controls");
        v.raise();
        QTest::qWait(100);
        auto* value = v.findChild<QLabel*>("value base link.bins");
        auto* editor = v.findChild<QWidget*>("edit base link.bins");
        const QImage value_before = value->grab().toImage();
        const QImage editor_before = editor->grab().toImage();
        w.cell.serve_control("base");
        QTRY_COMPARE_WITH_TIMEOUT(value->text(), QString("25"), 5000);
        const QImage after = value->grab().toImage();
        QVERIFY(dark(after) > 10);
        QVERIFY(after != value_before);
        QVERIFY(editor->grab().toImage() != editor_before);
        QVERIFY(v.csv().contains("base,link.bins,\"25\""));
    }

    void a_link_without_an_snr_shows_none_and_no_capacity() {
        world w;
        w.cell.has_snr = false;
        QVERIFY(shows_run(w, 2));
        QCOMPARE(w.window->findChild<QLabel*>("health_radio")->text(), QString("locked"));
        QVERIFY(w.plot("goodput").graph(1)->data()->size() > 10);
        QCOMPARE(w.plot("goodput").graph(0)->data()->size(), 0);
    }

    void the_health_bar_is_coloured_by_the_verdict() {
        world w;
        w.cell.say_run(1, false);
        QVERIFY(w.settle());
        auto* verdict = w.window->findChild<QLabel*>("health_verdict");
        auto* radio = w.window->findChild<QLabel*>("health_radio");
        QVERIFY(verdict != nullptr && radio != nullptr);
        const QColor good(0x00, 0x72, 0xb2), bad(0xd5, 0x5e, 0x00);
        const auto area = [](const QLabel* l) { return l->width() * l->height(); };
        QCOMPARE(count(verdict->grab().toImage(), good), 0);
        QVERIFY(dark(radio->grab().toImage()) > 50);
        QVERIFY(radio->text().startsWith("locked  SNR 17.5 dB  EVM 13.2 %"));
        w.cell.say_verdict(1500);
        QVERIFY(w.settle());
        QCOMPARE(verdict->text(), QString("VALID so far"));
        QVERIFY(count(verdict->grab().toImage(), good) > area(verdict) / 3);
        // The first reason is cut when it is long; all of all of them are in the tool tip.
        const std::string longest = "late: " + std::string(200, 'x') + " end";
        w.cell.say_verdict(1500, false, {longest, "pacing: too slow"});
        QVERIFY(w.settle());
        QVERIFY(count(verdict->grab().toImage(), bad) > area(verdict) / 3);
        QVERIFY(verdict->text().startsWith("INVALID: late: xxx"));
        QVERIFY(verdict->text().endsWith("x..."));
        QVERIFY(verdict->text().size() < 80);
        QVERIFY(verdict->toolTip().contains(QString::fromStdString(longest)));
        QVERIFY(verdict->toolTip().contains("pacing: too slow"));
    }

    void no_delay_leaves_the_window_without_its_verdict() {
        world w;
        w.cell.say_run(2, false);
        QVERIFY(w.settle());
        for (const char* id : {"packet_delay", "delay_distribution", "goodput"})
            QCOMPARE(lines_of(*w.window->view_of(id)).size(), 1);
        w.cell.say_verdict(3000, false);
        QVERIFY(w.settle());
        const auto delays = lines_of(*w.window->view_of("packet_delay"));
        QCOMPARE(delays.size(), 1 + 20);
        QVERIFY(delays[0].endsWith(",verdict"));
        for (const auto& line : delays.mid(1))
            QVERIFY2(line.endsWith(",invalid"), qPrintable(line));
        const auto shares = lines_of(*w.window->view_of("delay_distribution"));
        QCOMPARE(shares.size(), 1 + 1001);
        for (const auto& line : shares.mid(1)) QVERIFY(line.endsWith(",invalid"));
        const auto goodput = lines_of(*w.window->view_of("goodput"));
        QVERIFY(goodput[0].endsWith(",valid") && goodput.size() == 2 && goodput[1].endsWith(",0"));
        w.cell.say_verdict(3000, true);
        QVERIFY(w.settle());
        QVERIFY(lines_of(*w.window->view_of("packet_delay"))[20].endsWith(",valid"));
    }

    void a_replay_of_samples_is_no_bad_verdict_and_its_note_leaves_the_legend_free() {
        world w;
        w.cell.say_run(2, false);
        w.cell.say_verdict(3000, false, {}, "replay");
        QVERIFY(w.settle());
        auto& v = w.of("packet_delay");
        const QColor red(0xa0, 0x30, 0x00);
        QCOMPARE(count(w.picture("packet_delay"), red), 0);
        QVERIFY(lines_of(v)[1].endsWith(",replay"));
        auto* legend = legend_of(w.plot("packet_delay"));
        const auto of_legend = [&] {
            return w.plot("packet_delay").grab().toImage().copy(legend->outerRect());
        };
        // Narrow, so that there is no room for the note beside the legend.
        v.setFloating(true);
        for (const int width : {900, 420}) {
            v.resize(width, 300);
            QTest::qWait(100);
            v.refresh(true);
            const QImage with = of_legend(), all = w.plot("packet_delay").grab().toImage();
            dynamic_cast<time_plot&>(w.plot("packet_delay")).note("");
            QCOMPARE(of_legend(), with);
            QVERIFY(w.plot("packet_delay").grab().toImage() != all);
        }
        v.setFloating(false);
        w.cell.say_verdict(3000, false);
        QVERIFY(w.settle());
        QVERIFY(count(w.picture("packet_delay"), red) > 10);
    }

    void a_closed_view_is_not_taken_away() {
        world w;
        QVERIFY(shows_run(w, 1));
        w.window->view_of("tcp")->close();
        QTemporaryDir folder;
        const auto names = w.window->export_to(folder.filePath("out"));
        QVERIFY(!QFile::exists(folder.filePath("out/tcp.png")));
        QVERIFY(!QFile::exists(folder.filePath("out/tcp.csv")));
        QVERIFY(QFile::exists(folder.filePath("out/queue.csv")));
        // this view is behind another tab
        QVERIFY(QFile::exists(folder.filePath("out/allocation.png")));
        for (const auto& name : names) QVERIFY(!name.contains("tcp"));
    }
};

}  // namespace wip::gui

int main(int argc, char** argv) {
    return wip::gui::run_window_test<wip::gui::monitor_views_test>(argc, argv);
}

#include "test_monitor_views.moc"
