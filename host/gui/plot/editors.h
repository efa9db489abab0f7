// SPDX-License-Identifier: GPL-3.0-or-later
// Editors for settings of a running cell. Nothing is sent by passing through: the wheel is left to
// the list that they stand in, and keys open the list of choices first, where Return takes one and
// Escape none.
#pragma once

#include <QAbstractItemView>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QKeyEvent>
#include <QLocale>
#include <QWheelEvent>

namespace wip::gui {

// Keys without Ctrl or Alt are its own, also those that are short cuts of the window: Space, R, +.
template <typename Widget>
class own_keys : public Widget {
public:
    using Widget::Widget;

protected:
    bool event(QEvent* event) override {
        if (event->type() == QEvent::ShortcutOverride) {
            const auto* key = static_cast<QKeyEvent*>(event);
            const bool function = key->key() >= Qt::Key_F1 && key->key() <= Qt::Key_F35;
            if (!function && !(key->modifiers() & (Qt::ControlModifier | Qt::AltModifier))) {
                event->accept();
                return true;
            }
        }
        return Widget::event(event);
    }
};

class choice_editor : public own_keys<QComboBox> {
public:
    using own_keys::own_keys;

protected:
    void wheelEvent(QWheelEvent* event) override { event->ignore(); }
    void keyPressEvent(QKeyEvent* event) override {
        switch (event->key()) {
            case Qt::Key_Up:
            case Qt::Key_Down:
            case Qt::Key_PageUp:
            case Qt::Key_PageDown:
            case Qt::Key_Home:
            case Qt::Key_End:
            case Qt::Key_Return:
            case Qt::Key_Enter:
                showPopup();
                return;
            default:
                break;
        }
        const bool text = !event->text().isEmpty() && event->text()[0].isPrint() &&
                          !(event->modifiers() & (Qt::ControlModifier | Qt::AltModifier));
        if (!text || event->key() == Qt::Key_Space) {
            own_keys::keyPressEvent(event);
            return;
        }
        showPopup();
        view()->keyboardSearch(event->text());
    }
};

class number_editor : public QDoubleSpinBox {
    Q_OBJECT
public:
    using QDoubleSpinBox::QDoubleSpinBox;

    // The text has all digits of the value and no more: neither 0.1000 for 0.1 nor 0 for 0.00001.
    QString textFromValue(double value) const override {
        QLocale plain = locale();
        plain.setNumberOptions(plain.numberOptions() | QLocale::OmitGroupSeparator);
        return plain.toString(value, 'f', QLocale::FloatingPointShortest);
    }

Q_SIGNALS:
    void taken();  // Return was pressed

protected:
    void wheelEvent(QWheelEvent* event) override { event->ignore(); }
    void keyPressEvent(QKeyEvent* event) override {
        QDoubleSpinBox::keyPressEvent(event);
        if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) Q_EMIT taken();
    }
};

}  // namespace wip::gui
