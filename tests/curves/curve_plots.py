# SPDX-License-Identifier: GPL-3.0-or-later
"""PNG of every curve, targets drawn in."""

from curves import AIM, ESTIMATORS, MARKS, SQUARE

from openwip_cli.machine.canvas import plt


def figure(columns=1, height=4.2, width=None):
    fig, axes = plt.subplots(
        1,
        columns,
        figsize=(width or 6.4 * (1 if columns == 1 else 0.72 * columns), height),
        squeeze=False,
    )
    for a in axes[0]:
        a.grid(True, which="both", color="0.9", linewidth=0.6)
    return fig, axes[0]


def save(fig, folder, name):
    fig.tight_layout()
    fig.savefig(folder / f"{name}.png", dpi=90)
    plt.close(fig)


def awgn(folder, points):
    fig, axes = figure(2)
    for k in range(1, 9):
        chosen = [p for p in points if p["bits"] == k]
        for a, key in zip(axes, ("ser", "fer")):
            shown = [p for p in chosen if p[key] > 0]
            (line,) = a.semilogy(
                [p["snr_db"] for p in shown], [p[key] for p in shown], "o", ms=4, label=SQUARE[k]
            )
            a.semilogy(
                [p["snr_db"] for p in chosen],
                [p[key + "_theory"] for p in chosen],
                "-",
                color=line.get_color(),
                lw=1,
            )
    axes[0].set(
        xlabel="SNR (dB)",
        ylabel="symbol error rate",
        title="AWGN: receiver (dots), exact theory (lines)",
    )
    axes[1].set(
        xlabel="SNR (dB)",
        ylabel="frame error rate (108 symbols)",
        title="AWGN: frames",
        ylim=(0.005, 1.2),
    )
    axes[0].legend(fontsize=8, loc="lower left")
    save(fig, folder, "awgn")


def fading(folder, points):
    speeds = sorted({p["kmh"] for p in points})
    fig, axes = figure(len(speeds))
    for a, kmh in zip(axes, speeds):
        for k, colour in ((4, "C0"), (6, "C1"), (8, "C2")):
            chosen = [p for p in points if p["bits"] == k and p["kmh"] == kmh]
            x = [p["snr_db"] for p in chosen]
            for key, style, what in (
                ("fer", "o-", "ours"),
                ("fer_told", "s--", "told"),
                ("fer_exact", ":", "no ICI"),
            ):
                a.semilogy(
                    x,
                    [max(p[key], 1e-5) for p in chosen],
                    style,
                    color=colour,
                    ms=4,
                    lw=1.2,
                    mfc="none" if key == "fer_told" else None,
                    label=f"{SQUARE[k]} {what}",
                )
        a.axhline(0.1, color="0.4", lw=0.8)
        a.set(
            xlabel="mean SNR (dB)",
            ylabel="frame error rate",
            title=f"typical urban, {kmh:g} km/h",
            ylim=(0.005, 1),
        )
    axes[0].legend(fontsize=7, loc="lower left")
    save(fig, folder, "fading")


def uplink(folder, points):
    fig, axes = figure(2)
    for (channel, kmh), colour in zip(
        sorted({(p["channel"], p["kmh"]) for p in points}), ("C0", "C1", "C2")
    ):
        chosen = [p for p in points if (p["channel"], p["kmh"]) == (channel, kmh)]
        name = channel + (f", {kmh:g} km/h" if kmh else "")
        for a, key, style, what in (
            (axes[0], "form_errors", "o-", ""),
            (axes[0], "form_errors_told", "s--", ", told the channel"),
            (axes[0], "form_errors_bound", ":", ", union bound"),
            (axes[1], "fer", "o-", ""),
            (axes[1], "fer_theory", ":", ", exact theory"),
        ):
            shown = [p for p in chosen if p[key] > 0]
            if shown:
                a.semilogy(
                    [p["snr_db"] for p in shown],
                    [p[key] for p in shown],
                    style,
                    color=colour,
                    ms=4,
                    lw=1.2,
                    mfc="none" if style == "s--" else None,
                    label=name + what,
                )
    axes[0].set(
        xlabel="mean SNR (dB)",
        ylabel="share of the forms",
        title="feedback forms lost",
        xlim=(1, 15),
        ylim=(5e-4, 1.2),
    )
    axes[1].set(
        xlabel="mean SNR (dB)", ylabel="frame error rate", title="16-QAM frames", xlim=(11, 29)
    )
    for a in axes:
        a.legend(fontsize=7, loc="lower left")
    save(fig, folder, "uplink")


