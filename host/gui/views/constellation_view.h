// SPDX-License-Identifier: GPL-3.0-or-later
// The equalised symbols of the latest receiver samples, one picture for each modulation: how often
// each place of the plane was hit. Painted by itself, as eight small images: a scatter plot of
// thousands of points would cost more than all the rest of the window.
#pragma once

#include <QImage>
#include <array>

#include "gui/views/view.h"

namespace wip::gui {

class constellation_canvas : public QWidget {
    Q_OBJECT
public:
    static constexpr int side = 97;  // cells of each picture, the middle one is the origin
    // end of the axes, in units of the root mean symbol energy
    static constexpr double reach = 127.0 / 64;
    struct plane {
        std::array<std::uint32_t, side * side> hits{};
        int points = 0;
        QImage image;
    };
    explicit constellation_canvas(QWidget* parent = nullptr);
    plane& of(int bits) { return planes_[static_cast<std::size_t>(bits)]; }
    void set_message(const QString& text) { message_ = text; }
    // Makes the images from the counts.
    void finish();

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    std::array<plane, 9> planes_;  // 1..8 bits per symbol
    QString message_;
};

class constellation_view : public view {
    Q_OBJECT
public:
    constellation_view(const session_model& model, slot_axis& axis);
    void refresh(bool all) override;
    int frames_per_second() const override { return 5; }
    QString csv() const override;
    constellation_canvas& canvas() { return *canvas_; }

private:
    // Receiver samples that are shown: the last ones up to the right end of the axis.
    static constexpr std::size_t most_samples = 30;
    std::vector<const receiver_point*> samples() const;

    constellation_canvas* canvas_;
    std::int64_t seen_ = -1;
};

}  // namespace wip::gui
