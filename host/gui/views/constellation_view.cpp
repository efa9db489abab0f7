// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/constellation_view.h"

#include <QPainter>
#include <QTextStream>
#include <cmath>

#include "gui/plot/colour_map.h"

namespace wip::gui {
namespace {

// Calls f(bits, i, q) for every symbol of a sample.
template <typename F>
void for_each_point(const openwip::telemetry::ReceiverSample& s, F f) {
    if (s.symbols_of_bin().size() != nof_bins || s.bits_per_symbol().size() != nof_bins) return;
    std::size_t at = 0;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const int bits = static_cast<std::uint8_t>(s.bits_per_symbol()[b]);
        for (int k = 0; k < static_cast<std::uint8_t>(s.symbols_of_bin()[b]); ++k, at += 2)
            if (bits >= 1 && bits <= 8)
                f(bits, static_cast<signed char>(s.points()[at]),
                  static_cast<signed char>(s.points()[at + 1]));
    }
}

}  // namespace

constellation_canvas::constellation_canvas(QWidget* parent) : QWidget(parent) {
    setMinimumSize(200, 100);
    for (auto& p : planes_) p.image = QImage(side, side, QImage::Format_RGB32);
    finish();
}

void constellation_canvas::finish() {
    for (auto& p : planes_) {
        std::uint32_t most = 1;
        for (const auto n : p.hits) most = std::max(most, n);
        const double scale = 1 / std::log1p(most);
        for (int y = 0; y < side; ++y) {
            auto* line = reinterpret_cast<QRgb*>(p.image.scanLine(y));
            for (int x = 0; x < side; ++x) {
                const auto n = p.hits[static_cast<std::size_t>(y * side + x)];
                // Empty places white: on a projector a dark plane hides single points.
                line[x] = n == 0 ? 0xffffffffu
                                 : colour_at(colour_map::viridis, 1 - 0.95 * std::log1p(n) * scale,
                                             0, 1.15);
            }
        }
    }
    update();
}

void constellation_canvas::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), Qt::white);
    std::vector<int> used;
    for (int bits = 1; bits <= 8; ++bits)
        if (planes_[static_cast<std::size_t>(bits)].points > 0) used.push_back(bits);
    if (used.empty()) {
        painter.setPen(QColor(0x50, 0x50, 0x50));
        painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap, message_);
        return;
    }
    // There are as many columns as make the squares largest.
    const int title = painter.fontMetrics().height() + 2;
    const int n = static_cast<int>(used.size());
    int columns = 1, size = 0;
    for (int c = 1; c <= n; ++c) {
        const int rows = (n + c - 1) / c;
        const int s = std::min(width() / c - 6, height() / rows - title - 4);
        if (s > size) size = s, columns = c;
    }
    if (size < 8) return;
    for (int k = 0; k < n; ++k) {
        const plane& p = planes_[static_cast<std::size_t>(used[static_cast<std::size_t>(k)])];
        const QRect cell(k % columns * (width() / columns) + 3,
                         k / columns * (height() / ((n + columns - 1) / columns)), size,
                         size + title);
        const QRect square(cell.left(), cell.top() + title, size, size);
        painter.setPen(Qt::black);
        const QString name = modulation_name(used[static_cast<std::size_t>(k)]);
        const QString counted = QStringLiteral("%1, %L2 symbols").arg(name).arg(p.points);
        const bool fits = painter.fontMetrics().horizontalAdvance(counted) <= width() / columns - 6;
        painter.drawText(QRect(cell.left(), cell.top(), width() / columns - 4, title),
                         Qt::AlignLeft | Qt::AlignVCenter, fits ? counted : name);
        painter.drawImage(square, p.image);
        painter.setPen(QColor(0xc8, 0xc8, 0xc8));
        painter.drawLine(square.center().x(), square.top(), square.center().x(), square.bottom());
        painter.drawLine(square.left(), square.center().y(), square.right(), square.center().y());
        painter.setPen(Qt::darkGray);
        painter.drawRect(square.adjusted(0, 0, -1, -1));
    }
}

constellation_view::constellation_view(const session_model& model, slot_axis& axis)
    : view("constellation", "Constellation",
           "Equalised payload symbols of the last 30 receiver samples, by modulation; axes from -2 "
           "to +2 roots "
           "of the mean symbol energy. Dark: hit often. Small dots: good; clouds that touch: "
           "errors.",
           model, axis) {
    canvas_ = new constellation_canvas;
    canvas_->setToolTip(help());
    canvas_->set_message("No symbols (topic receiver)");
    setWidget(canvas_);
}

std::vector<const receiver_point*> constellation_view::samples() const {
    std::vector<const receiver_point*> found;
    const double at = axis().cursor().value_or(axis().right());
    const auto all = model().receiver_points().between(0, at);
    for (auto i = all.end(); i != all.begin() && found.size() < most_samples;)
        found.push_back(&*--i);
    return found;
}

void constellation_view::refresh(bool all) {
    const auto shown = samples();
    const std::int64_t newest = shown.empty() ? -1 : shown.front()->slot;
    if (newest == seen_ && !all) return;
    seen_ = newest;
    for (int bits = 0; bits <= 8; ++bits) {
        canvas_->of(bits).hits.fill(0);
        canvas_->of(bits).points = 0;
    }
    constexpr int middle = constellation_canvas::side / 2;
    static const auto cell_of = [] {  // index of a coordinate from -128 to 127
        std::array<std::uint8_t, 256> cells{};
        for (int v = -128; v < 128; ++v)
            cells[static_cast<std::size_t>(v + 128)] = static_cast<std::uint8_t>(
                std::clamp<long>(std::lround(v * middle / 127.0), -middle, middle) + middle);
        return cells;
    }();
    for (const auto* s : shown)
        for_each_point(s->sample, [&](int bits, int i, int q) {
            auto& p = canvas_->of(bits);
            const std::size_t x = cell_of[static_cast<std::size_t>(i + 128)];
            const std::size_t y = 2 * middle - cell_of[static_cast<std::size_t>(q + 128)];
            ++p.hits[y * constellation_canvas::side + x];
            ++p.points;
        });
    canvas_->finish();
}

QString constellation_view::csv() const {
    QString text;
    QTextStream out(&text);
    out << "slot,bits_per_symbol,in_phase,quadrature\n";
    for (const auto* s : samples())
        for_each_point(s->sample, [&](int bits, int i, int q) {
            out << s->slot << ',' << bits << ',' << i / 64.0 << ',' << q / 64.0 << '\n';
        });
    return text;
}

}  // namespace wip::gui
