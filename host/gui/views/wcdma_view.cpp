// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/wcdma_view.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gui/plot/colour_map.h"

namespace wip::gui {
namespace {

// Colours reach so far to both sides of the median SIR.
constexpr double sir_reach_db = 2;
constexpr int scale_height = 6;
// Longer lines to a site belong to users that a copy of the site serves, beyond the layout.
constexpr double longest_line = 2.5;  // sides

bool is_finite(const wcdma_dot& d) {
    return std::isfinite(d.x_m) && std::isfinite(d.y_m) && std::isfinite(d.sir_db) &&
           std::isfinite(d.power_dbw);
}

// The site at which users of a cell are received; nullopt: there is none of this number.
std::optional<QPointF> site_of(const openwip::control::WcdmaCells& cells, int cell) {
    if (cell < 0 || 2 * cell + 1 >= cells.sites_m_size()) return std::nullopt;
    const QPointF at(cells.sites_m(2 * cell), cells.sites_m(2 * cell + 1));
    if (!std::isfinite(at.x()) || !std::isfinite(at.y())) return std::nullopt;
    return at;
}

QString one_digit(double value) { return QString::number(value, 'f', 1); }

}  // namespace

wcdma_canvas::wcdma_canvas(QWidget* parent) : QWidget(parent) { setMinimumSize(240, 120); }

void wcdma_canvas::show(std::vector<wcdma_dot> dots, std::vector<QPointF> sites_m, double side_m) {
    // Other cells begin with a scale of their own.
    if (sites_m != sites_m_ || dots.size() != dots_.size()) low_dbw_ = high_dbw_ = 0;
    dots_ = std::move(dots);
    sites_m_ = std::move(sites_m);
    side_m_ = side_m;
    if (!dots_.empty()) {
        const auto [least, most] = std::ranges::minmax(dots_, {}, &wcdma_dot::power_dbw);
        const double low = 10 * std::floor(least.power_dbw / 10);
        const double high = std::max(10 * std::ceil(most.power_dbw / 10), low + 10);
        const bool first = low_dbw_ == high_dbw_;
        low_dbw_ = first ? low : std::min(low_dbw_, low);
        high_dbw_ = first ? high : std::max(high_dbw_, high);
        std::vector<double> sir;
        for (const auto& d : dots_) sir.push_back(d.sir_db);
        const auto middle = sir.begin() + static_cast<std::ptrdiff_t>(sir.size() / 2);
        std::ranges::nth_element(sir, middle);
        middle_sir_db_ = std::round(*middle);
    }
    update();
}

std::array<double, 2> wcdma_canvas::ends_of(map which) const {
    if (which == map::power) return {low_dbw_, high_dbw_};
    return {middle_sir_db_ - sir_reach_db, middle_sir_db_ + sir_reach_db};
}

QRgb wcdma_canvas::colour_of(map which, const wcdma_dot& dot) const {
    const auto [low, high] = ends_of(which);
    return which == map::sir ? colour_at(colour_map::viridis, dot.sir_db, low, high)
                             : colour_at(colour_map::cividis, dot.power_dbw, low, high);
}

// The words are above both maps, and the scale of each is below it.
QRect wcdma_canvas::rect_of(map which) const {
    const int line = fontMetrics().height() + 2;
    const int half = width() / 2;
    return QRect(which == map::sir ? 2 : half + 2, line, half - 4,
                 height() - 2 * line - scale_height - 4);
}

QRectF wcdma_canvas::cells_m() const {
    QRectF all;
    for (const auto& s : sites_m_)
        all |= QRectF(s.x() - side_m_, s.y() - side_m_, 2 * side_m_, 2 * side_m_);
    return all;
}

QPointF wcdma_canvas::place_of(map which, double x_m, double y_m) const {
    const QRectF cells = cells_m(), on = rect_of(which);
    const double scale = std::min(on.width() / cells.width(), on.height() / cells.height());
    return {on.center().x() + (x_m - cells.center().x()) * scale,
            on.center().y() - (y_m - cells.center().y()) * scale};
}

void wcdma_canvas::paint_map(QPainter& painter, map which) const {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(QColor(0x90, 0x90, 0x90), 1));
    for (const auto& s : sites_m_) {
        QPolygonF hexagon;
        for (int n = 0; n < 6; ++n) {
            const double angle = std::numbers::pi * (0.5 + n / 3.0);
            hexagon << place_of(which, s.x() + side_m_ * std::cos(angle),
                                s.y() + side_m_ * std::sin(angle));
        }
        painter.drawPolygon(hexagon);
    }
    painter.setPen(QPen(QColor(0xd8, 0xd8, 0xd8), 1));
    for (const auto& d : dots_)
        if (std::hypot(d.x_m - d.site_x_m, d.y_m - d.site_y_m) < longest_line * side_m_)
            painter.drawLine(place_of(which, d.x_m, d.y_m),
                             place_of(which, d.site_x_m, d.site_y_m));
    painter.setPen(QPen(Qt::black, 2));
    for (const auto& s : sites_m_) {
        const QPointF at = place_of(which, s.x(), s.y());
        painter.drawLine(at + QPointF(-4, 4), at + QPointF(0, -5));
        painter.drawLine(at + QPointF(0, -5), at + QPointF(4, 4));
    }
    for (const auto& d : dots_) {
        const QPointF at = place_of(which, d.x_m, d.y_m);
        painter.setBrush(QColor(colour_of(which, d)));
        if (d.is_terminal) {
            const double half = d.is_chosen ? 7 : 5;
            painter.setPen(QPen(Qt::black, d.is_chosen ? 2.5 : 1));
            painter.drawRect(QRectF(at.x() - half, at.y() - half, 2 * half, 2 * half));
        } else {
            painter.setPen(QPen(QColor(0x60, 0x60, 0x60), 0.5));
            painter.drawEllipse(at, 3.5, 3.5);
        }
        if (!d.lost) continue;
        painter.setPen(QPen(series_colour(1), 2.5));
        painter.drawLine(at + QPointF(-6, -6), at + QPointF(6, 6));
        painter.drawLine(at + QPointF(-6, 6), at + QPointF(6, -6));
    }
}

