-- SPDX-License-Identifier: GPL-3.0-or-later
-- Wireshark dissector of OpenWIP captures (docs/how-to/captures.md): link frames with their slot, bin, modulation and
-- fate, the IP packets inside them, and the way of each packet from TUN to TUN.
--
-- A link frame comes as LINKTYPE_WIRESHARK_UPPER_PDU, which names its dissector: no preference is needed. The
-- header is that of host/capture/frame_header.h. What is known of later packets shows in the second pass
-- (Wireshark always; tshark with -2).
local here = __DIR__ or debug.getinfo(1, "S").source:match("^@(.*[/\\])") or ""
if not here:match("[/\\]$") then here = here .. "/" end
local header = assert(loadfile(here .. "openwip_ip_header.lua"))()
local reassembly = assert(loadfile(here .. "openwip_reassembly.lua"))(header)

local openwip = Proto("openwip", "OpenWIP link frame")
local way = Proto("openwip_way", "OpenWIP: way through the cell")

local SENT, RECEIVED = 0, 1
local GOOD, BAD, UNKNOWN = 1, 2, 3
local MODULATION = { [0] = "none", "BPSK", "4-QAM", "8-QAM", "16-QAM", "32-QAM", "64-QAM", "128-QAM", "256-QAM" }
local OUTCOME = { [0] = "none", "good", "bad", "unknown (grant lost)" }
local PLACE = { [SENT] = "sent by the base station", [RECEIVED] = "received by a terminal" }

local F = {
    place = ProtoField.uint8("wip.place", "Place", base.DEC, PLACE),
    slot = ProtoField.int64("wip.slot", "Slot"),
    bin = ProtoField.uint8("wip.bin", "Bin"),
    modulation = ProtoField.uint8("wip.modulation", "Modulation (bits per symbol)", base.DEC, MODULATION),
    whole = ProtoField.bool("wip.whole", "Whole frame", 8, nil, 0x01),
    last = ProtoField.bool("wip.last", "Reaches the end of the frame", 8, nil, 0x02),
    combined = ProtoField.bool("wip.combined", "Decided after combining", 8, nil, 0x04),
    retransmission = ProtoField.bool("wip.retransmission", "Retransmission", 8, nil, 0x08),
    outcome = ProtoField.uint8("wip.outcome", "ARQ outcome", base.DEC, OUTCOME),
    sn = ProtoField.uint16("wip.sn", "SN"),
    user = ProtoField.uint16("wip.user", "User"),
    offset = ProtoField.uint8("wip.offset", "Offset in the frame (nibbles)"),
    retransmissions = ProtoField.uint8("wip.retransmissions", "Retransmissions so far"),
    payload_bits = ProtoField.uint16("wip.payload_bits", "Payload (bits)"),
    window_edge = ProtoField.uint16("wip.window_edge", "Window edge (SN)"),
    border = ProtoField.uint8("wip.border", "Packet border (nibble)"),
    predicted = ProtoField.float("wip.snr.predicted", "Predicted SNR (dB)"),
    measured = ProtoField.float("wip.snr.measured", "Measured SNR (dB)"),
    snr = ProtoField.float("wip.snr", "SNR (dB)"),
    number = ProtoField.uint64("wip.packet_number", "Number of an IP packet in it"),
    payload = ProtoField.bytes("wip.payload", "Payload"),
    sent_in = ProtoField.framenum("wip.sent_in", "Sent in", base.NONE, frametype.REQUEST),
    received_in = ProtoField.framenum("wip.received_in", "Received in", base.NONE, frametype.RESPONSE),
    retransmission_of = ProtoField.framenum("wip.retransmission_of", "Retransmission of frame", base.NONE,
                                            frametype.RETRANS_PREV),
    retransmitted_in = ProtoField.framenum("wip.retransmitted_in", "Retransmitted in", base.NONE,
                                           frametype.RETRANS_NEXT),
    acknowledged_in = ProtoField.framenum("wip.acknowledged_in", "Acknowledged in", base.NONE, frametype.ACK),
    ip_bytes = ProtoField.uint32("wip.ip.bytes", "Length"),
    ip_part = ProtoField.string("wip.ip.part", "Nibbles of it in this frame"),
    ip_tun_in = ProtoField.framenum("wip.ip.tun_in", "Came in at the TUN in"),
    ip_frame = ProtoField.framenum("wip.ip.frame", "Sent in link frame"),
    ip_received = ProtoField.framenum("wip.ip.received_in", "Complete in received frame"),
    ip_tun_out = ProtoField.framenum("wip.ip.tun_out", "Left at the other TUN in"),
    ip_delay = ProtoField.double("wip.ip.delay_ms", "TUN to TUN (ms)"),
}
openwip.fields = F

