// SPDX-License-Identifier: GPL-3.0-or-later
// The views of what is on the air or in place of it (channel, spectrum, fader, injected delay,
// bearer): what was said is there as a value, in its table, and at its place in the picture.
#include "gui/plot/colour_map.h"
#include "gui/views/channel_view.h"
#include "gui/views/spectrum_view.h"
#include "gui/views/wcdma_view.h"
#include "window_world.h"

namespace wip::gui {

class monitor_air_views_test : public window_test {
    Q_OBJECT
private Q_SLOTS:
    void the_channel_has_its_magnitude_its_noise_and_its_path() {
        world w;
        QVERIFY(shows_run(w, 1));
        const QImage image = w.picture("channel");
        auto& v = w.of<channel_view>("channel");
        QCOMPARE(w.of("channel", "|H|").data()->size(), nof_subcarriers);
        for (const auto& p : *w.of("channel", "|H|").data()) QVERIFY(std::abs(p.value) < 1e-4);
        QCOMPARE(w.of("channel", "noise").data()->size(), nof_bins);
        for (const auto& p : *w.of("channel", "noise").data())
            QCOMPARE(p.value, double(scripted_cell::noise_db));
        double peak = -1000, at = 0;
        for (const auto& p : *w.of("channel", "|h|").data())
            if (p.value > peak) peak = p.value, at = p.key;
        QVERIFY(std::abs(peak) < 0.05);
        QVERIFY(std::abs(at - 2) < 0.051);
        auto& plot = w.plot("channel");
        QVERIFY(count_row(image, plot.yAxis->coordToPixel(0), series_colour(0)) > 100);
        QVERIFY(count_row(image, plot.yAxis->coordToPixel(double(scripted_cell::noise_db)),
                          series_colour(1)) > 100);
        auto* delay = plot.axisRect(1)->axis(QCPAxis::atBottom);
        auto* db = plot.axisRect(1)->axis(QCPAxis::atLeft);
        const QRect top(static_cast<int>(delay->coordToPixel(2)) - 4,
                        static_cast<int>(db->coordToPixel(0)) - 3, 9, 7);
        QVERIFY(count(image.copy(top), series_colour(2)) > 3);
        const auto lines = lines_of(v);
        QCOMPARE(lines.size(), 1 + nof_subcarriers + channel_view::nof_delays);
        QVERIFY2(lines[1].startsWith("1500,-2500,") && lines[1].endsWith(",-35,,"),
                 qPrintable(lines[1]));
        QVERIFY(lines[1 + nof_subcarriers].startsWith("1500,,,,,,-2,"));
        // The words above the curves are beside one another.
        auto* legend = legend_of(plot);
        QVERIFY(legend != nullptr);
        const QRect words = legend->outerRect();
        const auto of_legend = [&](QRgb colour) {
            return count(image.copy(words), QColor(colour));
        };
        QVERIFY(of_legend(series_colour(0).rgb()) > 5);
        QVERIFY(of_legend(series_colour(1).rgb()) > 5);
        const double above = plot.yAxis->pixelToCoord(words.bottom());
        QVERIFY2(above > 0, qPrintable(QString::number(above)));
    }

    void the_words_above_the_channel_leave_its_curves_free() {
        for (const auto& [magnitude_db, noise_db] :
             {std::pair{-38.0, -62.0}, {0.0, -12.0}, {-1.0, -79.0}}) {
            world w;
            scripted_cell::message m;
            m.set_slot(150);
            for (int n = 0; n < nof_subcarriers; ++n) {
                m.mutable_receiver()->add_channel(
                    static_cast<float>(std::pow(10, magnitude_db / 20)));
                m.mutable_receiver()->add_channel(0);
            }
            for (int b = 0; b < nof_bins; ++b)
                m.mutable_receiver()->add_noise_dbfs(static_cast<float>(noise_db));
            w.cell.publish("terminal", "receiver", m);
            QVERIFY(w.settle());
            w.picture("channel");
            auto& plot = w.plot("channel");
            const QRect words = legend_of(plot)->outerRect();
            QVERIFY2(words.bottom() < plot.yAxis->coordToPixel(magnitude_db) - 1,
                     qPrintable(QString::number(magnitude_db)));
        }
    }

