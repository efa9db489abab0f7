// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/spectrum_view.h"

#include "gui/plot/plot_help.h"
#include "types/db.h"

namespace wip::gui {
namespace {

// Above the curves, of the picture: for the text and the legend there.
constexpr double text_share = 0.2;

bool has_spectrum(const receiver_point& p) { return p.sample.spectrum_dbfs_size() == fft_size; }

}  // namespace

spectrum_view::spectrum_view(const session_model& model, slot_axis& axis)
    : view(
          "spectrum", "Spectrum",
          "Power of the received samples over frequency, in 20 kHz around each point; 0 dBFS: a "
          "tone of amplitude 1. Grey: one slot (at the cursor, or the newest). Blue: mean power of "
          "the last 30. Orange: the highest of all in the visible window. Dotted: edges of the "
          "bins, numbered above.",
          model, axis) {
    plot_ = plain_plot(help(), {160, 120});
    plot_->layer("main")->setMode(QCPLayer::lmBuffered);
    plot_->xAxis->setLabel("frequency, MHz from the carrier");
    plot_->xAxis->setRange(frequency_mhz(0), -frequency_mhz(0));
    plot_->yAxis->setLabel("dBFS in 20 kHz");
    plot_->yAxis->setRange(-100, 0);
    const auto edges = edges_mhz();
    QSharedPointer<QCPAxisTickerText> bins(new QCPAxisTickerText);
    for (std::size_t b = 0; b < nof_bins; b += 4)
        bins->addTick((edges[b] + edges[b + 1]) / 2, QString::number(b));
    plot_->xAxis2->setTicker(bins);
    plot_->xAxis2->setRange(plot_->xAxis->range());
    plot_->xAxis2->setVisible(true);
    for (const double mhz : edges) {
        auto* line = new QCPItemStraightLine(plot_);
        line->setLayer("grid");
        line->setPen(QPen(QColor(0xa0, 0xa0, 0xa0), 1, Qt::DotLine));
        line->point1->setCoords(mhz, 0);
        line->point2->setCoords(mhz, 1);
    }
    newest_ = add_line(plot_, "one slot", QPen(QColor(0xb4, 0xb4, 0xb4), 1));
    highest_ = add_line(plot_, "highest", series_pen(1, 1));
    mean_ = add_line(plot_, "mean", series_pen(0));
    small_legend(plot_, plot_->axisRect(), {newest_, mean_, highest_});
    title_ = add_words(plot_, 0.01, 0.02, Qt::AlignLeft | Qt::AlignTop);
    title_->setLayer("main");
    title_->setText(why_none());
    setWidget(plot_);
}

std::vector<double> spectrum_view::edges_mhz() {
    std::vector<double> edges;
    constexpr int of_bin = nof_subcarriers / nof_bins;
    for (int b = 0; b <= nof_bins; ++b) {
        const double below = b * of_bin - nof_subcarriers / 2 - 0.5;  // DC belongs to no bin
        edges.push_back((b <= nof_bins / 2 ? below : below + 1) * subcarrier_spacing_hz * 1e-6);
    }
    return edges;
}

spectrum_view::curves spectrum_view::shown() const {
    curves found;
    const auto& points = model().receiver_points();
    const auto before = points.between(0, axis().cursor().value_or(axis().right()));
    for (auto i = before.end(); i != before.begin() && found.samples < most_samples;) {
        const receiver_point& p = *--i;
        if (!has_spectrum(p)) continue;
        if (found.samples++ == 0) {
            found.slot = p.slot;
            found.newest.assign(p.sample.spectrum_dbfs().begin(), p.sample.spectrum_dbfs().end());
            found.mean.assign(fft_size, 0);
        }
        for (int n = 0; n < fft_size; ++n)
            found.mean[static_cast<std::size_t>(n)] += dbfs(p.sample.spectrum_dbfs(n)).power();
    }
    if (found.samples == 0) return found;
    for (double& power : found.mean) power = db::from_power(power / found.samples).value;
    found.highest = found.newest;
    for (const auto& p : visible(points)) {
        if (!has_spectrum(p)) continue;
        for (int n = 0; n < fft_size; ++n) {
            double& most = found.highest[static_cast<std::size_t>(n)];
            most = std::max(most, static_cast<double>(p.sample.spectrum_dbfs(n)));
        }
    }
    return found;
}

QString spectrum_view::why_none() const {
    const receiver_point* p = receiver_sample();
    if (p == nullptr) return "No spectrum: no receiver samples (topic receiver)";
    // Symbols without the channel that they came through.
    const bool emulated = p->sample.channel_size() == 0 && !p->sample.points().empty();
    return emulated ? "No spectrum: an emulated cell has no samples"
                    : "No spectrum: the receiver has sent none";
}

void spectrum_view::refresh(bool all) {
    const auto set = [](QCPGraph* graph, const std::vector<double>& values) {
        line_points line;
        for (std::size_t n = 0; n < values.size(); ++n)
            line.append({frequency_mhz(static_cast<int>(n)), values[n]});
        graph->data()->set(line, true);
    };
    const receiver_point* last = receiver_sample();
    const std::int64_t newest = last == nullptr ? -1 : last->slot;
    if (newest == seen_ && !all) return;
    seen_ = newest;
    const curves c = shown();
    set(newest_, c.newest);
    set(mean_, c.mean);
    set(highest_, c.highest);
    bool moved = false;
    if (c.slot < 0) {
        title_->setText(why_none());
    } else {
        title_->setText(QStringLiteral("slot %1, mean of %2").arg(c.slot).arg(c.samples));
        // The range changes in steps of 10 dB, so that the axis stands still.
        const double low = 10 * std::floor(*std::ranges::min_element(c.mean) / 10 - 0.5);
        const double high = *std::ranges::max_element(c.highest);
        const QCPRange wanted(low,
                              10 * std::ceil((high - text_share * low) / (1 - text_share) / 10));
        moved = plot_->yAxis->range() != wanted;
        plot_->yAxis->setRange(wanted);
    }
    draw(plot_, moved || all);
}

QString spectrum_view::csv() const {
    const curves c = shown();
    QString text;
    QTextStream out(&text);
    out << "slot,frequency_mhz,dbfs,mean_dbfs,highest_dbfs\n";
    for (std::size_t n = 0; n < c.newest.size(); ++n)
        out << c.slot << ',' << frequency_mhz(static_cast<int>(n)) << ',' << c.newest[n] << ','
            << c.mean[n] << ',' << c.highest[n] << '\n';
    return text;
}

}  // namespace wip::gui