local E = {
    damaged = ProtoExpert.new("wip.damaged", "Damaged frame: the CRC does not match", expert.group.CHECKSUM,
                              expert.severity.ERROR),
    unheard = ProtoExpert.new("wip.unheard", "The terminal did not decode the grant of this slot",
                              expert.group.SEQUENCE, expert.severity.WARN),
    again = ProtoExpert.new("wip.again", "Retransmission", expert.group.SEQUENCE, expert.severity.NOTE),
    altered = ProtoExpert.new("wip.altered", "The IP packet was altered on its way", expert.group.REASSEMBLE,
                              expert.severity.ERROR),
    short = ProtoExpert.new("wip.short", "The capture holds only a part of the frame (--snap)",
                            expert.group.REASSEMBLE, expert.severity.WARN),
    version = ProtoExpert.new("wip.version", "Written by a version that this dissector does not know",
                              expert.group.UNDECODED, expert.severity.ERROR),
}
openwip.experts = E

local frame_interface = Field.new("frame.interface_name")
local ip_dissector, ipv6_dissector = Dissector.get("ip"), Dissector.get("ipv6")

-- The state of one capture.
local users         -- user -> reassembly
local link_frames   -- frame number -> what was found out about it in the first pass
local sent_at, received_at   -- user, slot and bin -> frame number
local tun_packets   -- frame number -> {packet} or {number of the other end}
local waiting       -- list -> bytes -> queue

local function new_capture()
    users, link_frames, sent_at, received_at, tun_packets = {}, {}, {}, {}, {}
    waiting = { tun_in = {}, tun_out = {}, sent = {}, received = {} }
end
new_capture()

function openwip.init() new_capture() end

-- --- what belongs together: same bytes, first come first served ---

