-- SPDX-License-Identifier: GPL-3.0-or-later
-- IP packets out of the link frames of one user, in the order of the capture.
--
-- The nibbles that the base station sends first under each SN form one string, packet after packet:
-- following it tells which nibbles of which frames each packet is made of. The nibbles that a
-- terminal received (good copies, whole or fragments) are gathered by SN; a packet has arrived with
-- its last nibble, and its bytes are put together from what was received.
--
-- numbers: frames of the capture (as in frame.number). Positions in frames: nibbles, from 0.
local header = ...

local M = {}

local SN_MODULUS = 65536    -- on the air
local MOST_NIBBLES = 210    -- of a frame

local function unwrap(reference, sn)
    return reference + (sn - reference + SN_MODULUS / 2) % SN_MODULUS - SN_MODULUS / 2
end

function M.new_user()
    return {
        reference = nil,     -- unwrapped SN of the newest frame
        sns = {},            -- unwrapped SN -> what is known of that frame
        expected = nil,      -- SN that the stream goes on with
        packet = nil,        -- the one that is not whole yet
        lost = true,         -- the place of the next header is not known
    }
end

function M.unwrapped(user, sn)
    user.reference = user.reference and unwrap(user.reference, sn) or sn + SN_MODULUS
    return user.reference
end

local function frame_of(user, sn)
    local f = user.sns[sn]
    if f == nil then
        f = { sent = {}, received = {}, packets = {}, there = {}, nof_there = 0 }
        user.sns[sn] = f
    end
    return f
end

local function begin_packet()
    return { pieces = {}, have = 0, need = nil, parts = {} }
end

local function add_part(user, packet, sn, first, nibbles)
    packet.pieces[#packet.pieces + 1] = nibbles
    packet.have = packet.have + #nibbles
    local part = { sn = sn, first = first, last = first + #nibbles - 1, packet = packet }
    packet.parts[#packet.parts + 1] = part
    local f = frame_of(user, sn)
    f.packets[#f.packets + 1] = part
end

-- Cuts hex, the nibbles of frame sn from position `at` on (at + 1 in hex), into packets.
local function follow(user, sn, hex, at, done)
    while at < #hex do
        local packet = user.packet
        if packet == nil then
            if hex:sub(at + 1, at + 1) == "0" then return true end   -- padding to the end
            packet = begin_packet()
            user.packet = packet
        end
        if packet.need == nil then
            local so_far = table.concat(packet.pieces)
            local need = header.packet_nibbles(so_far .. hex:sub(at + 1), 1)
            if need == nil then return false end                     -- no header: the border is lost
            packet.need = need or nil
        end
        local take = #hex - at
        if packet.need then take = math.min(take, packet.need - packet.have) end
        add_part(user, packet, sn, at, hex:sub(at + 1, at + take))
        at = at + take
        if packet.need == packet.have then
            user.packet = nil
            packet.sent_hex = table.concat(packet.pieces)
            packet.pieces = nil
            done(packet)
        end
    end
    return true
end

-- The packet that was being followed is not complete in this capture.
local function abandon(user)
    if user.packet then
        user.packet.broken = true
        user.packet.pieces = nil
        user.packet = nil
    end
end

-- A frame first sent under `sn`, its payload as hex, its packet border (a nibble, or beyond it). done(packet) for each
-- packet that it completes.
function M.sent_first(user, sn, hex, border, done)
    local f = frame_of(user, sn)
    f.length = #hex
    if user.expected ~= sn then      -- the start of the capture, or frames that telemetry lost
        abandon(user)
        user.lost = true
    end
    user.expected = sn + 1
    local at = 0
    if user.lost then
        if border >= #hex then return end
        at, user.lost = border, false
    end
    if not follow(user, sn, hex, at, done) then
        abandon(user)
        user.lost = true
    end
end

-- A transmission: `f` = {number, first, last, retransmissions}.
function M.transmission(user, sn, f)
    local known = frame_of(user, sn)
    known.sent[#known.sent + 1] = f
end

local function packet_is_there(user, packet)
    for _, part in ipairs(packet.parts) do
        local f = user.sns[part.sn]
        if not f.whole then
            for i = part.first, part.last do
                if not f.there[i] then return false end
            end
        end
    end
    return true
end

local function received_hex(user, packet)
    local pieces = {}
    for _, part in ipairs(packet.parts) do
        local f = user.sns[part.sn]
        pieces[#pieces + 1] = f.whole and f.whole:sub(part.first + 1, part.last + 1)
            or table.concat(f.there, "", part.first, part.last)
    end
    return table.concat(pieces)
end

-- Every nibble of a packet has been received in this frame or before.
local function arrive(user, packet, number, arrived)
    packet.received_hex = received_hex(user, packet)
    packet.received_in = number
    arrived(packet)
end

-- The nibbles of a frame are kept until every packet with a part in it has arrived.
local function forget_if_over(f)
    local over = #f.packets > 0 and f.nof_there == f.length
    for _, part in ipairs(f.packets) do
        over = over and (part.packet.received_in ~= nil or part.packet.broken)
    end
    if over then f.there, f.whole, f.over = {}, nil, true end
end

-- A good copy of nibbles `first` .. of frame sn arrived in `number` of the capture. arrived(packet) for each IP
-- packet that is whole with it; packet.received_hex is what came.
function M.received_good(user, sn, first, hex, number, arrived)
    local f = frame_of(user, sn)
    local length = math.min(#hex, (f.length or MOST_NIBBLES) - first)
    f.received[#f.received + 1] = { number = number, first = first, last = first + length - 1 }
    if f.over or f.whole then return end
    if f.length == length then
        f.whole, f.there, f.nof_there = hex, {}, length
    else
        for i = first, first + length - 1 do
            if not f.there[i] then
                f.there[i] = hex:sub(i - first + 1, i - first + 1)
                f.nof_there = f.nof_there + 1
            end
        end
    end
    for _, part in ipairs(f.packets) do
        local packet = part.packet
        if packet.sent_hex and not packet.received_in and packet_is_there(user, packet) then
            arrive(user, packet, number, arrived)
        end
    end
    forget_if_over(f)
end

-- For a packet whose border was found only after its frames had been received.
function M.check_arrived(user, packet, arrived)
    if not packet_is_there(user, packet) then return end
    local number = 0
    for _, part in ipairs(packet.parts) do
        number = math.max(number, M.acknowledged_in(user, part.sn, part.first, part.last) or 0)
    end
    arrive(user, packet, number, arrived)
end

-- The number of the capture's packet with which nibbles first .. last of frame sn had all been received.
function M.acknowledged_in(user, sn, first, last)
    local f = user.sns[sn]
    local at = first
    local latest
    local progress = true
    if f == nil then return nil end
    while at <= last and progress do
        progress = false
        for _, r in ipairs(f.received) do
            if r.first <= at and r.last >= at then
                at, progress = r.last + 1, true
                latest = math.max(latest or 0, r.number)
                break
            end
        end
    end
    return at > last and latest or nil
end

return M
