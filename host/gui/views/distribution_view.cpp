// SPDX-License-Identifier: GPL-3.0-or-later
// Distribution of the packet delay and of its parts in the visible window: share of packets that
// took longer, over logarithmic axes, where the tail can be read.
#include <array>

#include "gui/model/meaning.h"
#include "gui/plot/plot_help.h"
#include "gui/views/views.h"

namespace wip::gui {
namespace {

constexpr double shortest_ms = 0.1, least_percent = 0.01;
constexpr int steps = 200;  // points of the model's curve

class distribution_view : public view {
public:
    distribution_view(const session_model& model, slot_axis& axis)
        : view("delay_distribution", "Delay distribution",
               "Share of the packets in the visible window whose delay, or whose part of the "
               "delay, was longer than x ms; black: the total. Both axes logarithmic. Shown with "
               "the verdict only.",
               model, axis) {
        for (auto* a : {plot_->xAxis, plot_->yAxis}) make_logarithmic(a);
        plot_->xAxis->setLabel("delay, ms");
        plot_->yAxis->setLabel("% longer than x");
        plot_->xAxis->setRange(shortest_ms, 1000);
        plot_->yAxis->setRange(least_percent, 100);
        // The legend is beside the curves and not on them, since their tail may be in any corner of
        // the plot.
        legend_->setWrap(1);
        plot_->axisRect()->insetLayout()->take(legend_);
        plot_->plotLayout()->addElement(0, 1, legend_);
        plot_->plotLayout()->setColumnStretchFactor(1, 0.001);
        // Nor on the words above and below them, which reach into its column.
        legend_->setBrush(Qt::NoBrush);
        for (std::size_t i = 0; i < lines_.size(); ++i) {
            lines_[i] =
                i < 5 ? add_line(plot_, delay_parts[i].name, series_pen(delay_parts[i].colour, 1.4))
                      : add_line(plot_, "total", QPen(Qt::black, 2));
            lines_[i]->setLineStyle(QCPGraph::lsStepRight);
            lines_[i]->addToLegend(legend_);
        }
        title_->setClipToAxisRect(false);
        title_->setTextAlignment(Qt::AlignLeft);
        setWidget(plot_);
    }
    int frames_per_second() const override { return 2; }
    QString words() const override { return title_->text(); }

    void refresh(bool) override {
        const QString verdict = verdict_text();
        int dropped = 0;
        const auto all = sorted_parts(dropped);
        const bool show = !verdict.isEmpty() && !all[5].empty();
        double longest = 10;
        for (std::size_t i = 0; i < all.size(); ++i) {
            line_points line;
            const auto n = static_cast<double>(all[i].size());
            if (show) longest = std::max<double>(longest, static_cast<double>(all[i].back()));
            for (int k = 0; show && k <= steps; ++k) {
                const double x = shortest_ms * std::pow(longest / shortest_ms, double(k) / steps);
                const auto longer =
                    all[i].end() - std::ranges::upper_bound(all[i], static_cast<float>(x));
                line.append({x, 100 * static_cast<double>(longer) / n});
            }
            lines_[i]->data()->set(line, true);
        }
        plot_->xAxis->setRangeUpper(std::pow(10, std::ceil(std::log10(longest))));
        if (verdict.isEmpty())
            title_->setText("No verdict yet: delays are not shown");
        else if (!show)
            title_->setText("No packet records in this window");
        else
            title_->setText(
                QStringLiteral(
                    "%1\n%L2 packets, %3 dropped\nmedian %4 ms, 99 % %5 ms, longest %6 ms")
                    .arg(verdict)
                    .arg(all[5].size())
                    .arg(dropped)
                    .arg(quantile(all[5], 0.5), 0, 'f', 2)
                    .arg(quantile(all[5], 0.99), 0, 'f', 2)
                    .arg(all[5].back(), 0, 'f', 2));
        const int lines = 1 + static_cast<int>(title_->text().count('\n'));
        const int above = lines * QFontMetrics(title_->font()).height() + 4;
        // The last number of the axis is as wide to the right of its end as to the left.
        const int beyond =
            QFontMetrics(plot_->xAxis->tickLabelFont()).horizontalAdvance("10000") / 2;
        plot_->axisRect()->setMinimumMargins(QMargins(0, above, beyond, 0));
        legend_->setMargins(QMargins(4, above, 4, 1));
        plot_->replot(QCustomPlot::rpImmediateRefresh);
    }

    QString csv() const override {
        QString text;
        QTextStream out(&text);
        out << "percentile";
        for (const auto& p : delay_parts) out << ',' << p.name << "_ms";
        out << ",total_ms,verdict\n";
        const QString verdict = verdict_word();
        int dropped = 0;
        const auto all = sorted_parts(dropped);
        if (all[5].empty() || verdict.isEmpty()) return text;
        for (int k = 0; k <= 1000; ++k) {
            out << k / 10.0;
            for (const auto& v : all) out << ',' << quantile(v, k / 1000.0);
            out << ',' << verdict << '\n';
        }
        return text;
    }

private:
    // Sorted; part 5 is the total.
    std::array<std::vector<float>, 6> sorted_parts(int& dropped) const {
        std::array<std::vector<float>, 6> all;
        dropped = 0;
        for (const auto& p : visible(model().packets())) {
            if (!model().shows(p.user)) continue;
            if (p.dropped != 0) {
                ++dropped;
                continue;
            }
            for (std::size_t i = 0; i < 5; ++i) all[i].push_back(p.part_ms[i]);
            all[5].push_back(p.total_ms);
        }
        for (auto& v : all) std::ranges::sort(v);
        return all;
    }

    QCustomPlot* plot_ = plain_plot(help(), {140, 90});
    std::array<QCPGraph*, 6> lines_{};
    QCPItemText* title_ = add_words(plot_, 0, -0.01, Qt::AlignLeft | Qt::AlignBottom);
    QCPLegend* legend_ = small_legend(plot_, plot_->axisRect());
};

}  // namespace

view* make_distribution_view(const session_model& model, slot_axis& axis) {
    return new distribution_view(model, axis);
}

}  // namespace wip::gui
