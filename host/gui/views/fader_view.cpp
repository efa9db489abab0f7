// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/fader_view.h"

#include <QTextStream>
#include <cmath>

#include "gui/plot/plot_help.h"

namespace wip::gui {
namespace {

constexpr double lowest_db = -60;  // of a tap, below 0 dB
constexpr double silent_dbfs = -60;
constexpr double samples_per_ms = static_cast<double>(sample_rate_hz) / 1000;

QString off(double residual_db, double limit_db) {
    return QStringLiteral("%1 dB off (limit %2)")
        .arg(residual_db, 0, 'f', 1)
        .arg(limit_db, 0, 'f', 1);
}

std::uint64_t too_late(const openwip::control::AirStatus& a) {
    return a.fader_radios().late() + a.fader_radios().underflows();
}

}  // namespace

fader_view::fader_view(const session_model& model, slot_axis& axis)
    : view("fader", "Fader",
           "A cabled cell's fader. Above: what it receives from the base station and sends to the "
           "terminal (dBFS; 0 is full scale), and what lies between (dB): the track of an "
           "attenuator, of shadowing, of a blackout. Below: the taps of its channel now (dB over "
           "us). "
           "The words: the channel as measured at the start, in the fader and through the radios "
           "(what is wrong over what is commanded). Orange: samples were lost or clipped, or the "
           "channel is not the commanded one.",
           model, axis) {
    plot_ = new time_plot(axis);
    plot_->setToolTip(help());
    plot_->yAxis->setLabel("dBFS, dB");
    plot_->yAxis->setRange(-70, 45);  // the words above full scale
    input_ = plot_->addGraph();
    input_->setName("input");
    input_->setPen(series_pen(0));
    output_ = plot_->addGraph();
    output_->setName("output");
    output_->setPen(series_pen(1));
    channel_ = plot_->addGraph();
    channel_->setName("channel");
    channel_->setPen(series_pen(3));
    channel_->setLineStyle(QCPGraph::lsStepLeft);
    auto* legend = small_legend(plot_, plot_->axisRect());
    for (auto* g : {input_, output_, channel_}) g->addToLegend(legend);
    auto* below = new QCPAxisRect(plot_);
    plot_->plotLayout()->addElement(1, 0, below);
    for (auto* a : below->axes()) {
        a->setLayer("axes");
        a->grid()->setLayer("grid");
    }
    auto* edges = new QCPMarginGroup(plot_);
    for (auto* rect : plot_->axisRects()) rect->setMarginGroup(QCP::msLeft | QCP::msRight, edges);
    below->axis(QCPAxis::atBottom)->setLabel("delay, us");
    below->axis(QCPAxis::atLeft)->setLabel("tap, dB");
    below->axis(QCPAxis::atLeft)->setRange(lowest_db, 20);
    taps_ = new QCPBars(below->axis(QCPAxis::atBottom), below->axis(QCPAxis::atLeft));
    taps_->setBaseValue(lowest_db);
    taps_->setPen(QPen(series_colour(2)));
    taps_->setBrush(series_colour(2));
    setWidget(plot_);
}

QString fader_view::words() const {
    const auto& a = model().air();
    if (a.delay_samples() == 0) return {};
    QString text = QStringLiteral("delay %1 ms, clipped %2, lost %3, too late %4")
                       .arg(static_cast<double>(a.delay_samples()) / samples_per_ms, 0, 'f', 3)
                       .arg(a.clipped())
                       .arg(a.lost_samples())
                       .arg(too_late(a));
    for (const auto& s : a.soundings())
        text += s.not_judged().empty() ? "\nsounded " + off(s.residual_db(), s.limit_db())
                                       : QStringLiteral("\nnot sounded");
    if (!model().verdict().has_through_radios()) return text;
    const auto& t = model().verdict().through_radios();
    text += QStringLiteral("\nthrough the radios ");
    text +=
        t.has_residual_db() ? off(t.residual_db(), t.limit_db()) : QStringLiteral("not measured");
    text += QStringLiteral(", %1 of %2 bursts heard").arg(t.heard()).arg(t.bursts());
    if (!t.not_judged().empty()) text += ", not judged: " + QString::fromStdString(t.not_judged());
    return text;
}

void fader_view::refresh(bool) {
    const auto& a = model().air();
    const bool is_there = a.delay_samples() != 0;
    plot_->say(is_there ? QString() : "No fader: the channel is in the medium (demo --air cabled)");
    bool bad = a.clipped() + a.lost_samples() + too_late(a) != 0;
    for (const auto& s : a.soundings())
        bad |= s.not_judged().empty() && s.residual_db() > s.limit_db();
    bad |= model().verdict().through_radios().wrong();
    plot_->note(words(), bad);
    QVector<QCPGraphData> in, out, channel;
    for (const auto& p : model().fader_points().between(axis().left(), axis().right())) {
        const double x = plot_->x_of(static_cast<double>(p.slot));
        if (std::isfinite(p.input_dbfs)) in.append({x, p.input_dbfs});
        if (std::isfinite(p.output_dbfs)) out.append({x, p.output_dbfs});
        // Without a signal there is nothing between two levels.
        if (p.input_dbfs > silent_dbfs && std::isfinite(p.output_dbfs))
            channel.append({x, p.output_dbfs - p.input_dbfs});
    }
    channel_->data()->set(channel, true);
    input_->data()->set(in, true);
    output_->data()->set(out, true);
    QVector<double> delays, gains;
    double longest = 1;
    if (is_there)
        for (const auto& path : a.fader_paths())
            for (int i = 0; i < std::min(path.tap_delay_us_size(), path.tap_gain_db_size()); ++i) {
                delays.append(path.tap_delay_us(i));
                gains.append(
                    std::max(path.tap_gain_db(i) - lowest_db, 0.0));  // of a bar: its length
                longest = std::max(longest, path.tap_delay_us(i));
            }
    taps_->setData(delays, gains);
    taps_->setWidth(0.02 * longest);
    plot_->axisRect(1)->axis(QCPAxis::atBottom)->setRange(0, 1.2 * longest);
    plot_->redraw_all();
}

QString fader_view::csv() const {
    if (model().air().delay_samples() == 0) return {};
    QString text;
    QTextStream out(&text);
    // First the levels, then the taps that are commanded now.
    out << "slot,seconds,input_dbfs,output_dbfs,clipped,lost_samples,tap_delay_us,tap_gain_db,tap_"
           "phase\n";
    for (const auto& p : model().fader_points().between(axis().left(), axis().right()))
        out << p.slot << ',' << seconds_of(static_cast<double>(p.slot)) << ',' << p.input_dbfs
            << ',' << p.output_dbfs << ',' << p.clipped << ',' << p.lost_samples << ",,,\n";
    for (const auto& path : model().air().fader_paths())
        for (int i = 0; i < std::min({path.tap_delay_us_size(), path.tap_gain_db_size(),
                                      path.tap_phase_size()});
             ++i)
            out << model().newest_slot() << ",,,,,," << path.tap_delay_us(i) << ','
                << path.tap_gain_db(i) << ',' << path.tap_phase(i) << '\n';
    return text;
}

}  // namespace wip::gui