    void the_spectrum_has_one_slot_the_mean_and_the_highest_between_the_edges_of_the_bins() {
        world w;
        QVERIFY(shows_run(w, 2));  // 20 samples, one of two 6 dB higher; the last one is
        const QImage image = w.picture("spectrum");
        auto& v = w.of<spectrum_view>("spectrum");
        const auto at = [](QCPGraph& g, int point) { return g.data()->at(point)->value; };
        for (auto* g : {&w.of("spectrum", "one slot"), &w.of("spectrum", "mean"),
                        &w.of("spectrum", "highest")})
            QCOMPARE(g->data()->size(), int(fft_size));
        QCOMPARE(w.of("spectrum", "one slot").data()->at(0)->key, -3.84);
        QCOMPARE(at(w.of("spectrum", "one slot"), 384), -34.0);
        QCOMPARE(at(w.of("spectrum", "one slot"), 50), -74.0);
        const double mean = 10 * std::log10((1 + std::pow(10, 0.6)) / 2);
        QVERIFY(std::abs(at(w.of("spectrum", "mean"), 384) - (-40 + mean)) < 1e-4);
        QVERIFY(std::abs(at(w.of("spectrum", "mean"), 50) - (-80 + mean)) < 1e-4);
        QCOMPARE(at(w.of("spectrum", "highest"), 384), -34.0);
        // The tone was there in slot 1500: held, but gone from what is new.
        QCOMPARE(at(w.of("spectrum", "highest"), 700), -20.0);
        QCOMPARE(at(w.of("spectrum", "one slot"), 700), -74.0);
        QCOMPARE(v.words(), QString("slot 3000, mean of 20"));

        // Edges: the grid's own subcarriers, the first and the last of each bin.
        const auto edges = spectrum_view::edges_mhz();
        QCOMPARE(edges.size(), std::size_t(nof_bins + 1));
        for (int n = 0; n < nof_subcarriers; ++n) {
            const int k = n < 250 ? n - 250 : n - 249;
            const auto bin = static_cast<std::size_t>(n / 20);
            QVERIFY(k * 0.01 > edges[bin] && k * 0.01 < edges[bin + 1]);
        }
        QVERIFY(std::abs(edges[0] + 2.505) < 1e-9 && std::abs(edges[25] - 2.505) < 1e-9);

        // The picture has both lines at their level, and the edges of the bins.
        auto& plot = w.plot("spectrum");
        QVERIFY(count_row(image, plot.yAxis->coordToPixel(-40 + mean), series_colour(0)) > 100);
        QVERIFY(count_row(image, plot.yAxis->coordToPixel(-34), series_colour(1)) > 100);
        for (const double mhz : edges) {
            const int n =
                count_column(image, plot.xAxis->coordToPixel(mhz), QColor(0xa0, 0xa0, 0xa0));
            QVERIFY2(n > plot.axisRect()->height() / 8,
                     qPrintable(QStringLiteral("%1: %2").arg(mhz).arg(n)));
        }
        QVERIFY(legend_of(plot)->outerRect().bottom() < plot.yAxis->coordToPixel(-34));

        const auto lines = lines_of(v);
        QCOMPARE(lines.size(), 1 + fft_size);
        QCOMPARE(lines[0], QString("slot,frequency_mhz,dbfs,mean_dbfs,highest_dbfs"));
        QVERIFY2(lines[1].startsWith("3000,-3.84,-74,") && lines[1].endsWith(",-74"),
                 qPrintable(lines[1]));
        QVERIFY(lines[701].startsWith("3000,3.16,-74,") && lines[701].endsWith(",-20"));

        // Paused on what came after it: what is held is that of the visible window.
        w.window->axis().set_right(3000);
        w.window->axis().set_window(900);
        w.picture("spectrum");
        QCOMPARE(at(w.of("spectrum", "highest"), 700), -74.0);
        // The line is that at the cursor.
        w.window->axis().set_cursor(2860);
        w.picture("spectrum");
        QCOMPARE(at(w.of("spectrum", "one slot"), 384), -40.0);
        QVERIFY(v.words().startsWith("slot 2850,"));
    }