local function put(list, key, value)
    local queue = waiting[list][key]
    if queue == nil then
        waiting[list][key] = { value }
    else
        queue[#queue + 1] = value
    end
end

local function take(list, key)
    local queue = waiting[list][key]
    if queue == nil then return nil end
    local value = table.remove(queue, 1)
    if #queue == 0 then waiting[list][key] = nil end
    return value
end

local function bind(packet, end_of_way, tun)
    packet[end_of_way], packet[end_of_way .. "_time"] = tun.number, tun.time
    tun_packets[tun.number] = { packet = packet }
end

-- --- first pass ---

local function on_sent_packet(user)
    return function(packet)
        packet.sent = ByteArray.new(packet.sent_hex):raw()
        packet.user = user
        local tun = take("tun_in", packet.sent)
        if tun then bind(packet, "tun_in", tun) else put("sent", packet.sent, packet) end
    end
end

local function on_received_packet(packet)
    packet.received = packet.received_hex == packet.sent_hex and packet.sent
        or ByteArray.new(packet.received_hex):raw()
    packet.sent_hex, packet.received_hex = nil, nil
    local whole = link_frames[packet.received_in]
    if whole then whole.complete[#whole.complete + 1] = packet end
    local tun = take("tun_out", packet.received)
    if tun then bind(packet, "tun_out", tun) else put("received", packet.received, packet) end
end

local function learn(frame)
    link_frames[frame.number] = frame
    local user = users[frame.user]
    if user == nil then
        user = reassembly.new_user()
        users[frame.user] = user
    end
    frame.usn = reassembly.unwrapped(user, frame.sn)
    frame.complete = {}
    local key = (frame.user * 2 ^ 40 + frame.slot) * 32 + frame.bin
    frame.key = key
    if frame.place == SENT then
        sent_at[key] = frame.number
        reassembly.transmission(user, frame.usn, frame)
        if frame.hex and frame.whole and not frame.retransmission then
            reassembly.sent_first(user, frame.usn, frame.hex, frame.border, function(packet)
                frame.complete[#frame.complete + 1] = packet
                on_sent_packet(frame.user)(packet)
                reassembly.check_arrived(user, packet, on_received_packet)
            end)
        end
    else
        received_at[key] = frame.number
        local twin = link_frames[sent_at[key]]
        if frame.last < frame.first and twin then frame.last = twin.last end   -- a bad frame comes without bits
        if frame.outcome == GOOD and frame.hex then
            reassembly.received_good(user, frame.usn, frame.first, frame.hex, frame.number, on_received_packet)
        end
    end
    frame.hex = nil
end

-- --- what is shown ---

local function link(tree, field, number)
    if number then tree:add(field, number):set_generated() end
end

-- Frames sent with a part of the packet, in order.
local function frames_of(packet)
    local user, seen, numbers = users[packet.user], {}, {}
    for _, part in ipairs(packet.parts) do
        for _, f in ipairs(user.sns[part.sn].sent) do
            if f.first <= part.last and f.last >= part.first and not seen[f.number] then
                seen[f.number] = true
                numbers[#numbers + 1] = f.number
            end
        end
    end
    table.sort(numbers)
    return numbers
end

local function show_way(tree, packet, with_frames)
    link(tree, F.ip_tun_in, packet.tun_in)
    if with_frames then
        for _, number in ipairs(frames_of(packet)) do link(tree, F.ip_frame, number) end
    end
    link(tree, F.ip_received, packet.received_in)
    link(tree, F.ip_tun_out, packet.tun_out)
    if packet.tun_in and packet.tun_out then
        tree:add(F.ip_delay, (packet.tun_out_time - packet.tun_in_time) * 1000):set_generated()
    end
end

-- The packet itself, where it is complete. In the second pass only: then the analysis of TCP is over, and does
-- not take it for a segment sent again (it is in the capture at the TUNs as well).
local function show_content(root, pinfo, bytes)
    local tvb = ByteArray.new(bytes, true):tvb("IP packet")
    local dissector = bytes:byte(1) >= 0x60 and ipv6_dissector or ip_dissector
    local src, dst = pinfo.src, pinfo.dst
    pcall(dissector.call, dissector, tvb, pinfo, root)
    pinfo.src, pinfo.dst = src, dst
    return tostring(pinfo.cols.protocol)
end

local function show_packets(tree, root, pinfo, frame)
    local names = {}
    local user = users[frame.user]
    local known = user.sns[frame.usn]
    for _, part in ipairs(known and known.packets or {}) do
        local packet = part.packet
        if packet.sent and part.first <= frame.last and part.last >= frame.first then
            local item = tree:add(way, string.format("IP packet of %d bytes", #packet.sent))
            item:set_generated()
            item:add(F.ip_bytes, #packet.sent):set_generated()
            item:add(F.ip_part, string.format("%d..%d", part.first, part.last)):set_generated()
            show_way(item, packet, packet.received_in == frame.number)
            if packet.received and packet.received ~= packet.sent then item:add_proto_expert_info(E.altered) end
        end
    end
    for _, packet in ipairs(frame.complete) do
        local bytes = frame.place == SENT and packet.sent or packet.received
        if pinfo.visited and bytes then names[#names + 1] = show_content(root, pinfo, bytes) end
    end
    return names
end

local function show_links(tree, frame)
    local user = users[frame.user]
    local known = user.sns[frame.usn]
    if frame.place == RECEIVED then
        link(tree, F.sent_in, sent_at[frame.key])
    else
        link(tree, F.received_in, received_at[frame.key])
    end
    local number = frame.place == SENT and frame.number or sent_at[frame.key]
    local first, next_one
    for _, f in ipairs(known and known.sent or {}) do
        local overlaps = f.first <= frame.last and f.last >= frame.first
        if number and f.number < number and overlaps then first = first or f.number end
        if number and f.number > number and overlaps then next_one = next_one or f.number end
    end
    if frame.retransmission then link(tree, F.retransmission_of, first) end
    link(tree, F.retransmitted_in, next_one)
    local last = known and known.length and math.min(frame.last, known.length - 1) or frame.last
    link(tree, F.acknowledged_in, reassembly.acknowledged_in(user, frame.usn, frame.first, last))
    return first
end

local function summary(frame, first, names)
    local text = { string.format("slot %d bin %d %s SN %d", frame.slot, frame.bin,
                                 MODULATION[frame.bits_per_symbol] or "?", frame.sn) }
    if not frame.whole then text[#text + 1] = string.format("from nibble %d", frame.first) end
    if frame.retransmission then
        local times = frame.place == SENT and string.format("%d ", frame.retransmissions) or ""
        text[#text + 1] = "retransmission " .. times .. (first and "of #" .. first or "")
    end
    if frame.place == RECEIVED then
        text[#text + 1] = frame.outcome == BAD and "DAMAGED" or frame.outcome == UNKNOWN and "UNHEARD" or "good"
        if frame.combined then text[#text + 1] = "combined" end
    end
    text[#text + 1] = string.format("%.1f dB", frame.snr)
    if #names > 0 then text[#text + 1] = "[" .. table.concat(names, ", ") .. " complete]" end
    return table.concat(text, " ")
end

function openwip.dissector(tvb, pinfo, root)
    if tvb:len() < 32 then return 0 end
    local tree = root:add(openwip, tvb())
    pinfo.cols.protocol = "OpenWIP"
    if tvb(0, 1):uint() ~= 2 then
        tree:add_proto_expert_info(E.version)
        pinfo.cols.info = "link frame of an unknown version"
        return tvb:len()
    end
    local flags = tvb(4, 1):uint()
    local frame = link_frames[pinfo.number]
    local nof_numbers, border = tvb(28, 2):uint(), tvb(30, 1):uint()
    local payload_at = 32 + 8 * nof_numbers
    if frame == nil then
        -- One look at the header and one at the payload: the ranges of a tvb are objects, and cost more than what is in them.
        local _, place, bin, bits_per_symbol, _, outcome, sn, slot_high, slot_low, user, first, retransmissions, bits =
            Struct.unpack(">BBBBBBI2i4I4I2BBI2", tvb:raw(0, 22))
        local nibbles = math.floor(bits / 4)
        local there = tvb:len() - payload_at
        frame = {
            number = pinfo.number, place = place, bin = bin, bits_per_symbol = bits_per_symbol, outcome = outcome, sn = sn,
            slot = slot_high * 2 ^ 32 + slot_low, user = user, first = first, last = first + nibbles - 1,
            retransmissions = retransmissions, snr = tvb(24, 4):float(),
            whole = flags % 2 == 1, combined = flags % 8 >= 4, retransmission = flags % 16 >= 8,
            border = border,
            short = there < math.ceil(nibbles / 2),
        }
        if not frame.short and nibbles > 0 then
            frame.hex = Struct.tohex(tvb:raw(payload_at, math.ceil(nibbles / 2)), true):sub(1, nibbles)
        end
        learn(frame)
    end
    tree:add(F.place, tvb(1, 1))
    tree:add(F.slot, tvb(8, 8))
    tree:add(F.bin, tvb(2, 1))
    tree:add(F.modulation, tvb(3, 1))
    tree:add(F.sn, tvb(6, 2))
    tree:add(F.offset, tvb(18, 1))
    tree:add(F.whole, tvb(4, 1))
    tree:add(F.last, tvb(4, 1))
    tree:add(F.retransmission, tvb(4, 1))
    if frame.place == SENT then
        tree:add(F.retransmissions, tvb(19, 1))
        tree:add(F.predicted, tvb(24, 4))
    else
        tree:add(F.outcome, tvb(5, 1))
        tree:add(F.combined, tvb(4, 1))
        tree:add(F.measured, tvb(24, 4))
    end
    tree:add(F.snr, tvb(24, 4)):set_hidden()
    tree:add(F.user, tvb(16, 2))
    if flags % 32 >= 16 then tree:add(F.window_edge, tvb(22, 2)) end
    if border < 254 then tree:add(F.border, tvb(30, 1)) end
    tree:add(F.payload_bits, tvb(20, 2))
    for i = 0, nof_numbers - 1 do
        if tvb:len() >= 40 + 8 * i then tree:add(F.number, tvb(32 + 8 * i, 8)) end
    end
    if tvb:len() > payload_at then tree:add(F.payload, tvb(payload_at)) end
    if frame.outcome == BAD then tree:add_proto_expert_info(E.damaged) end
    if frame.outcome == UNKNOWN then tree:add_proto_expert_info(E.unheard) end
    if frame.retransmission then tree:add_proto_expert_info(E.again) end
    if frame.short then tree:add_proto_expert_info(E.short) end
    local first = show_links(tree, frame)
    local names = show_packets(tree, root, pinfo, frame)
    pinfo.cols.protocol = "OpenWIP"
    pinfo.cols.src = frame.place == SENT and "base" or "air"
    pinfo.cols.dst = frame.place == SENT and "air" or "terminal" .. (frame.user > 0 and frame.user + 1 or "")
    pinfo.cols.info = summary(frame, first, names)
    return tvb:len()
end

-- --- IP packets at the TUNs ---

-- A packet that a station reads from its TUN has left the host (sent); one that it writes comes in
-- (received). A packet that comes in and was in no link frame has come over the emulated uplink.
local function learn_tun(number, time, sent, bytes)
    local tun = { number = number, time = time }
    if sent then
        local packet = take("sent", bytes)
        if packet then bind(packet, "tun_in", tun) else put("tun_in", bytes, tun) end
        return
    end
    local packet = take("received", bytes)
    if packet then return bind(packet, "tun_out", tun) end
    local came = take("tun_in", bytes)
    if came then
        local both = { tun_in = came.number, tun_out = number, delay = time - came.time }
        tun_packets[came.number], tun_packets[number] = both, both
    else
        put("tun_out", bytes, tun)
    end
end

-- Raw IP with a direction, and nothing around it: the first pass has no names of interfaces.
local function is_raw_ip(tvb)
    if tvb:len() < 20 or tvb:len() ~= tvb:reported_len() then return false end
    local version = math.floor(tvb(0, 1):uint() / 16)
    return version == 4 and tvb(2, 2):uint() == tvb:len() or version == 6 and tvb(4, 2):uint() + 40 == tvb:len()
end

function way.dissector(tvb, pinfo, root)
    local sent = pinfo.p2p_dir == P2P_DIR_SENT
    if not sent and pinfo.p2p_dir ~= P2P_DIR_RECV or not is_raw_ip(tvb) then return end
    local at = pinfo.number
    if not pinfo.visited then learn_tun(at, pinfo.rel_ts, sent, tvb:raw()) end
    local found = tun_packets[at]
    local interface = frame_interface()
    if found == nil or interface == nil or not interface.value:match("^%l+%d*%.ip$") then return end
    local tree = root:add(way)
    if found.packet then
        show_way(tree, found.packet, true)
    else
        link(tree, F.ip_tun_in, found.tun_in)
        link(tree, F.ip_tun_out, found.tun_out)
        tree:add(F.ip_delay, found.delay * 1000):set_generated()
    end
end
register_postdissector(way)
