// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/heat_view.h"

#include <cmath>

#include "gui/model/meaning.h"
#include "gui/plot/plot_help.h"

namespace wip::gui {
namespace {

double known(std::uint8_t byte) { return byte == unknown_byte ? double(unknown) : byte; }

}  // namespace

const std::vector<heat_kind>& heat_kinds() {
    static const std::vector<heat_kind> kinds{
        {"measured_snr", "Measured SNR",
         "SNR that the terminal measured in each bin (dB). A dark band wandering through the bins "
         "is "
         "a fade.",
         "dB", colour_map::viridis, 0, 35,
         [](const slot_column& c, bin_index b) { return double(c.measured_db[b.n()]); }},
        {"predicted_snr", "Predicted SNR",
         "SNR that the base station expected in each bin when it planned the slot (dB).", "dB",
         colour_map::viridis, 0, 35,
         [](const slot_column& c, bin_index b) { return double(c.predicted_db[b.n()]); }},
        {"prediction_error", "Prediction error",
         "Predicted less measured SNR (dB). Orange: expected too much, frames may fail. Blue: "
         "expected too little, rate given away.",
         "dB", colour_map::signed_values, -10, 10,
         [](const slot_column& c, bin_index b) { return prediction_error(c, b).value; }},
        {"modulation", "Modulation",
         "Bits per symbol in each bin, 1 (BPSK) to 8 (256-QAM). White: bin not used.", "bit/symbol",
         colour_map::viridis, 0, 8,
         [](const slot_column& c, bin_index b) { return known(c.bits[b.n()]); }, modulation_colour,
         [](int bits) { return QString(modulation_name(bits)); }},
        {"allocation", "Allocation", "Which terminal has each bin, by colour. White: nobody.", "",
         colour_map::viridis, 0, 0,
         [](const slot_column& c, bin_index b) {
             return c.grants_known ? double(c.user[b.n()]) : double(unknown);
         },
         terminal_colour,
         [](int user) { return user == nobody ? QStringLiteral("nobody") : terminal_name(user); },
         true},
        {"arq_outcome", "ARQ outcome",
         "What became of the frame in each bin: received well, failed (it will be sent again), or "
         "unknown (the feedback was lost). White: bin not used.",
         "", colour_map::viridis, 0, 3,
         [](const slot_column& c, bin_index b) { return known(c.outcome[b.n()]); }, outcome_colour,
         [](int outcome) { return QString(outcome_name(outcome)); }},
    };
    return kinds;
}

heat_view::heat_view(const heat_kind& kind, const session_model& model, slot_axis& axis)
    : time_view(kind.id, kind.title, kind.help, "bin", model, axis, 8), kind_(kind) {
    plot_->yAxis->setRange(-0.5, nof_bins - 0.5);
    plot_->yAxis->grid()->setVisible(false);
    plot_->xAxis->grid()->setVisible(false);
    strip_ = new heat_strip(plot_, model, axis,
                            [this](const slot_column& c, bin_index b) { return paint(c, b); });
    make_legend();
}

QRgb heat_view::paint(const slot_column& c, bin_index bin) const {
    const double v = kind_.value(c, bin);
    if (!std::isfinite(v)) return no_data;
    if (kind_.colour != nullptr) return kind_.colour(static_cast<int>(v));
    return colour_at(kind_.map, v, kind_.low, kind_.high);
}

double heat_view::highest() const {
    return kind_.terminals ? double(model().users_seen()) - 1 : kind_.high;
}

void heat_view::make_legend() {
    // Next to the plot, in the right margin: a QCPColorScale would take part in the layout and undo
    // the common margins.
    for (auto& connection : placed_) disconnect(connection);
    placed_.clear();
    for (auto* item : legend_) plot_->removeItem(item);
    legend_.clear();
    legend_to_ = highest();
    constexpr int steps = 64;  // colours of the legend
    QImage bar(1, kind_.colour != nullptr ? static_cast<int>(legend_to_ - kind_.low) + 1 : steps,
               QImage::Format_RGB32);
    for (int i = 0; i < bar.height(); ++i) {
        const int from_low = bar.height() - 1 - i;
        bar.setPixel(0, i,
                     kind_.colour != nullptr ? kind_.colour(static_cast<int>(kind_.low) + from_low)
                                             : colour_at(kind_.map, from_low, 0, steps - 1));
    }
    auto* picture = new QCPItemPixmap(plot_);
    legend_.push_back(picture);
    picture->setLayer("axes");
    picture->setClipToAxisRect(false);
    picture->setPixmap(QPixmap::fromImage(bar.scaled(10, 256)));
    picture->setScaled(true, Qt::IgnoreAspectRatio);
    picture->setPen(QPen(Qt::darkGray));
    const auto place = [this](QCPItemPosition* p, double y, double pixels) {
        p->setTypeX(QCPItemPosition::ptAbsolute);
        p->setTypeY(QCPItemPosition::ptAxisRectRatio);
        const auto put = [this, p, y, pixels] {
            p->setCoords(plot_->axisRect()->right() + pixels, y);
        };
        put();
        placed_.push_back(connect(plot_, &QCustomPlot::afterLayout, plot_, put));
    };
    place(picture->topLeft, 0, 8);
    place(picture->bottomRight, 1, 18);
    const auto label = [&](const QString& text, double y) {
        auto* t = new QCPItemText(plot_);
        legend_.push_back(t);
        t->setLayer("axes");
        t->setClipToAxisRect(false);
        t->setFont(plot_->font());
        t->setText(text);
        t->setPositionAlignment(Qt::AlignLeft | Qt::AlignVCenter);
        place(t->position, y, 21);
    };
    if (kind_.name != nullptr) {
        const int n = bar.height();
        const int step = (n + 4) / 5;  // there is room for five names
        for (int i = 0; i < n; i += step)
            label(kind_.terminals ? QString::number(i + 1)
                                  : kind_.name(static_cast<int>(kind_.low) + i),
                  1 - (i + 0.5) / n);
    } else {
        label(QString::number(kind_.low) + " " + kind_.unit, 0.94);
        label(QString::number((kind_.low + kind_.high) / 2), 0.5);
        label(QString::number(kind_.high) + " " + kind_.unit, 0.06);
    }
}

void heat_view::refresh(bool all) {
    strip_->update(all);
    if (highest() != legend_to_) {
        make_legend();
        all = true;
    }
    draw(plot_, all);
}

QString heat_view::readout(double slot, bin_index bin) const {
    const slot_column* c = strip_->column_at(slot);
    if (c == nullptr) return QStringLiteral("-");
    const double v = kind_.value(*c, bin);
    if (!std::isfinite(v)) return QStringLiteral("-");
    if (kind_.name != nullptr) return kind_.name(static_cast<int>(v));
    return QString::number(v, 'f', 1) + " " + kind_.unit;
}

QString heat_view::csv() const {
    QStringList bins;
    for (int b = 0; b < nof_bins; ++b) bins << QStringLiteral("bin%1").arg(b);
    return table_of(model().columns(), bins.join(','), [this](QTextStream& out, const auto& c) {
        for (int b = 0; b < nof_bins; ++b) {
            const double v = kind_.value(c, bin_index(b));
            if (b > 0) out << ',';
            if (std::isfinite(v)) out << v;
        }
    });
}

}  // namespace wip::gui
