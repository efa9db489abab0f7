# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ./openwip reads this: the line that moves while packages are installed and programs built.

span() {   # seconds in words
    if [ "$1" -ge 90 ]; then printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); else printf '%d s' "$1"; fi
}

# left DONE TOTAL SECONDS: time left at the pace so far; nothing while that would be a guess.
left() {
    if [ "$3" -ge 5 ] && [ $((20 * $1)) -ge "$2" ]; then
        printf ', about %s left' "$(span $((($2 - $1) * $3 / $1)))"
    fi
}

# How far ninja is, from its own status at the end of the log: "@DONE TOTAL@ what".
ninja_progress() {   # LOG SECONDS
    line=$(tail -c 4000 "$1" | sed -n 's/^@\([0-9]* [0-9]*\)@.*/\1/p' | tail -n 1)
    [ -n "$line" ] || line='0 ?'
    printf 'build: compiling, %s of %s steps' "${line% *}" "${line#* }"
    [ "$line" = '0 ?' ] || left "${line% *}" "${line#* }" "$2"
}

# How far apt is, from its status: "dlstatus:1:PERCENT:words" while it fetches, then "pmstatus:PACKAGE:PERCENT:words".
apt_progress() {   # LOG SECONDS
    line=$(tail -n 1 "$1.status")
    kind=${line%%:*} rest=${line#*:}
    subject=${rest%%:*} rest=${rest#*:}
    percent=${rest%%[.:]*} words=${rest#*:}
    case $kind:$percent in
        dlstatus:[0-9]*) printf 'setup: fetching packages, %s %%, %s' "$percent" "$words" ;;
        pmstatus:[0-9]*)
            [ -n "$fetched" ] || fetched=$2   # installing is timed from here
            printf 'setup: installing packages, %s %%, %s' "$percent" "$subject"
            left "$percent" 100 $(($2 - fetched)) ;;
        *) printf '%s' "$step" ;;
    esac
}

step_progress() { printf '%s' "$step"; }

# read_progress PROGRESS LOG SECONDS: `shown`, what PROGRESS LOG SECONDS says. A program such as cat would outlive the line, and complain on the
# terminal that its file is gone.
read_progress() {
    "$1" "$2" "$3" >"$2.line"
    read -r shown <"$2.line" || :   # the file has no end of line
}

# show PROGRESS LOG: once a second what PROGRESS LOG SECONDS says. On a terminal the line is written over; elsewhere it is a line
# of its own every 15 s (a test: OPENWIP_LINE_EVERY_S).
show() {
    begun=$(date +%s) said=$begun fetched=''
    # A sleep that is left over must not hold the output that somebody reads to its end.
    while sleep 1 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
        now=$(date +%s)
        if [ -t 1 ]; then
            columns=$(stty size 2>/dev/null <&1) || columns='24 80'
            read_progress "$1" "$2" $((now - begun))
            printf '\r\033[K%.*s' $((${columns#* } - 1)) "$shown ($(span $((now - begun))))"
        elif [ $((now - said)) -ge "${OPENWIP_LINE_EVERY_S:-15}" ]; then
            said=$now
            read_progress "$1" "$2" $((now - begun))
            printf '%s (%s)\n' "$shown" "$(span $((now - begun)))"
        fi
    done
}

# watched PROGRESS LOG COMMAND...: runs the command with its output in LOG, and the line beside it. The command stays in the
# foreground: Ctrl-C is for it.
watched() {
    show "$1" "$2" &
    line_of=$!
    watched_log=$2
    shift 2
    trap 'kill $line_of 2>/dev/null || :; [ ! -t 1 ] || printf "\n"; exit 130' INT TERM HUP
    status=0
    "$@" >>"$watched_log" 2>&1 || status=$?
    kill $line_of 2>/dev/null || :
    wait $line_of 2>/dev/null || :
    trap - INT TERM HUP
    rm -f "$watched_log.line"
    [ ! -t 1 ] || printf '\r\033[K'
    return $status
}
