-- SPDX-License-Identifier: GPL-3.0-or-later
-- How long an IP packet is, of a string of hexadecimal digits, one digit a nibble: link frames hold a whole
-- number of nibbles but not of bytes, so a packet may begin in the middle of one (docs/reference/air-interface.md).
local M = {}

-- The length in nibbles of the packet at position `at`; nil when there is none; false when more of
-- the string is needed to tell.
function M.packet_nibbles(hex, at)
    local version = hex:sub(at, at)
    local length = tonumber(hex:sub(at + (version == "6" and 8 or 4), at + (version == "6" and 11 or 7)), 16)
    if version ~= "" and version ~= "4" and version ~= "6" then return nil end
    if #hex < at + 11 then return false end
    if version == "4" and length < 20 then return nil end
    return version == "6" and 80 + 2 * length or 2 * length
end

return M
