// SPDX-License-Identifier: GPL-3.0-or-later
// Frames of the visible window counted by modulation, or by how often they were sent again. The
// base station counts every frame of a run; the window is the difference of two of its statuses.
#include <numeric>

#include "gui/plot/plot_help.h"
#include "gui/views/views.h"

namespace wip::gui {
namespace {

constexpr double least_percent = 0.01;  // lower end of the logarithmic axis

class histogram_view : public view {
public:
    enum class kind { modulation, retransmissions };
    histogram_view(kind shown, const session_model& model, slot_axis& axis)
        : view(shown == kind::modulation ? "modulation_histogram" : "arq_histogram",
               shown == kind::modulation ? "Modulation histogram" : "ARQ histogram",
               shown == kind::modulation
                   ? "Frames sent in the visible window by modulation (% of frames)."
                   : "Frames acknowledged in the visible window by the number of their "
                     "retransmissions (% of frames, logarithmic).",
               model, axis),
          kind_(shown) {
        bars_->setPen(Qt::NoPen);
        bars_->setBrush(series_colour(kind_ == kind::modulation ? 0 : 1));
        bars_->setWidth(0.8);
        plot_->yAxis->setLabel("% of frames");
        plot_->xAxis->grid()->setVisible(false);
        if (kind_ == kind::modulation) {
            auto names = QSharedPointer<QCPAxisTickerText>::create();
            for (int b = 1; b <= 8; ++b) names->addTick(b, modulation_name(b));
            plot_->xAxis->setTicker(names);
            // Names end at their bar: one that would stick out at the right is not drawn at all.
            plot_->xAxis->setTickLabelRotation(-30);
            plot_->xAxis->setRange(0.4, 8.6);
            plot_->yAxis->setRange(0, 100);
        } else {
            plot_->xAxis->setLabel("retransmissions");
            auto whole = QSharedPointer<QCPAxisTickerFixed>::create();
            whole->setTickStep(1);
            whole->setScaleStrategy(QCPAxisTickerFixed::ssMultiples);
            plot_->xAxis->setTicker(whole);
            plot_->xAxis->setSubTicks(false);
            plot_->xAxis->setRange(-0.6, 6.6);
            make_logarithmic(plot_->yAxis);
            plot_->yAxis->setRange(least_percent, 130);
            bars_->setBaseValue(least_percent);
        }
        setWidget(plot_);
    }
    int frames_per_second() const override { return 4; }

    void refresh(bool) override {
        const auto n = counts();
        const double all = std::accumulate(n.begin(), n.end(), 0.0);
        QVector<QCPBarsData> shares;
        double last = 6;
        for (std::size_t i = 0; i < n.size(); ++i) {
            if (n[i] <= 0) continue;
            last = std::max(last, static_cast<double>(i));
            const double percent = 100 * n[i] / all;
            // One below the end of the logarithmic axis would be a line on it.
            if (kind_ == kind::modulation || percent >= least_percent)
                shares.append({static_cast<double>(i), percent});
        }
        bars_->data()->set(shares, true);
        if (kind_ == kind::retransmissions) plot_->xAxis->setRange(-0.6, last + 0.6);
        title_->setText(all > 0 ? QStringLiteral("%L1 frames").arg(all, 0, 'f', 0)
                                : QStringLiteral("no frames in this window"));
        plot_->replot(QCustomPlot::rpImmediateRefresh);
    }

    QString csv() const override {
        QString text;
        QTextStream out(&text);
        out << (kind_ == kind::modulation ? "bits_per_symbol,frames\n"
                                          : "retransmissions,frames\n");
        const auto n = counts();
        for (std::size_t i = 0; i < n.size(); ++i) out << i << ',' << n[i] << '\n';
        return text;
    }

private:
    // Frames in the window: by bits per symbol 0..8, or by retransmissions 0..30.
    std::vector<double> counts() const {
        const auto window = visible(model().base_points());
        std::vector<double> n(kind_ == kind::modulation ? 9 : 31, 0);
        if (window.empty()) return n;
        const base_point zero;
        const base_point* from = model().base_points().last_before(axis().left());
        const base_point& last = *std::prev(window.end());
        // Started in this window: everything counts. Joined in its middle: from the first status
        // on.
        if (from == nullptr)
            from = window.first->slot <= slots_per_second / 5 ? &zero : &*window.first;
        for (std::size_t i = 0; i < n.size(); ++i)
            n[i] = kind_ == kind::modulation ? static_cast<double>(last.modulation[i]) -
                                                   static_cast<double>(from->modulation[i])
                                             : static_cast<double>(last.retransmissions[i]) -
                                                   static_cast<double>(from->retransmissions[i]);
        if (kind_ == kind::modulation) n[0] = 0;
        return n;
    }

    const kind kind_;
    QCustomPlot* plot_ = plain_plot(help(), {140, 90});
    QCPBars* bars_ = new QCPBars(plot_->xAxis, plot_->yAxis);
    QCPItemText* title_ = add_words(plot_, 0.98, 0.02, Qt::AlignRight | Qt::AlignTop);
};

}  // namespace

view* make_modulation_histogram(const session_model& model, slot_axis& axis) {
    return new histogram_view(histogram_view::kind::modulation, model, axis);
}

view* make_retransmission_histogram(const session_model& model, slot_axis& axis) {
    return new histogram_view(histogram_view::kind::retransmissions, model, axis);
}

}  // namespace wip::gui
