// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/cell/record_pipe.h"

#include <linux/close_range.h>
#include <unistd.h>

#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <cstring>

#include "types/failure.h"

namespace wip::gui {
namespace {

constexpr qint64 most_waiting = 64 << 20;          // bytes that wait in either direction
constexpr int start_ms = 60'000, end_ms = 60'000;  // longest waits for its start and its end

void start(QProcess& process, const QStringList& arguments) {
    // Ctrl-C is for the window, which then ends the recorder in order. The children
    // inherit no open file of the window.
    process.setChildProcessModifier([] {
        ::setsid();
        ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    });
    // Python is isolated from the environment of the user who has opened the window
    // (PYTHONSAFEPATH, PYTHONWARNINGS, ...). If OPENWIP_TOP names no folder of OpenWIP, nothing
    // starts, and last_words() says so.
    const auto launcher = qEnvironmentVariable("OPENWIP_TOP") + "/host/cli";
    const bool launcher_found = QFileInfo::exists(launcher + "/__main__.py");
    process.start(launcher_found ? qEnvironmentVariable("OPENWIP_PYTHON", "python3") : QString(),
                  QStringList{"-I", "-B", launcher, "record"} + arguments);
}

// The reason why the process ended, in one line.
QString last_words(QProcess& process) {
    const auto lines = QString::fromUtf8(process.readAllStandardError()).trimmed().split('\n');
    const QString& last = lines.back();
    if (process.error() == QProcess::FailedToStart)
        return "openwip record cannot be started; valid: ./openwip monitor";
    if (process.exitStatus() == QProcess::CrashExit)
        return QStringLiteral("openwip record was ended by SIG") + sigabbrev_np(process.exitCode());
    return last.startsWith("openwip: ") ? last.mid(9) : "openwip record ended: " + last;
}

[[noreturn]] void refuse(const QString& path, const QString& why) {
    throw bad_input((why.contains(path) ? why : path + ": " + why).toStdString());
}

}  // namespace

record_writer::record_writer(const QString& path, const std::string& cell)
    : pipe_(&recorder_), path_(path) {
    // --heard: record what this process has received and writes into the pipe, not what is on the
    // sockets of a cell.
    QStringList arguments{"--heard"};
    if (!cell.empty()) arguments << "--name" << QString::fromStdString(cell);
    start(recorder_, arguments << "--" << path);
    while (!recorder_.canReadLine())
        if (!recorder_.waitForReadyRead(start_ms)) {
            over_ = true;
            recorder_.kill();
            recorder_.waitForFinished();
            refuse(path, last_words(recorder_));
        }
    recorder_.readLine();  // the line by which the recorder reports that it records
}

record_writer::~record_writer() { finish(); }

void record_writer::write(const raw_message& m) {
    if (failed()) return;
    // A message that is not a topic and a body has no topic in the pipe, by which a replay knows
    // it.
    pipe_ << static_cast<qint64>(m.received_ns) << QByteArray::fromStdString(m.source)
          << QByteArray::fromStdString(m.two_frames ? m.topic : "")
          << QByteArray::fromStdString(m.body);
}

bool record_writer::failed() {
    if (recorder_.state() == QProcess::NotRunning) finish();
    if (recorder_.bytesToWrite() > most_waiting)
        trouble_ = path_ + ": the recorder is too far behind";
    return !trouble_.isEmpty();
}

void record_writer::finish() {
    if (over_) return;
    over_ = true;
    recorder_.closeWriteChannel();
    if (!recorder_.waitForFinished(end_ms)) recorder_.kill();
    recorder_.waitForFinished();
    const auto report = QJsonDocument::fromJson(recorder_.readAllStandardOutput()).object();
    const QString by = report["ended_by"].toString();
    if (recorder_.exitStatus() != QProcess::NormalExit || recorder_.exitCode() != 0)
        trouble_ = last_words(recorder_);
    else if (by != "the window")
        trouble_ = path_ + ": ended early by " + by;
}

record_reader::record_reader(const QString& path) : pipe_(&player_), file_(&kept_) {
    if (!kept_.open())
        throw machine_error(
            ("a replay needs a temporary file: " + kept_.errorString()).toStdString());
    start(player_, {"replay", path});
    for (bool more = true; more && !begun_;) {
        more = player_.waitForReadyRead(start_ms);
        take_in();
    }
    if (begun_) return;
    player_.kill();
    player_.waitForFinished();
    refuse(path, trouble_.isEmpty() ? last_words(player_) : trouble_);
}

record_reader::~record_reader() {
    player_.kill();
    player_.waitForFinished();
}

void record_reader::take_in() {
    if (ended_) return;
    player_.waitForReadyRead(0);
    const bool player_ended = player_.state() == QProcess::NotRunning;
    kept_.seek(kept_.size());
    for (;;) {
        qint64 time_ns = 0;
        QByteArray source, topic, body;
        pipe_.startTransaction();
        pipe_ >> time_ns >> source >> topic >> body;
        if (!pipe_.commitTransaction()) break;
        if (!begun_) {
            begun_ = true;
            // The first entry has the length of the record in the place of a time.
            length_ns_ = std::max<std::int64_t>(0, time_ns);
            continue;
        }
        // Time runs forward, or a damaged record would make the slider jump.
        const std::int64_t monotonic_ns =
            entries_.empty() ? time_ns : std::max<std::int64_t>(time_ns, entries_.back().time_ns);
        entries_.push_back({monotonic_ns, kept_.pos()});
        file_ << source << topic << body;
        length_ns_ = std::max(length_ns_, entries_.back().time_ns - entries_[0].time_ns);
    }
    if (!kept_.flush() || file_.status() != QDataStream::Ok) {
        entries_.clear();
        return give_up("the disk of temporary files is full");
    }
    if (player_.bytesAvailable() > most_waiting) return give_up("a message has no end");
    if (!player_ended) return;
    if (player_.exitStatus() != QProcess::NormalExit || player_.exitCode() != 0)
        return give_up(last_words(player_));
    ended_ = true;
}

void record_reader::give_up(const QString& why) {
    ended_ = true;
    trouble_ = why;
    player_.kill();
}

raw_message record_reader::message(std::size_t i) {
    QByteArray source, topic, body;
    kept_.seek(entries_[i].offset);
    file_ >> source >> topic >> body;
    return {entries_[i].time_ns, source.toStdString(), topic.toStdString(), body.toStdString(),
            !topic.isEmpty()};
}

std::size_t record_reader::at(std::int64_t ns) const {
    if (entries_.empty()) return 0;
    const auto place =
        std::ranges::lower_bound(entries_, entries_[0].time_ns + ns, {}, &entry::time_ns);
    return static_cast<std::size_t>(place - entries_.begin());
}

}  // namespace wip::gui
