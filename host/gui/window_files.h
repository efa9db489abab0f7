// SPDX-License-Identifier: GPL-3.0-or-later
// Taking away what can be seen: pictures as PNG, the visible window as CSV.
#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>

#include "gui/views/view.h"

namespace wip::gui {

// Each throws bad_input with path and reason.
void save_picture(QWidget* shown, const QString& path);
void save_table(const view& shown, const QString& path);
// The folder, made when it is not there; an empty list, to be filled.
QStringList make_folder(const QString& folder);
// Writes a PNG, and a CSV if the view has data, both named after the id of the view; returns the
// names.
QStringList save_view(const view& shown, const QString& folder);

}  // namespace wip::gui
