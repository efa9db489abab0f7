// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/plot/time_plot.h"

#include <cmath>

#include "gui/model/air_numbers.h"
#include "gui/plot/plot_help.h"

namespace wip::gui {
namespace {

// "-8 s": the unit stands at the numbers, since a title for each of ten axes would take their room.
class seconds_ticker : public QCPAxisTicker {
protected:
    QString getTickLabel(double tick, const QLocale& locale, QChar format, int precision) override {
        return QCPAxisTicker::getTickLabel(tick, locale, format, precision) + " s";
    }
};

}  // namespace

time_plot::time_plot(slot_axis& axis, int right_digits) : axis_(axis), right_digits_(right_digits) {
    setOpenGl(false);
    setNoAntialiasingOnDrag(true);
    setNotAntialiasedElements(QCP::aeAll);
    setMouseTracking(true);
    setMinimumSize(160, 70);
    // Own paint buffer for the data: the axes and their texts, the dear part, stay as they are.
    layer("main")->setMode(QCPLayer::lmBuffered);
    prepare(axisRect());
    xAxis->setLabel({});

    message_ = new QCPItemText(this);
    message_->setLayer("overlay");
    message_->position->setType(QCPItemPosition::ptAxisRectRatio);
    message_->position->setCoords(0.5, 0.5);
    message_->setColor(QColor(0x50, 0x50, 0x50));
    message_->setVisible(false);
    note_ = add_words(this, 0.01, 0.01, Qt::AlignLeft | Qt::AlignTop);
    note_->setLayer("overlay");
    note_->setTextAlignment(Qt::AlignLeft | Qt::AlignTop);
    note_->setPadding(QMargins(3, 0, 3, 0));
    note_->setVisible(false);

    connect(&axis_, &slot_axis::scale_changed, this, &time_plot::fit_scale);
    connect(&axis_, &slot_axis::scale_changed, this, &time_plot::draw_cursor);
    connect(&axis_, &slot_axis::moved, this, &time_plot::draw_cursor);
    connect(this, &QCustomPlot::afterLayout, this, &time_plot::place_note);
    connect(&axis_, &slot_axis::cursor_changed, this, &time_plot::draw_cursor);
    fit_scale();
}

QCPAxisRect* time_plot::add_axis_rect() {
    auto* rect = add_rect_below(this);
    prepare(rect);
    fit_scale();
    return rect;
}

void time_plot::fit_margins(QCPAxisRect* rect) {
    // Margins are in units of the text, which may be made larger for a projector.
    const QFontMetrics text(font());
    const int digit = text.horizontalAdvance('0');
    rect->setMargins(
        QMargins(text.height() + 4 * digit + 8, 6, right_digits_ * digit + 14, text.height() + 6));
}

void time_plot::changeEvent(QEvent* event) {
    if (event->type() == QEvent::FontChange)
        for (auto* rect : axisRects()) fit_margins(rect);
    QCustomPlot::changeEvent(event);
}

void time_plot::prepare(QCPAxisRect* rect) {
    rect->setAutoMargins(QCP::msNone);
    fit_margins(rect);
    rect->setupFullAxesBox();
    rect->axis(QCPAxis::atBottom)->setTicker(QSharedPointer<seconds_ticker>::create());
    for (auto* a : rect->axes()) {
        a->setTickLabelPadding(2);
        a->grid()->setPen(QPen(QColor(0xe4, 0xe4, 0xe4), 1));
        a->grid()->setZeroLinePen(Qt::NoPen);
    }
    auto* line = new QCPItemStraightLine(this);
    line->setLayer("overlay");
    line->setPen(QPen(QColor(0xd5, 0x5e, 0x00), 1));
    line->setClipAxisRect(rect);
    for (auto* p : {line->point1, line->point2}) {
        p->setAxisRect(rect);
        p->setAxes(rect->axis(QCPAxis::atBottom), rect->axis(QCPAxis::atLeft));
        p->setTypeX(QCPItemPosition::ptPlotCoords);
        p->setTypeY(QCPItemPosition::ptAxisRectRatio);
    }
    line->setVisible(false);
    cursors_.push_back(line);
}

double time_plot::x_of(double slot) const { return seconds_of(slot - axis_.right()); }
double time_plot::slot_of(double x) const { return axis_.right() + slots_of(x); }

void time_plot::fit_scale() {
    for (auto* rect : axisRects())
        rect->axis(QCPAxis::atBottom)->setRange(-seconds_of(axis_.window()), 0);
}

void time_plot::say(const QString& text) {
    if (message_->text() == text && message_->visible() == !text.isEmpty()) return;
    message_->setText(text);
    message_->setVisible(!text.isEmpty());
    layer("overlay")->replot();
}

void time_plot::note(const QString& text, bool bad) {
    if (note_->text() == text) return;
    note_->setText(text);
    note_->setVisible(!text.isEmpty());
    note_->setColor(bad ? QColor(0xa0, 0x30, 0x00) : QColor(0x30, 0x30, 0x30));
    place_note();
    layer("overlay")->replot();
}

void time_plot::place_note() {
    const QRect area = axisRect()->rect();
    if (area.height() <= 0) return;
    double top = 0.01;
    for (auto* box : findChildren<QCPLegend*>()) {
        if (!box->visible()) continue;  // every QCustomPlot has a second, unused axis
        const QRect taken = box->outerRect();
        if (taken.top() > area.bottom()) continue;  // it belongs to an axis rect below
        const int room = taken.left() - area.left() - 12;
        if (QFontMetrics(note_->font()).size(0, note_->text()).width() > room)
            top = double(taken.bottom() + 2 - area.top()) / area.height();
    }
    note_->position->setCoords(0.01, top);
}

void time_plot::draw_cursor() {
    const bool on = axis_.cursor().has_value();
    const double x = on ? x_of(*axis_.cursor()) : cursor_x_;
    // While the axis follows, the line stands still from frame to frame.
    if (on == cursors_[0]->visible() && std::abs(x - cursor_x_) < 1e-7) return;
    cursor_x_ = x;
    for (auto* line : cursors_) {
        line->setVisible(on);
        line->point1->setCoords(x, 0);
        line->point2->setCoords(x, 1);
    }
    if (isVisible()) layer("overlay")->replot();
}

void time_plot::mousePressEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton) {
        drag_from_ = event->position();
        drag_right_ = axis_.right();
    }
    event->accept();
}

void time_plot::mouseMoveEvent(QMouseEvent* event) {
    const double pixels = axisRect()->width();
    if (drag_from_ && pixels > 0) {
        const double by = event->position().x() - drag_from_->x();
        if (std::abs(by) > 3 || !axis_.following())
            axis_.set_right(drag_right_ - by / pixels * axis_.window());
        return;
    }
    const double x = xAxis->pixelToCoord(event->position().x());
    if (x > 0 || x < -seconds_of(axis_.window())) {
        axis_.set_cursor(std::nullopt);
        return;
    }
    axis_.set_cursor(slot_of(x));
    Q_EMIT cursor_moved(slot_of(x));
}

void time_plot::mouseReleaseEvent(QMouseEvent* event) {
    drag_from_.reset();
    event->accept();
}

void time_plot::wheelEvent(QWheelEvent* event) {
    const double at = slot_of(xAxis->pixelToCoord(event->position().x()));
    axis_.zoom(std::pow(0.8, event->angleDelta().y() / 120.0), at);
    event->accept();
}

void time_plot::leaveEvent(QEvent* event) {
    axis_.set_cursor(std::nullopt);
    QCustomPlot::leaveEvent(event);
}

}  // namespace wip::gui