void wcdma_canvas::paint_scale(QPainter& painter, map which) const {
    const QRect above = rect_of(which);
    const QRect bar(above.left() + 4, above.bottom() + 4, above.width() - 8, scale_height);
    const auto colours = colours_of(which == map::sir ? colour_map::viridis : colour_map::cividis);
    for (int x = 0; x < bar.width(); ++x) {
        const auto at = static_cast<std::size_t>(x) * (colours.size() - 1) /
                        static_cast<std::size_t>(std::max(1, bar.width() - 1));
        painter.fillRect(bar.left() + x, bar.top(), 1, bar.height(), QColor(colours[at]));
    }
    const auto [low, high] = ends_of(which);
    const QRect below(bar.left(), bar.bottom() + 1, bar.width(), fontMetrics().height() + 2);
    painter.setPen(Qt::black);
    painter.drawText(below, Qt::AlignLeft, QString::number(low));
    painter.drawText(below, Qt::AlignRight, QString::number(high));
    painter.drawText(below, Qt::AlignHCenter,
                     which == map::sir ? "SIR of the last block, dB" : "transmit power, dBW");
}

void wcdma_canvas::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), Qt::white);
    if (sites_m_.empty()) {
        painter.setPen(QColor(0x50, 0x50, 0x50));
        painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap, words_);
        return;
    }
    painter.setPen(Qt::black);
    painter.drawText(QRect(4, 0, width() - 8, fontMetrics().height() + 2), Qt::AlignLeft, words_);
    painter.setRenderHint(QPainter::Antialiasing);
    for (const map which : {map::sir, map::power}) paint_map(painter, which);
    painter.setRenderHint(QPainter::Antialiasing, false);
    for (const map which : {map::sir, map::power}) paint_scale(painter, which);
}

