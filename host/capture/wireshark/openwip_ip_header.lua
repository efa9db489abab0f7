-- SPDX-License-Identifier: GPL-3.0-or-later
-- Where an IP packet begins in a string of hexadecimal digits, one digit a nibble: link frames hold a whole
-- number of nibbles but not of bytes, so a packet may begin in the middle of one (docs/air-interface.md).
local M = {}

-- RFC 1071, over hex[first .. last], positions from 1.
local function internet_sum(hex, first, last, sum)
    for i = first, last, 4 do
        local word = hex:sub(i, math.min(i + 3, last))
        sum = sum + tonumber(word, 16) * (#word == 2 and 256 or 1)
    end
    while sum > 65535 do sum = sum % 65536 + math.floor(sum / 65536) end
    return sum
end

local known_next_header = { [0] = true, [4] = true, [6] = true, [17] = true, [41] = true, [43] = true, [44] = true,
                            [47] = true, [50] = true, [51] = true, [58] = true, [59] = true, [60] = true, [132] = true }

-- Of the header at position `at`: its packet's length in nibbles; nil when there is none; false when more
-- of the string is needed to tell.
function M.packet_nibbles(hex, at)
    local version = hex:sub(at, at)
    if version == "" then return false end
    if version == "4" then
        local ihl = tonumber(hex:sub(at + 1, at + 1), 16)
        if ihl == nil then return false end
        if ihl < 5 then return nil end
        if #hex < at + 8 * ihl - 1 then return false end
        local bytes = tonumber(hex:sub(at + 4, at + 7), 16)
        if bytes < 4 * ihl or internet_sum(hex, at, at + 8 * ihl - 1, 0) ~= 65535 then return nil end
        return 2 * bytes
    end
    if version == "6" then
        if #hex < at + 79 then return false end
        if not known_next_header[tonumber(hex:sub(at + 12, at + 13), 16)] or hex:sub(at + 14, at + 15) == "00" then
            return nil
        end
        return 80 + 2 * tonumber(hex:sub(at + 8, at + 11), 16)
    end
    return nil
end

-- An IPv6 header has no checksum; its transport has one over the whole packet. true, nil, or false as above.
local function ipv6_is_right(hex, at, nibbles)
    if #hex < at + nibbles - 1 then return false end
    local protocol = tonumber(hex:sub(at + 12, at + 13), 16)
    if protocol ~= 6 and protocol ~= 17 and protocol ~= 58 or nibbles < 96 then return nil end
    local sum = internet_sum(hex, at + 16, at + 79, (nibbles - 80) / 2 + protocol)
    return internet_sum(hex, at + 80, at + nibbles - 1, sum) == 65535 or nil
end

-- The first packet border at or after `from` in a stream whose border was lost: a header that is right and is
-- followed by another one or by padding. Returns position, or nil and the position to go on from.
function M.find_border(hex, from)
    local at = from
    while true do
        at = hex:find("[46]", at)
        if at == nil then return nil, #hex + 1 end
        local nibbles = M.packet_nibbles(hex, at)
        if nibbles and hex:sub(at, at) == "6" then
            local right = ipv6_is_right(hex, at, nibbles)
            if right == false then return nil, at end
            if right then return at end
            nibbles = nil
        end
        if nibbles == false then return nil, at end
        if nibbles then
            local behind = at + nibbles
            if behind > #hex then return nil, at end
            local follows = M.packet_nibbles(hex, behind)
            if follows == false then return nil, at end
            if follows or hex:sub(behind, behind) == "0" then return at end
        end
        at = at + 1
    end
end

return M
