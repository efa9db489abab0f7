// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/replay_bar.h"

#include <QStyle>
#include <algorithm>

namespace wip::gui {
namespace {

constexpr double speeds[] = {0.1, 0.25, 0.5, 1, 2, 4, 8};
constexpr int slider_steps = 10'000;

}  // namespace

replay_bar::replay_bar(QWidget* parent) : QToolBar("Replay", parent) {
    setObjectName("replay_bar");
    play_ = new QToolButton(this);
    play_->setToolTip("Play or hold the replay (P)");
    play_->setShortcut(Qt::Key_P);
    position_ = new QSlider(Qt::Horizontal, this);
    position_->setObjectName("replay_position");
    position_->setRange(0, slider_steps);
    position_->setToolTip("Place in the recording");
    speed_ = new QComboBox(this);
    speed_->setObjectName("replay_speed");
    for (const double s : speeds) speed_->addItem(QStringLiteral("x %1").arg(s), s);
    speed_->setCurrentIndex(3);
    speed_->setToolTip("Speed of the replay against the recording");
    text_ = new QLabel(this);
    addWidget(play_);
    addWidget(position_);
    addWidget(speed_);
    addWidget(text_);
    connect(play_, &QToolButton::clicked, this, [this] {
        if (replayer_ == nullptr) return;
        if (replayer_->at_end()) {
            replayer_->seek(0, history_s);
            Q_EMIT jumped();
            replayer_->set_playing(true);
        } else {
            replayer_->set_playing(!replayer_->playing());
        }
        refresh();
    });
    connect(position_, &QSlider::sliderMoved, this, [this](int at) {
        if (replayer_ == nullptr) return;
        replayer_->seek(static_cast<std::int64_t>(static_cast<double>(replayer_->length_ns()) * at /
                                                  slider_steps),
                        history_s);
        Q_EMIT jumped();
    });
    connect(speed_, &QComboBox::currentIndexChanged, this, [this](int i) {
        if (replayer_ != nullptr) replayer_->set_speed(speed_->itemData(i).toDouble());
    });
    hide();
}

void replay_bar::show_for(replayer* replay) {
    replayer_ = replay;
    setVisible(replay != nullptr);
    if (replay != nullptr) {
        replay->set_speed(speed_->currentData().toDouble());
        refresh();
    }
}

void replay_bar::refresh() {
    if (replayer_ == nullptr) return;
    const double length = static_cast<double>(std::max<std::int64_t>(1, replayer_->length_ns()));
    const auto at = static_cast<double>(replayer_->position_ns());
    if (!position_->isSliderDown())
        position_->setValue(static_cast<int>(at / length * slider_steps));
    play_->setIcon(style()->standardIcon(replayer_->playing() && !replayer_->at_end()
                                             ? QStyle::SP_MediaPause
                                             : QStyle::SP_MediaPlay));
    QString text =
        QStringLiteral(" %1 / %2 s").arg(at * 1e-9, 0, 'f', 1).arg(length * 1e-9, 0, 'f', 1);
    if (!replayer_->record().trouble().isEmpty())
        text += "  (what follows cannot be shown: " + replayer_->record().trouble() + ")";
    else if (!replayer_->record().whole())
        text += "  (reading)";
    text_->setText(text);
}

}  // namespace wip::gui
