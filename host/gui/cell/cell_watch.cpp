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
#include <cerrno>
#include <filesystem>

#include "types/failure.h"

namespace wip::gui {
namespace {

namespace fs = std::filesystem;

// Field 22 of /proc/PID/stat, as procfs.start_time() of the launcher; -1: no such process.
qint64 start_time(qint64 pid) {
    QFile f(QStringLiteral("/proc/%1/stat").arg(pid));
    if (!f.open(QIODevice::ReadOnly)) return -1;
    const QByteArray text = f.readAll();
    const auto fields = text.mid(text.lastIndexOf(')') + 2).split(' ');
    return fields.size() > 19 ? fields[19].toLongLong() : -1;
}

QJsonArray supervisor_of(const fs::path& run) {
    QFile f(QString::fromStdString((run / "state.json").string()));
    if (!f.open(QIODevice::ReadOnly)) return {};
    return QJsonDocument::fromJson(f.read(1 << 16)).object().value("keeper").toArray();
}

bool lives(const QJsonArray& supervisor) {
    return supervisor.size() == 2 &&
           start_time(supervisor[0].toInteger()) == static_cast<qint64>(supervisor[1].toDouble());
}

}  // namespace

std::vector<std::string> cell_watch::running() const {
    std::vector<std::string> names;
    std::error_code gone;
    for (fs::directory_iterator at(root_, gone), end; !gone && at != end; at.increment(gone))
        if (lives(supervisor_of(at->path()))) names.push_back(at->path().filename().string());
    std::ranges::sort(names);
    return names;
}

std::optional<cell_sockets> cell_watch::find(const std::string& cell) const {
    const fs::path run = fs::path(root_) / cell;
    const QJsonArray supervisor = supervisor_of(run);
    if (!lives(supervisor)) return {};
    if (::access(run.c_str(), R_OK | X_OK) != 0 && errno == EACCES)
        throw bad_input(run.string() + ": no permission; run the monitor as root (sudo)");
    cell_sockets found;
    std::error_code failed;
    for (fs::directory_iterator at(run, failed), end; !failed && at != end; at.increment(failed)) {
        const fs::path& path = at->path();
        if (path.extension() == ".telemetry")
            found.telemetry[path.stem().string()] = "ipc://" + path.string();
        if (path.extension() == ".control")
            found.control[path.stem().string()] = "ipc://" + path.string();
    }
    for (const auto& v : supervisor) found.incarnation += std::to_string(v.toInteger()) + " ";
    return found;
}

}  // namespace wip::gui
