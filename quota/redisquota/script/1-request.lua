#!lua
-- Decides a batch of operations on the accounts of some tenants. Nothing is written before every operation is decided,
-- and each account once: an error leaves all as it was, and no call sees half of what another takes.
--
--   KEYS     the accounts, a key each; the bucket that all tenants share may be one of them
--   ARGV[1]  what the operations have in common, the tiers that they name, the operations (request.go)
--   returns  what they found, in the same order (reply.go)
--
-- Instants and spans are whole microseconds by this server's clock, windows whole seconds. Tokens are doubles, computed
-- as package bucket computes them and stored as they are: no digit is lost between a promise and its being kept.
--
-- Most operations are plain takes on plain accounts, and are decided in the loop at the end, in local variables: tables
-- and closures would cost more than all the rest. What is not plain is left to the functions before it, which are made
-- only where there is such an operation. They decide plain ones in the same way.

local pack, unpack, byte, sub, floor, ceil = struct.pack, struct.unpack, string.byte, string.sub, math.floor, math.ceil
local ARG, pos = ARGV[1], nil

local NO_CLUSTER, CLUSTER_HERE = 0, 1 -- mode; else tokens of it were leased before, and open and reserve say how many
local SECOND, DAY, MONTH = 1, 4, 5    -- windows
local PLAIN, FULL, NOTHING = 1, 2, -2 ^ 53 -- forms of an account; NOTHING: no tier was asserted
local PLAIN_FORM, PLAIN_SIZE, PLAIN_HEAD, PLAIN_REST = '<BBc0ddddddddd', 74, 18, '<ddddddd'
local LARGEST = 2 ^ 53 -- usage stays there rather than lose count
local SPARE = 30 -- for how many seconds longer than it matters an account is kept, so that not each change extends it
local DECIDED, UNKNOWN_TIER, BROKEN = 0, 1, 2
local SHORT_TENANT, SHORT_GLOBAL, SHORT_PLAN = 1, 64, 128 -- and 2^w for window w

local now, mode, shared, plain_allowed, shared_rate, shared_burst, line, open, reserve, open_until, redefined, tiers_count,
  operations
now, mode, shared, plain_allowed, shared_rate, shared_burst, line, open, reserve, open_until, redefined, tiers_count,
  operations, pos = unpack('<dBHBdddddddHH', ARG)
if now == 0 then -- but for a test that sets the clock
  local time = redis.call('TIME')
  now = time[1] * 1e6 + time[2]
end

local tiers, named = {}, {}
for i = 1, tiers_count do
  local name, is_known, is_limited, rate, burst, since, windows
  name, is_known, is_limited, rate, burst, since, windows, pos = unpack('<Bc0BBdddB', ARG, pos)
  local limits, plain = {}, plain_allowed == 1 and is_limited == 1 and is_known == 1 and rate * 1e9 >= burst
  local t = {index = i - 1, name = name, limited = is_limited == 1, rate = rate, burst = burst, since = since,
    windows = windows, limits = limits, day = nil, month = nil, head = nil, form = nil}
  for j = 1, windows do -- the windows that count, and the limit of each or 0
    local w, limit
    w, limit, pos = unpack('<Bd', ARG, pos)
    t[j], limits[w] = w, limit
    if w < DAY then plain = false end
  end
  if plain then -- it is full again in some decades, and has no windows but days and months
    t.day, t.month = limits[DAY], limits[MONTH]
    t.head = pack('<BBc0dd', PLAIN, #name, name, rate, burst) -- what its accounts begin with
    t.form = windows == 0 and '<BI4dd' or windows == 1 and '<BI4ddd' or '<BI4dddd'
  end
  tiers[i], named[name] = t, is_known == 1 and t or tiers[1]
end

-- When each of the windows began that hold a second. The month's: the day of the month, in a calendar whose years begin
-- in March (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days).
local function windows_of(second)
  local days = floor(second / 86400)
  local of_era = (days + 719468) % 146097
  local year = floor((of_era - floor(of_era / 1460) + floor(of_era / 36524) - floor(of_era / 146096)) / 365)
  local of_year = of_era - (365 * year + floor(year / 4) - floor(year / 100))
  local month = days - of_year + floor((153 * floor((5 * of_year + 2) / 153) + 2) / 5)
  return {second, second - second % 60, second - second % 3600, days * 86400, month * 86400}
end
local second = floor(now / 1e6)
local began = windows_of(second)

local values = KEYS[1] and redis.call('MGET', _G.unpack(KEYS)) or {}
local writes = {} -- of each value that changed: for how many seconds to keep it, '' for ever, or SAME as it is kept now
local SAME = true

-- The bucket that all tenants share, where it is here: open and reserve are what it holds at shared_t, while operations
-- are decided; if none takes of it, it stays what it was.
local shared_t, shared_tokens, shared_at, shared_held, shared_kept, shared_plain, shared_changed = now, 0, now, 0, 0, false,
  false