// The tool tip of a user is its values, elsewhere it says how to read the maps.
bool wcdma_canvas::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* asked = static_cast<QHelpEvent*>(event);
    for (const map which : {map::sir, map::power})
        for (const auto& d : dots_) {
            const QPointF away = place_of(which, d.x_m, d.y_m) - asked->pos();
            if (std::hypot(away.x(), away.y()) > 7) continue;
            QToolTip::showText(
                asked->globalPos(),
                QStringLiteral("%1 %2, cell %3: SIR %4 dB, power %5 dBW%6")
                    .arg(d.is_terminal ? "terminal" : "user")
                    .arg(d.user + 1)
                    .arg(d.cell)
                    .arg(one_digit(d.sir_db), one_digit(d.power_dbw), d.lost ? ", lost" : ""),
                this);
            return true;
        }
    return QWidget::event(event);
}

wcdma_view::wcdma_view(const session_model& model, slot_axis& axis)
    : view("wcdma", "WCDMA cells",
           "The users of the WCDMA cells that a UMTS bearer has its block errors from, in their "
           "last block. Left: the colour is the SIR; right: it is the transmit power. A line leads "
           "to the site of the user's cell. Squares are terminals, dots are users that only "
           "disturb. Orange cross: the block was lost.",
           model, axis) {
    canvas_ = new wcdma_canvas;
    canvas_->setToolTip(help());
    setWidget(canvas_);
}

std::vector<wcdma_dot> wcdma_view::dots() const {
    std::vector<wcdma_dot> all;
    const auto& cells = model().base_of_all().wcdma();
    const int terminals = std::max(1, model().base_of_all().users_size());
    for (int n = 0; n < cells.users_size(); ++n) {
        const auto& u = cells.users(n);
        const auto site = site_of(cells, u.cell());
        wcdma_dot d{u.x_m(), u.y_m(), 0, 0, u.sir_db(), u.power_dbw(), n, u.cell(), u.lost()};
        if (!site || !is_finite(d)) continue;
        d.site_x_m = site->x(), d.site_y_m = site->y();
        d.is_terminal = n < terminals;
        d.is_chosen = d.is_terminal && n == model().shown_user();
        all.push_back(d);
    }
    return all;
}

void wcdma_view::refresh(bool all) {
    const auto& base = model().base_of_all();
    if (base.slot() == seen_ && !all) return;
    seen_ = base.slot();
    const auto& cells = base.wcdma();
    std::vector<QPointF> sites;
    if (std::isfinite(cells.side_m()) && cells.side_m() > 0)
        for (int c = 0; const auto site = site_of(cells, c); ++c) sites.push_back(*site);
    const QString text = words();
    canvas_->set_words(text.isEmpty() ? "No WCDMA cells (emulate --link umts --error-model cells)"
                                      : text);
    canvas_->show(sites.empty() ? std::vector<wcdma_dot>() : dots(), sites, cells.side_m());
}

QString wcdma_view::words() const {
    const auto all = dots();
    if (all.empty()) return {};
    const auto [worst, best] = std::ranges::minmax(all, {}, &wcdma_dot::sir_db);
    const auto [least, most] = std::ranges::minmax(all, {}, &wcdma_dot::power_dbw);
    const auto& cells = model().base_of_all().wcdma();
    return QStringLiteral("%1 users: SIR %2 to %3 dB, power %4 to %5 dBW, %6 lost; %7 handovers")
        .arg(all.size())
        .arg(one_digit(worst.sir_db), one_digit(best.sir_db), one_digit(least.power_dbw),
             one_digit(most.power_dbw))
        .arg(std::ranges::count(all, true, &wcdma_dot::lost))
        .arg(cells.handovers());
}

QString wcdma_view::csv() const {
    const auto all = dots();
    if (all.empty()) return {};
    QString text;
    QTextStream out(&text);
    out << "slot,seconds,user,is_terminal,cell,x_m,y_m,sir_db,power_dbw,lost\n";
    for (const auto& d : all)
        begin_line(out, model().base_of_all().slot())
            << d.user + 1 << ',' << int{d.is_terminal} << ',' << d.cell << ',' << d.x_m << ','
            << d.y_m << ',' << d.sir_db << ',' << d.power_dbw << ',' << int{d.lost} << '\n';
    return text;
}

}  // namespace wip::gui