    void the_fader_has_its_levels_and_taps_or_is_not_there() {
        world w;
        auto& v = w.of("fader");
        w.picture("fader");
        QVERIFY(v.words().isEmpty() && v.csv().isEmpty());
        for (std::int64_t slot = 150; slot <= 15'000; slot += 150) {
            w.cell.say_slot(slot);
            w.cell.say_fader(slot, slot < 6000 ? -15 : -25);
        }
        QVERIFY(w.settle());
        const QImage image = w.picture("fader");
        const QString own =
            "delay 1.333 ms, clipped 3, lost 0, too late 0\nsounded -31.5 dB off (limit -25.0)";
        QCOMPARE(v.words(), own);
        QCOMPARE(w.of("fader", "input").data()->size(), 100);
        QCOMPARE(w.of("fader", "input").data()->at(0)->value, -15.0);
        QCOMPARE(w.of("fader", "input").data()->at(99)->value, -25.0);
        QCOMPARE(w.of("fader", "channel").data()->at(0)->value, -15.0);
        QCOMPARE(w.of("fader", "channel").data()->at(99)->value, -5.0);
        QVERIFY(count_row(image, w.plot("fader").yAxis->coordToPixel(-25), series_colour(0)) > 30);
        QVERIFY(count_row(image, w.plot("fader").yAxis->coordToPixel(-30), series_colour(1)) > 60);
        QCOMPARE(w.of<QCPBars>("fader", "base to terminal").data()->size(), 2);
        QCOMPARE(w.of<QCPBars>("fader", "base to terminal").data()->at(1)->value,
                 47.0);  // from -60 dB up
        QVERIFY(count(image, series_colour(2)) > 50);
        const auto lines = lines_of(v);
        QVERIFY(lines.contains("150,0.1,-15,-30,3,0,,,,,,,"));
        QCOMPARE(lines.last(), QString("15000,,,,,,1.78,-13,1,base,terminal,,"));
    }

