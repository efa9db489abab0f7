// SPDX-License-Identifier: GPL-3.0-or-later
// Writes the window's texts as JSON into a file, twice a second: the fields of the health bar, the
// settings read back, where the keyboard is, and how many lines of data each view shows. The file
// is for programs, and for people who cannot see the window.
#pragma once

#include <QTimer>
#include <map>

#include "gui/main_window.h"

namespace wip::gui {

class window_words {
public:
    // Throws bad_input with one line when the file cannot be written. A later error is reported
    // once on standard error.
    window_words(const main_window& window, const QString& path);

private:
    QString write();  // returns the error, or an empty text

    const main_window& window_;
    QString path_;
    QTimer timer_;
    // Lines are counted in a few views at a time: a long table takes a frame or two.
    std::map<QString, int> lines_;
    std::size_t next_ = 0;
    bool complained_ = false;
};

}  // namespace wip::gui
