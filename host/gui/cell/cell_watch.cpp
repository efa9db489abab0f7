// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/cell/cell_watch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <QByteArray>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <filesystem>

#include "types/failure.h"

namespace wip::gui {
namespace {

namespace fs = std::filesystem;

// Field 22 of /proc/PID/stat, as system.start_time() of the launcher; -1: no such process.
qint64 start_time(qint64 pid) {
    QFile f(QStringLiteral("/proc/%1/stat").arg(pid));
    if (!f.open(QIODevice::ReadOnly)) return -1;
    const QByteArray text = f.readAll();
    const auto fields = text.mid(text.lastIndexOf(')') + 2).split(' ');
    return fields.size() > 19 ? fields[19].toLongLong() : -1;
}

QJsonArray keeper_of(const fs::path& run) {
    QFile f(QString::fromStdString((run / "state.json").string()));
    if (!f.open(QIODevice::ReadOnly)) return {};
    return QJsonDocument::fromJson(f.read(1 << 16)).object().value("keeper").toArray();
}

}  // namespace

bool cell_watch::is_running(const std::string& cell) const {
    const QJsonArray keeper = keeper_of(fs::path(root_) / cell);
    return keeper.size() == 2 &&
           start_time(keeper[0].toInteger()) == static_cast<qint64>(keeper[1].toDouble());
}

std::vector<std::string> cell_watch::running() const {
    std::vector<std::string> names;
    std::error_code gone;
    for (fs::directory_iterator at(root_, gone), end; !gone && at != end; at.increment(gone))
        if (const auto name = at->path().filename().string(); is_running(name))
            names.push_back(name);
    std::ranges::sort(names);
    return names;
}

cell_sockets cell_watch::sockets_of(const std::string& cell) const {
    const fs::path run = fs::path(root_) / cell;
    std::error_code failed;
    if (!fs::exists(run, failed)) return {};
    if (::access(run.c_str(), R_OK | X_OK) != 0)
        throw bad_input(run.string() + ": no permission; run the monitor as root (sudo)");
    cell_sockets found;
    for (fs::directory_iterator at(run, failed), end; !failed && at != end; at.increment(failed)) {
        const fs::path& path = at->path();
        if (path.extension() == ".telemetry")
            found.telemetry[path.stem().string()] = "ipc://" + path.string();
        if (path.extension() == ".control")
            found.control[path.stem().string()] = "ipc://" + path.string();
    }
    // A new run writes a new keeper into the state.
    for (const auto& v : keeper_of(run)) found.incarnation += std::to_string(v.toInteger()) + " ";
    return found;
}

}  // namespace wip::gui