    void an_attenuator_has_its_levels_with_a_fader_or_without() {
        world w;
        auto& v = w.of("fader");
        const QColor orange(0xa0, 0x30, 0x00);
        for (std::int64_t slot = 150; slot <= 15'000; slot += 150) {
            w.cell.say_slot(slot);
            w.cell.say_attenuator(slot, slot < 6000 ? 20 : 40.25);
        }
        QVERIFY(w.settle());
        QImage image = w.picture("fader");
        QCOMPARE(v.words(), QString("attenuator 1: 40.25 dB, 3: 50.25 dB\nplaying, step 1000 of "
                                    "3000, not there 0, late 0, ticks missed 0"));
        QCOMPARE(w.of("fader", "attenuator 1").data()->size(), 100);
        QCOMPARE(w.of("fader", "attenuator 1").data()->at(0)->value, -20.0);
        QCOMPARE(w.of("fader", "attenuator 3").data()->at(99)->value, -50.25);
        QVERIFY(w.of("fader", "attenuator 2").data()->isEmpty());
        for (const double level : {-20.0, -40.25})
            QVERIFY(count_row(image, w.plot("fader").yAxis->coordToPixel(level),
                              w.of("fader", "attenuator 1").pen().color()) > 30);
        QCOMPARE(count(image, orange), 0);
        QCOMPARE(lines_of(v).last(), QString("15000,10,,,,,,,,,,3,50.25"));
        w.cell.say_fader(15'000, -15, 0);
        w.cell.say_attenuator(15'000, 40.25, 2, 0.75);
        QVERIFY(w.settle());
        QVERIFY(count(w.picture("fader"), orange) > 10);
        QVERIFY(v.words().startsWith("delay 1.333 ms, "));
        QVERIFY(v.words().endsWith("not there 2, late 0, ticks missed 0, silent for 0.8 s"));
        QVERIFY(lines_of(v).contains("15000,10,,,,,,,,,,1,40.25"));
    }

    void of_a_fader_each_path_has_its_colour_its_name_and_its_rows() {
        world w;
        auto& v = w.of("fader");
        w.cell.say_slot(150);
        w.cell.say_fader(150, -15, 0, true);
        QVERIFY(w.settle());
        const QImage image = w.picture("fader");
        const auto taps = w.all_of<QCPBars>("fader");
        QCOMPARE(taps.size(), std::size_t{2});
        QCOMPARE(taps[0]->name(), QString("base to terminal"));
        QCOMPARE(taps[1]->name(), QString("terminal to base"));
        QCOMPARE(taps[0]->data()->size(), 2);
        QCOMPARE(taps[1]->data()->size(), 1);
        QVERIFY(taps[0]->brush().color() != taps[1]->brush().color());
        for (const auto* path : taps) QVERIFY(count(image, path->brush().color()) > 50);
        // Levels are those of the first path, though the way back is louder.
        QCOMPARE(w.of("fader", "input").data()->at(0)->value, -15.0);
        QCOMPARE(w.of("fader", "output").data()->at(0)->value, -30.0);
        QCOMPARE(lines_of(v).last(), QString("150,,,,,,2.78,-23,2,terminal,base,,"));
    }

    void the_sounding_through_the_radios_is_what_the_verdict_says_of_it() {
        world w;
        auto& v = w.of("fader");
        const QColor orange(0xa0, 0x30, 0x00);
        const auto says = [&](double residual_db, const char* why_not, int clipped, bool bad) {
            w.cell.say_slot(150);
            w.cell.say_fader(150, -15, clipped);
            w.cell.say_through_radios(150, residual_db, why_not);
            if (!w.settle()) return QString("nothing came");
            const bool is_bad = count(w.picture("fader"), orange) > 10;
            return is_bad == bad ? v.words().section('\n', 2) : QString("of another colour");
        };
        QCOMPARE(says(-28.94, "", 0, false),
                 "through the radios -28.9 dB off (limit -23.0), 7 of 8 bursts heard");
        QCOMPARE(says(-11.4, "", 0, true),
                 "through the radios -11.4 dB off (limit -23.0), 7 of 8 bursts heard");
        w.cell.say_fader(150, -15, 0, false, 2);
        QVERIFY(w.settle());
        QVERIFY(count(w.picture("fader"), orange) > 10);
        QVERIFY(v.words().startsWith(
            "delay 1.333 ms, clipped 0, lost 0, too late 0, silent 2 times\n"));
        QCOMPARE(
            says(-99, "impairments of a path", 0, false),
            "through the radios not measured, 7 of 8 bursts heard, not evaluated: impairments of "
            "a path");
    }

    void delay_injection_has_its_lines_or_is_not_there() {
        world w;
        auto& v = w.of("delay_injection");
        w.picture("delay_injection");
        QVERIFY(v.words().isEmpty() && v.csv().isEmpty());
        for (std::int64_t slot = 150; slot <= 15'000; slot += 150) {
            w.cell.say_slot(slot);
            w.cell.say_injection(slot, slot < 6000 ? 40 : 160);
        }
        QVERIFY(w.settle());
        const QImage image = w.picture("delay_injection");
        QCOMPARE(v.words(), QString("2 spikes, 10 of 50 held, 8.0 ms each"));
        QCOMPARE(w.of("delay_injection", "pdelay").data()->size(), 100);
        QCOMPARE(w.of("delay_injection", "pdelay").data()->at(0)->value, 40.0);
        QCOMPARE(w.of("delay_injection", "pdelay").data()->at(99)->value, 160.0);
        QCOMPARE(w.of("delay_injection", "D").data()->at(99)->value, 80.0);
        QCOMPARE(w.of("delay_injection", "held").data()->at(99)->value, 7.0);
        // Infinite before the first sample: not drawn.
        QCOMPARE(w.of("delay_injection", "threshold").data()->size(), 99);
        QVERIFY(count_row(image, w.plot("delay_injection").yAxis->coordToPixel(160),
                          series_colour(0)) > 30);
        QVERIFY(count_row(image, w.plot("delay_injection").yAxis->coordToPixel(43),
                          series_colour(1)) > 60);
        QVERIFY(lines_of(v).contains("15000,10,160,43,80,7"));
    }

    void a_bearer_has_its_window_and_what_it_sends_again_or_is_not_there() {
        world w;
        auto& v = w.of("bearer");
        w.picture("bearer");
        QVERIFY(v.words().isEmpty() && v.csv().isEmpty());
        for (std::int64_t slot = 150; slot <= 15'000; slot += 150)
            w.cell.say_bearer(slot, slot < 6000 ? 180 : 60);
        QVERIFY(w.settle());
        const QImage image = w.picture("bearer");
        QCOMPARE(v.words(),
                 QString("384 kbit/s, DCH; polls 10.0/s, status 10.0/s; dropped 0, resets 0"));
        QCOMPARE(w.of("bearer", "window").data()->size(), 100);
        QCOMPARE(w.of("bearer", "window").data()->at(0)->value, 180.0);
        QCOMPARE(w.of("bearer", "window").data()->at(99)->value, 60.0);
        QCOMPARE(w.of("bearer", "held").data()->at(50)->value, 12.0);
        QCOMPARE(w.of("bearer", "sent again/s").data()->at(50)->value, 50.0);
        QVERIFY(count_row(image, w.plot("bearer").yAxis->coordToPixel(60), series_colour(0)) > 30);
        QVERIFY(lines_of(v).contains("15000,10,60,12,500,100"));
    }

    void networks_have_their_rates_and_what_waits_or_are_not_there() {
        world w;
        auto& v = w.of("handover");
        w.picture("handover");
        QVERIFY(v.words().isEmpty() && v.csv().isEmpty());
        for (std::int64_t slot = 150; slot <= 7500; slot += 150) w.cell.say_networks(slot);
        QVERIFY(w.settle());
        QCOMPARE(v.words(), QString("WLAN to UMTS; 1 handovers, 1.0 s of them"));
        for (std::int64_t slot = 7650; slot <= 15'000; slot += 150) w.cell.say_networks(slot);
        QVERIFY(w.settle());
        const QImage image = w.picture("handover");
        QCOMPARE(v.words(), QString("UMTS; 1 handovers, 2.0 s of them"));
        const auto& rate = *w.of("handover", "rate").data();
        QCOMPARE(rate.size(), 100);
        QCOMPARE(rate.at(0)->value, 1000.0);
        QCOMPARE(rate.at(45)->value, 0.0);
        QCOMPARE(rate.at(99)->value, 384.0);
        QCOMPARE(w.of("handover", "waiting").data()->at(45)->value, 7.0);
        QVERIFY(count_row(image, w.plot("handover").yAxis->coordToPixel(1000), series_colour(0)) >
                30);
        QVERIFY(lines_of(v).contains("7500,5,1000,1,7"));
        QVERIFY(lines_of(v).contains("15000,10,384,0,0"));
    }

    void users_of_wcdma_cells_are_at_their_place_in_the_colours_of_sir_and_power() {
        using map = wcdma_canvas::map;
        world w;
        auto& v = w.of<wcdma_view>("wcdma");
        QVERIFY(dark(w.picture("wcdma")) > 100);  // the words that there are none
        QVERIFY(v.words().isEmpty() && v.csv().isEmpty());
        w.cell.say_wcdma(150, 5, 2);
        QVERIFY(w.settle());
        const QImage image = w.picture("wcdma");
        QCOMPARE(v.words(), QString("5 users: SIR 0.0 to 4.0 dB, power -60.0 to -20.0 dBW, 1 "
                                    "lost; 4 handovers"));
        const auto& canvas = v.canvas();
        // The median, and 2 dB to both sides of it.
        QCOMPARE(canvas.ends_of(map::sir)[0], 0.0);
        QCOMPARE(canvas.ends_of(map::sir)[1], 4.0);
        QCOMPARE(canvas.ends_of(map::power)[0], -60.0);
        QCOMPARE(canvas.ends_of(map::power)[1], -20.0);
        QCOMPARE(canvas.dots().size(), std::size_t{5});
        for (const map which : {map::sir, map::power}) {
            for (const auto& dot : canvas.dots()) {
                if (dot.lost) continue;  // its cross is over it
                const QPointF at = canvas.place_of(which, dot.x_m, dot.y_m);
                QCOMPARE(image.pixel(at.toPoint()), canvas.colour_of(which, dot) | 0xff000000u);
            }
            const QPoint last = canvas.place_of(which, 200, 0).toPoint();
            QVERIFY(count(image.copy(QRect(last - QPoint(7, 7), QSize(15, 15))), series_colour(1)) >
                    10);
        }
        // The first two are terminals: their frames are black.
        const auto frame_of = [&](double x_m) {
            const QPoint at = canvas.place_of(map::sir, x_m, 0).toPoint();
            return dark(image.copy(QRect(at - QPoint(8, 8), QSize(17, 17))));
        };
        QVERIFY(frame_of(50) > frame_of(150) + 10);
        const auto lines = lines_of(v);
        QCOMPARE(lines.size(), 6);
        QCOMPARE(lines[0], QString("slot,seconds,user,is_terminal,cell,x_m,y_m,sir_db,power_dbw,"
                                   "lost"));
        QCOMPARE(lines[2], QString("150,0.1,2,1,1,50,0,1,-30,0"));
        QCOMPARE(lines[5], QString("150,0.1,5,0,0,200,0,4,-60,1"));
        // All users stay when one terminal is chosen, which is then larger.
        w.shown->model().show_user(1);
        QVERIFY(dark(w.picture("wcdma")) > 100);
        QCOMPARE(canvas.dots().size(), std::size_t{5});
        QVERIFY(canvas.dots()[1].is_chosen && !canvas.dots()[0].is_chosen);
    }

    // The scale of the power keeps what it had, so that a colour means the same for a whole run.
    void users_without_a_place_or_a_cell_are_left_out_and_the_scale_of_power_grows_only() {
        world w;
        auto& v = w.of<wcdma_view>("wcdma");
        w.cell.say_wcdma(150, 3);
        QVERIFY(w.settle());
        w.picture("wcdma");
        QCOMPARE(v.canvas().ends_of(wcdma_canvas::map::power)[0], -40.0);
        scripted_cell::message m;
        m.set_slot(300);
        m.mutable_mac()->set_role("base");
        m.mutable_mac()->set_slot(300);
        auto& cells = *m.mutable_mac()->mutable_wcdma();
        cells.set_side_m(200);
        for (const double at : {0.0, 0.0, 346.0}) cells.add_sites_m(at);  // half a site
        for (const auto& [x, sir, cell] : std::vector<std::tuple<double, double, int>>{
                 {std::nan(""), 1, 0}, {1, INFINITY, 0}, {1, 1, 1}, {1, 1, -1}, {10, 2, 0}}) {
            auto& u = *cells.add_users();
            u.set_x_m(x);
            u.set_sir_db(sir);
            u.set_cell(cell);
            u.set_power_dbw(-75);
        }
        w.cell.publish("base", "status", m);
        QVERIFY(w.settle());
        w.picture("wcdma");
        QCOMPARE(v.canvas().dots().size(), std::size_t{1});
        QCOMPARE(lines_of(v).size(), 2);
        // One cell in place of seven: the scale begins anew.
        QCOMPARE(v.canvas().ends_of(wcdma_canvas::map::power)[0], -80.0);
        QCOMPARE(v.canvas().ends_of(wcdma_canvas::map::power)[1], -70.0);
        cells.mutable_users(4)->set_power_dbw(-15);
        m.set_slot(450);
        m.mutable_mac()->set_slot(450);
        w.cell.publish("base", "status", m);
        QVERIFY(w.settle());
        w.picture("wcdma");
        QCOMPARE(v.canvas().ends_of(wcdma_canvas::map::power)[0], -80.0);
        QCOMPARE(v.canvas().ends_of(wcdma_canvas::map::power)[1], -10.0);
        cells.set_side_m(std::nan(""));
        m.set_slot(600);
        m.mutable_mac()->set_slot(600);
        w.cell.publish("base", "status", m);
        QVERIFY(w.settle());
        QVERIFY(dark(w.picture("wcdma")) > 100);
        QVERIFY(v.canvas().dots().empty());
    }

    void where_there_is_no_spectrum_it_is_said_why() {
        world w;
        auto& v = w.of<spectrum_view>("spectrum");
        w.picture("spectrum");
        QCOMPARE(v.words(), QString("No spectrum: no receiver samples (topic receiver)"));
        QCOMPARE(lines_of(v).size(), 1);
        scripted_cell::message m;
        m.set_slot(150);
        m.mutable_receiver()->mutable_symbols_of_bin()->assign(nof_bins, '\1');
        m.mutable_receiver()->mutable_points()->assign(2 * nof_bins, '\1');
        w.cell.publish("terminal", "receiver", m);
        QVERIFY(w.settle());
        QVERIFY(dark(w.picture("spectrum")) > 100);
        QCOMPARE(v.words(), QString("No spectrum: an emulated cell has no samples"));
        for (int n = 0; n < 2 * nof_subcarriers; ++n) m.mutable_receiver()->add_channel(1);
        m.set_slot(300);
        w.cell.publish("terminal", "receiver", m);
        QVERIFY(w.settle());
        w.picture("spectrum");
        QCOMPARE(v.words(), QString("No spectrum: the receiver has sent none"));
        QVERIFY(w.of("spectrum", "one slot").data()->isEmpty());
    }
};

}  // namespace wip::gui

int main(int argc, char** argv) {
    return wip::gui::run_window_test<wip::gui::monitor_air_views_test>(argc, argv);
}

#include "test_monitor_air_views.moc"
