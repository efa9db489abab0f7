// SPDX-License-Identifier: GPL-3.0-or-later
// openwip-monitor: the window onto a running cell (docs/how-to/monitor.md).
#include <google/protobuf/stubs/logging.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <QApplication>
#include <QSettings>
#include <QSocketNotifier>
#include <QTimer>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "config/command_line.h"
#include "gui/cell/remote_cell.h"
#include "gui/cell/session.h"
#include "gui/main_window.h"
#include "gui/window_words.h"
#include "types/failure.h"

namespace {

using namespace wip::gui;
using wip::bad_input;

using wip::config::exit_bad_input;
// a recording is not complete, the same code as of ./openwip record
constexpr int exit_not_written = 3;

constexpr const char* program = "openwip monitor";

int complain(const std::string& why) { return wip::config::complain(program, why.c_str()); }

// Qt ends a program that finds no display with abort(); a core dump is no answer.
void one_line(QtMsgType type, const QMessageLogContext&, const QString& text) {
    static QString reason;  // Qt gives the reason as a warning before it aborts
    if (type == QtWarningMsg) reason = text.simplified();
    if (type == QtFatalMsg) {
        complain("no window can be opened: " +
                 (reason.isEmpty() ? text.simplified() : reason).toStdString());
        std::_Exit(exit_bad_input);
    }
    if (type == QtCriticalMsg) std::fprintf(stderr, "%s\n", qPrintable(text));
}

struct window_options {
    std::string record, replay, screenshots, words, size = "1600x900";
    double after_s = 5;
};

QSize size_of(const std::string& text) {
    int width = 0, height = 0;
    char rest = 0;
    if (std::sscanf(text.c_str(), "%dx%d%c", &width, &height, &rest) != 2 || width < 400 ||
        height < 300 || width > 10000 || height > 10000)
        throw bad_input("--size is '" + text + "'; valid: WIDTHxHEIGHT, such as 1280x800");
    return {width, height};
}

// Ctrl-C and the end of a launcher close the window in order, so that a recording is whole. A
// signal handler may do no more than write to a pipe.
int signal_pipe[2] = {-1, -1};
void on_signal(int) {
    const char byte = 0;
    [[maybe_unused]] const auto done = ::write(signal_pipe[1], &byte, 1);
}

void close_on_signals(main_window& window) {
    if (::pipe(signal_pipe) != 0) return;
    auto* notifier = new QSocketNotifier(signal_pipe[0], QSocketNotifier::Read, &window);
    QObject::connect(notifier, &QSocketNotifier::activated, &window, [&window] {
        window.close();
        QApplication::quit();
    });
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, on_signal);
}

int show_window(session_options options, const window_options& wanted) {
    session shown(std::move(options));
    main_window window(shown);
    window.resize(size_of(wanted.size));
    window.restoreGeometry(QSettings().value("geometry").toByteArray());
    window.load_layout("last");
    if (!wanted.screenshots.empty()) {
        window.arrange();
        window.resize(size_of(wanted.size));
    }
    if (!wanted.replay.empty()) window.replay(QString::fromStdString(wanted.replay));
    if (!wanted.record.empty()) window.record(QString::fromStdString(wanted.record));
    std::optional<window_words> words;
    if (!wanted.words.empty()) words.emplace(window, QString::fromStdString(wanted.words));
    close_on_signals(window);
    window.show();
    int code = 0;
    if (!wanted.screenshots.empty()) {
        QTimer::singleShot(static_cast<int>(wanted.after_s * 1000), &window, [&] {
            try {
                for (const auto& name :
                     window.export_to(QString::fromStdString(wanted.screenshots)))
                    std::printf("%s\n", qPrintable(name));
            } catch (const std::exception& e) {
                code = complain(e.what());
            }
            QApplication::quit();
        });
    }
    const int ended = QApplication::exec();
    window.record({});
    if (!window.record_trouble().isEmpty()) {
        complain(window.record_trouble().toStdString());
        return exit_not_written;
    }
    return code != 0 ? code : ended;
}

}  // namespace

int main(int argc, char** argv) {
    google::protobuf::SetLogHandler(nullptr);  // damaged messages are counted
    session_options options;
    window_options wanted;
    std::vector<std::string> connect, control;
    std::string key_folder, server_key, key_file;
    CLI::App app{"Opens a window that shows a running cell: SNR, modulation, ARQ, packets, TCP.",
                 "./openwip monitor"};
    app.add_option("--name", options.cell, "name of the cell to show (default: the one that runs)")
        ->type_name("NAME");
    app.add_option("--connect", connect,
                   "address of a cell on another computer, the tcp://HOST:PORT of its --listen; or "
                   "each of its telemetry sockets as SOURCE=ENDPOINT")
        ->type_name("ADDRESS")
        ->delimiter(',');
    app.add_option("--control", control,
                   "with --connect SOURCE=ENDPOINT: control sockets of the cell, each as "
                   "SOURCE=ENDPOINT")
        ->type_name("SOURCE=ENDPOINT")
        ->delimiter(',');
    app.add_option("--keys", key_folder,
                   "folder with the encryption keys server.public and client.key of the cell at "
                   "--connect")
        ->type_name("DIR");
    app.add_option("--server-key", server_key,
                   "instead of --keys: public encryption key of the cell (CURVE, 40 characters)")
        ->type_name("KEY");
    app.add_option("--key-file", key_file,
                   "with --server-key: file with the keys of this monitor, as lines public-key: "
                   "KEY and secret-key: KEY")
        ->type_name("FILE");
    app.add_option("--record", wanted.record,
                   "record what is shown in this HDF5 file, a run record")
        ->type_name("FILE");
    app.add_option("--replay", wanted.replay,
                   "show the run record in this HDF5 file instead of a running cell")
        ->type_name("FILE");
    app.add_option("--screenshots", wanted.screenshots,
                   "save every view of the window as PNG and CSV into this folder, then end")
        ->type_name("DIR");
    app.add_option("--words", wanted.words,
                   "write the texts that the window shows into this file as JSON, twice a second")
        ->type_name("FILE");
    app.add_option("--after", wanted.after_s,
                   "with --screenshots: time in seconds until they are taken (default 5)")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.1, 86400.0));
    app.add_option("--size", wanted.size, "size of the window in pixels (default 1600x900)")
        ->type_name("WIDTHxHEIGHT");
    return wip::config::with_command_line(app, argc, argv, program, [&] {
        use_endpoints(connect, control, options);
        options.keys = read_keys(key_folder, server_key, key_file);
        size_of(wanted.size);
        if (qEnvironmentVariableIsEmpty("DISPLAY") &&
            qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY") &&
            qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM"))
            return complain(
                "no display: DISPLAY is not set; over ssh use ssh -X, or ./openwip top");
        qInstallMessageHandler(one_line);
        QApplication application(argc, argv);
        application.setApplicationName("monitor");
        application.setOrganizationName("openwip");
        return show_window(std::move(options), wanted);
    });
}
