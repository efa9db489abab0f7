// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/window_files.h"

#include <QDir>
#include <QPixmap>
#include <QSaveFile>

#include "types/failure.h"

namespace wip::gui {

void save_picture(QWidget* shown, const QString& path) {
    if (!shown->grab().save(path, "PNG"))
        throw bad_input(
            (path + ": the picture cannot be written; valid: a file in a writable folder")
                .toStdString());
}

void save_table(const view& shown, const QString& path) {
    QSaveFile file(path);
    const QByteArray text = shown.csv().toUtf8();
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size() || !file.commit())
        throw bad_input((path + ": " + file.errorString()).toStdString());
}

QStringList make_folder(const QString& folder) {
    if (!QDir().mkpath(folder))
        throw bad_input(
            (folder + ": the folder cannot be made; valid: a place where this user may make it")
                .toStdString());
    return {};
}

QStringList save_view(const view& shown, const QString& folder) {
    const QString stem = folder + "/" + shown.objectName();
    QStringList names{stem + ".png"};
    save_picture(shown.widget(), names[0]);
    if (!shown.csv().isEmpty()) {
        save_table(shown, stem + ".csv");
        names << stem + ".csv";
    }
    return names;
}

}  // namespace wip::gui
