// SPDX-License-Identifier: GPL-3.0-or-later
// QCustomPlot is written with Qt's keywords; the schemas have a field called `slots`. So this
// program is built without the keywords, and has them for as long as that header lasts.
#pragma once

#include <QtGlobal>

// NOLINTBEGIN
#define signals Q_SIGNALS
#define slots Q_SLOTS
#define emit Q_EMIT
#define foreach Q_FOREACH
#include <qcustomplot.h>
#undef signals
#undef slots
#undef emit
#undef foreach
// NOLINTEND
