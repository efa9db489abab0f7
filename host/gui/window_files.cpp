// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/window_files.h"

#include <QDir>
#include <QPixmap>
#include <QSaveFile>

#include "types/failure.h"

namespace wip::gui {

void save_picture(QWidget* of, const QString& path) {
    if (!of->grab().save(path, "PNG"))
        throw bad_input(
            (path + ": the picture cannot be written; valid: a file in a writable folder")
                .toStdString());
}

void save_table(const view& of, const QString& path) {
    QSaveFile file(path);
    const QByteArray text = of.csv().toUtf8();
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size() || !file.commit())
        throw bad_input((path + ": " + file.errorString()).toStdString());
}

QStringList make_folder(const QString& folder) {
    if (!QDir().mkpath(folder)) throw bad_input((folder + ": cannot be made").toStdString());
    return {};
}

QStringList save_view(const view& of, const QString& folder) {
    const QString stem = folder + "/" + of.objectName();
    QStringList names{stem + ".png"};
    save_picture(of.widget(), names[0]);
    if (!of.csv().isEmpty()) {
        save_table(of, stem + ".csv");
        names << stem + ".csv";
    }
    return names;
}

}  // namespace wip::gui
