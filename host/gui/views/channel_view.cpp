// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/channel_view.h"

#include <array>
#include <numbers>

#include "gui/plot/plot_help.h"
#include "types/db.h"

namespace wip::gui {
namespace {

constexpr db lowest{-120};

double to_db(double power) {
    return power > 0 ? std::max(lowest, db::from_power(power)).value : lowest.value;
}

// The share of the upper picture above the curves, which the line of text takes.
constexpr double text_share = 0.3;

// Both ends in steps of 10 dB; true when they moved.
bool fit(QCPAxis* axis, db low, db high) {
    const QCPRange wanted(10 * std::floor(low.value / 10), 10 * std::ceil((high.value + 1) / 10));
    if (axis->range().lower == wanted.lower && axis->range().upper == wanted.upper) return false;
    axis->setRange(wanted);
    return true;
}

}  // namespace

channel_view::channel_view(const session_model& model, slot_axis& axis)
    : view("channel", "Channel",
           "Channel estimate of one slot (at the cursor, or the newest). Above: magnitude over "
           "frequency (dB), "
           "orange: noise in each bin. Below: impulse response, one peak for each path (dB over "
           "us).",
           model, axis) {
    plot_ = plain_plot(help(), {160, 170});
    plot_->layer("main")->setMode(QCPLayer::lmBuffered);
    plot_->xAxis->setLabel("frequency, kHz from the carrier");
    plot_->xAxis->setRange(-2500, 2500);
    plot_->yAxis->setLabel("|H|, dB");
    plot_->yAxis->setRange(-40, 10);
    magnitude_ = add_line(plot_, "|H|", series_pen(0));
    noise_ = add_line(plot_, "noise", series_pen(1));
    noise_->setLineStyle(QCPGraph::lsStepCenter);
    small_legend(plot_, plot_->axisRect(), {magnitude_, noise_});
    auto* below = add_rect_below(plot_);
    line_up(plot_);
    auto* x = below->axis(QCPAxis::atBottom);
    auto* y = below->axis(QCPAxis::atLeft);
    x->setLabel("delay, us");
    y->setLabel("|h|, dB");
    x->setRange(first_us, delay_us(nof_delays - 1));
    y->setRange(-60, 0);
    impulse_ = add_line(plot_, "|h|", series_pen(2), y);
    title_ = add_words(plot_, 0.01, 0.02, Qt::AlignLeft | Qt::AlignTop);
    title_->setLayer("main");
    title_->setText("No channel estimate (topic receiver)");
    setWidget(plot_);
}

double channel_view::frequency_khz(int n) {
    return (n < nof_subcarriers / 2 ? n - nof_subcarriers / 2 : n - nof_subcarriers / 2 + 1) *
           subcarrier_spacing_hz / 1000;
}

std::vector<double> channel_view::magnitude_db(const openwip::telemetry::ReceiverSample& s) {
    std::vector<double> all;
    for (int n = 0; n + 1 < s.channel_size(); n += 2)
        all.push_back(
            to_db(static_cast<double>(s.channel(n)) * static_cast<double>(s.channel(n)) +
                  static_cast<double>(s.channel(n + 1)) * static_cast<double>(s.channel(n + 1))));
    return all;
}

std::vector<double> channel_view::impulse_db(const openwip::telemetry::ReceiverSample& s) {
    std::vector<double> all;
    if (s.channel_size() != 2 * nof_subcarriers) return all;
    std::array<double, nof_subcarriers> real{}, imaginary{};
    for (std::size_t n = 0; n < nof_subcarriers; ++n) {
        const double hann = (1 - std::cos(2 * std::numbers::pi * (static_cast<double>(n) + 0.5) /
                                          nof_subcarriers)) /
                            nof_subcarriers;
        real[n] = hann * static_cast<double>(s.channel(static_cast<int>(2 * n)));
        imaginary[n] = hann * static_cast<double>(s.channel(static_cast<int>(2 * n + 1)));
    }
    // The sum is of real numbers, because a product of std::complex looks for infinities, which
    // costs more than the product.
    for (int k = 0; k < nof_delays; ++k) {
        const double turn = 2 * std::numbers::pi * subcarrier_spacing_hz * delay_us(k) * 1e-6;
        const double c = std::cos(turn), d = std::sin(turn);
        double cosine = std::cos(turn * (-nof_subcarriers / 2));
        double sine = std::sin(turn * (-nof_subcarriers / 2));
        const auto next = [&] {
            const double was = cosine;
            cosine = was * c - sine * d;
            sine = was * d + sine * c;
        };
        double sum_real = 0, sum_imaginary = 0;
        for (std::size_t n = 0; n < nof_subcarriers; ++n) {
            if (n == nof_subcarriers / 2) next();  // skips the empty DC subcarrier
            sum_real += real[n] * cosine - imaginary[n] * sine;
            sum_imaginary += real[n] * sine + imaginary[n] * cosine;
            next();
        }
        all.push_back(to_db(sum_real * sum_real + sum_imaginary * sum_imaginary));
    }
    return all;
}

void channel_view::refresh(bool all) {
    const receiver_point* p = receiver_sample();
    const std::int64_t newest = p == nullptr ? -1 : p->slot;
    if (newest == seen_ && !all) return;
    seen_ = newest;
    line_points magnitude, noise, impulse;
    bool moved = false;
    if (p != nullptr && p->sample.channel_size() > 0) {
        const auto m = magnitude_db(p->sample);
        for (std::size_t n = 0; n < m.size(); ++n)
            magnitude.append({frequency_khz(static_cast<int>(n)), m[n]});
        double low = *std::ranges::min_element(m);
        const double high = *std::ranges::max_element(m);
        for (int b = 0; b < p->sample.noise_dbfs_size() && b < nof_bins; ++b) {
            const double level = static_cast<double>(p->sample.noise_dbfs(b));
            if (!std::isfinite(level)) continue;
            noise.append({-2400.0 + 200.0 * b, level});
            low = std::min(low, level);
        }
        const auto h = impulse_db(p->sample);
        for (std::size_t k = 0; k < h.size(); ++k)
            impulse.append({delay_us(static_cast<int>(k)), h[k]});
        const double peak = *std::ranges::max_element(h);
        // the axis begins at a multiple of 10 dB
        low = 10 * std::floor(std::max(low, high - 80) / 10);
        moved = fit(plot_->yAxis, db(low), db((high - text_share * low) / (1 - text_share))) |
                static_cast<int>(
                    fit(plot_->axisRect(1)->axis(QCPAxis::atLeft), db(peak - 55), db(peak)));
        QString text = QStringLiteral("slot %1").arg(p->slot);
        if (model().users_seen() > 1) text += ", " + terminal_name(static_cast<int>(p->user));
        title_->setText(text);
    } else {
        title_->setText("No channel estimate (topic receiver)");
    }
    magnitude_->data()->set(magnitude, true);
    noise_->data()->set(noise, true);
    impulse_->data()->set(impulse, true);
    draw(plot_, moved || all);
}

QString channel_view::csv() const {
    QString text;
    const receiver_point* p = receiver_sample();
    if (p == nullptr) return text;
    QTextStream out(&text);
    // First the upper picture, a line for each subcarrier, then the lower one, a line for each
    // delay.
    out << "slot,frequency_khz,real,imaginary,magnitude_db,noise_dbfs,delay_us,impulse_db\n";
    const auto& s = p->sample;
    const auto m = magnitude_db(s);
    for (int n = 0; n < static_cast<int>(m.size()); ++n) {
        out << p->slot << ',' << frequency_khz(n) << ',' << s.channel(2 * n) << ','
            << s.channel(2 * n + 1) << ',' << m[static_cast<std::size_t>(n)] << ',';
        const int bin = n / (nof_subcarriers / nof_bins);
        if (bin < s.noise_dbfs_size() && std::isfinite(s.noise_dbfs(bin))) out << s.noise_dbfs(bin);
        out << ",,\n";
    }
    const auto h = impulse_db(s);
    for (int k = 0; k < static_cast<int>(h.size()); ++k)
        out << p->slot << ",,,,,," << delay_us(k) << ',' << h[static_cast<std::size_t>(k)] << '\n';
    return text;
}

}  // namespace wip::gui
