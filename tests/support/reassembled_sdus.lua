-- SPDX-License-Identifier: GPL-3.0-or-later
-- For tshark: each SDU that it puts together, as "U-RNTI direction bearer octets", a line each. Captures say that SDUs are IP
-- packets (rlc_capture.h, user_data), so each has a field of its own, whose source is the whole SDU.
local version, user, direction, bearer =
    Field.new("ip.version"), Field.new("rlc.channel.ueid"), Field.new("rlc.channel.dir"), Field.new("rlc.channel.rbid")
local tap = Listener.new("frame")

function tap.packet()
    local found = {version()}
    if #found < 2 then return end -- the first is that of the frame
    local channel = string.format("%u %u %u ", user().value, direction().value, bearer().value)
    for i = 2, #found do
        io.write(channel, found[i].source:bytes():tohex(true), "\n")
    end
end