def estimation(folder, points):
    speeds = sorted({p["kmh"] for p in points})
    fig, axes = figure(len(speeds))
    for a, kmh in zip(axes, speeds):
        chosen = [p for p in points if p["kmh"] == kmh]
        x = [p["snr_db"] for p in chosen]
        for (key, label), style in zip(ESTIMATORS.items(), ("v-", "s-", "o-", "d-", "*-")):
            us = sorted(p[key + "_us"] for p in points)[len(points) // 2]
            a.plot(
                x,
                [p[key + "_nmse_db"] for p in chosen],
                style,
                ms=4,
                lw=1.2,
                label=f"{label} ({us:.1f} us)",
            )
        for key, label, style in (
            ("bound_pilots", "Wiener bound, pilots", "k:"),
            ("bound_known", "... pilots and control", "k-."),
            ("bound_past", "... of 8 slots", "k--"),
            ("bound_all", "... all elements of the slot", "k-"),
        ):
            a.plot(x, [p[key + "_db"] for p in chosen], style, lw=0.9, label=label)
        a.set(
            xlabel="mean SNR (dB)",
            ylabel="NMSE of the channel estimate (dB)",
            title=f"typical urban, {kmh:g} km/h",
        )
    axes[-1].legend(fontsize=6, loc="lower left")
    save(fig, folder, "estimation")


def acquisition(folder, points):
    fig, axes = figure(2)
    chosen = [p for p in points if p["curve"] == "acquisition" and p["kmh"] == 75]
    for what, name in (("sync", "synchronised"), ("lock", "locked: frame number known")):
        axes[0].plot(
            [p["snr_db"] for p in chosen],
            [100 * p[f"{what}_within_40_ms"] / p["trials"] for p in chosen],
            "o-",
            label=name,
        )
    axes[0].plot([6], [99], "r^", label="target: 99 % at 6 dB")
    axes[0].set(
        xlabel="mean SNR (dB)",
        ylabel="within 40 ms (%)",
        xlim=(-1, 17),
        ylim=(min(90, axes[0].get_ylim()[0]), 101),
        title="acquisition, typical urban 75 km/h,\nany cell, CFO within ±10 kHz, any timing",
    )
    axes[0].legend(fontsize=8, loc="lower right")
    for p in chosen:
        times = sorted(t if t >= 0 else 1e9 for t in p["lock_ms"])
        axes[1].step(
            times,
            [100 * (i + 1) / len(times) for i in range(len(times))],
            where="post",
            label=f"{p['snr_db']:g} dB",
        )
    axes[1].axvline(40, color="r", lw=0.8, ls="--")
    axes[1].set(
        xlabel="time (ms)",
        ylabel="locked by then (%)",
        xlim=(0.5, 110),
        xscale="log",
        title="time to lock (target 40 ms dashed)",
    )
    axes[1].legend(fontsize=8, loc="upper left")
    save(fig, folder, "acquisition")


def tracking(folder, points):
    fig, axes = figure(2)
    for channel in sorted({p["channel"] for p in points}):
        chosen = [p for p in points if p["channel"] == channel]
        x = [p["snr_db"] for p in chosen]
        axes[0].semilogy(x, [p["cfo_rms_hz"] for p in chosen], "o-", ms=4, label=channel)
        axes[1].semilogy(x, [p["timing_rms_samples"] for p in chosen], "o-", ms=4, label=channel)
    axes[0].set(xlabel="mean SNR (dB)", ylabel="rms error of the CFO (Hz)", title="CFO after lock")
    axes[1].set(
        xlabel="mean SNR (dB)",
        ylabel="rms error of the timing (samples)",
        title="timing after lock\n(against the profile's mean delay)",
    )
    axes[1].legend(fontsize=8)
    save(fig, folder, "tracking")


def snr(folder, points):
    fig, (a,) = figure(1)
    for channel in sorted({p["channel"] for p in points}):
        chosen = [p for p in points if p["channel"] == channel and p["bins"]]
        x = [p["snr_db"] for p in chosen]
        (line,) = a.plot(x, [p["bias_db"] for p in chosen], "o-", ms=4, label=channel)
        a.fill_between(
            x,
            [min(p["bins"]) for p in chosen],
            [max(p["bins"]) for p in chosen],
            color=line.get_color(),
            alpha=0.2,
            lw=0,
        )
    for y in (-0.5, 0.5):
        a.axhline(y, color="r", lw=0.8, ls="--")
    a.set(
        xlabel="mean SNR (dB)",
        ylabel="bias of the measured SNR (dB)",
        title="SNR of the bins: mean (line), all bins (area),\ntarget ±0.5 dB (dashed)",
    )
    a.legend(fontsize=8)
    save(fig, folder, "snr_bias")


def prediction(folder, points, bound):
    fig, axes = figure(2)
    series = (
        ("last", "last value", "v-", "C7"),
        ("ar", "AR/Burg per bin", "s-", "C1"),
        ("ls", "least squares", "x-", "C2"),
        ("kalman", "Kalman per bin", "d-", "C4"),
        ("nmse", "delay domain (default)", "o-", "C0"),
    )
    shaded = [p for p in points if p["shadowing"]]
    points = [p for p in points if not p["shadowing"]]
    ahead = [p for p in points if p["kmh"] == 75]
    axes[1].set_xlim(0, 105)
    speed = sorted((p for p in points if p["horizon"] == 3), key=lambda p: p["kmh"])
    for key, label, style, colour in series:
        axes[0].semilogy(
            [p["horizon"] for p in ahead],
            [p[key] for p in ahead],
            style,
            ms=4,
            color=colour,
            label=label,
        )
        axes[1].semilogy(
            [p["kmh"] for p in speed],
            [p[key] for p in speed],
            style,
            ms=4,
            color=colour,
            label=label,
        )
    for axis, x, mine in (
        (axes[0], "horizon", [p for p in shaded if p["kmh"] == 75]),
        (axes[1], "kmh", sorted((p for p in shaded if p["horizon"] == 3), key=lambda p: p["kmh"])),
    ):
        axis.semilogy(
            [p[x] for p in mine],
            [p["nmse"] for p in mine],
            "o--",
            ms=4,
            color="C0",
            label="delay domain, with shadowing (4 dB)",
        )
    axes[0].semilogy(
        bound["horizon"], bound["pilots"], "k--", lw=1, label="Wiener bound, 4 pilots of a bin"
    )
    axes[0].semilogy(
        bound["horizon"], bound["band"], "k-", lw=1, label="Wiener bound, 12 known of all bins"
    )
    axes[0].semilogy([1, 2, 3, 4], MARKS, "r^", label="marks of the literature")
    axes[0].semilogy([1, 2, 3, 4], AIM, "g*", label="aim")
    if "known" in bound:
        axes[0].semilogy(
            bound["horizon"], bound["known"], "k:", lw=1, label="Wiener bound, 12 known of 5 bins"
        )
        axes[1].semilogy(bound["kmh"], bound["pilots_kmh"], "k--", lw=1)
        axes[1].semilogy(bound["kmh"], bound["known_kmh"], "k:", lw=1)
        axes[1].semilogy(bound["kmh"], bound["band_kmh"], "k-", lw=1)
    axes[1].semilogy([75], [MARKS[2]], "r^")
    axes[0].set(
        xlabel="horizon (slots of 0.667 ms)",
        ylabel="NMSE of the predicted SNR",
        title="75 km/h at 1800 MHz, 16 dB, typical urban",
    )
    axes[1].set(
        xlabel="speed (km/h)", ylabel="NMSE of the predicted SNR", title="3 slots (2 ms) ahead"
    )
    axes[0].legend(fontsize=7, loc="lower right")
    save(fig, folder, "prediction")


def goodput(folder, points):
    fig, (a, b) = figure(2)
    x = [p["snr_db"] for p in points]
    for error, colour in (("0", "C0"), ("0_0356", "C2"), ("0_1", "C1"), ("0_2", "C3")):
        for table, style in (("table_0", "--"), ("table_0_1", "-")):
            b.plot(
                x,
                [100 * (p[f"measured_at_{error}"] / p[f"{table}_at_{error}"] - 1) for p in points],
                colour + style,
                lw=1.2,
                label=f"NMSE {error.replace('_', '.')}" if style == "-" else None,
            )
    b.set(
        xlabel="mean SNR (dB)",
        ylabel="gain of the table that follows the error (%)",
        title="over the table for 0.1 (lines) and for 0 (dashed)",
    )
    b.legend(fontsize=8)
    for key, label, style in (
        ("table_0_at_0", "table for NMSE 0, prediction perfect", "C0-"),
        ("table_0_1_at_0_1", "table for NMSE 0.1, NMSE 0.1", "C1-"),
        ("table_0_at_0_1", "table for NMSE 0, NMSE 0.1", "C1--"),
        ("table_0_1_at_0", "table for NMSE 0.1, prediction perfect", "C0--"),
        ("fixed_best", "best fixed modulation", "k:"),
    ):
        a.plot(x, [p[key] / 1e3 for p in points], style, lw=1.3, label=label)
    a.set(
        xlabel="mean SNR (dB)",
        ylabel="expected goodput, 25 bins (Mbit/s)",
        title="fixed switch tables, Rayleigh fading",
    )
    a.legend(fontsize=8)
    save(fig, folder, "goodput")


def draw(folder, data, bound):
    for curve, function in (
        ("awgn", awgn),
        ("fading", fading),
        ("estimation", estimation),
        ("acquisition", acquisition),
        ("tracking", tracking),
        ("snr", snr),
        ("goodput", goodput),
        ("uplink", uplink),
    ):
        if curve in data:
            function(folder, data[curve])
    if "prediction" in data:
        prediction(folder, data["prediction"], bound)
