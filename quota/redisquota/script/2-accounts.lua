
-- What is done where not all is plain: see general, which is made, as all of this is, where it is needed.
local function make_general()

-- Accounts, and what can be done to them.
local function accounts()
  local sizes = {} -- of the values as they are kept now, once another is to be

  -- Buckets. Leased tokens are out of a bucket, perhaps unspent, and so leave no room to refill: tokens + held <= burst.
  -- A lease ends with a second and lasts less than two, so there are two ends at most.

  local function level(b, t)
    local elapsed, room = t - b.at, b.burst - b.held
    if elapsed <= 0 then return b.tokens end
    local there = b.tokens + b.rate * (elapsed * 1000) / 1e9
    if there < room then return there end
    return room > b.tokens and room or b.tokens
  end

  local function fill(b, there, t)
    local room = b.burst - b.held
    if room < 0 then room = 0 end
    b.tokens = there < room and there or room
    if t > b.at then b.at = t end
  end

  -- Ends the leases that are over at t, each at its end: the room that it kept is refilled from then on, not before.
  local function expire(b, t)
    while b.held > 0 and b.ends1 <= t do
      fill(b, level(b, b.ends1), b.ends1)
      b.ends1, b.held1, b.ends2, b.held2, b.held = b.ends2, b.held2, 0, 0, b.held2
    end
  end

  local function hold(b, leased, ends)
    if b.held1 == 0 or b.ends1 == ends then
      b.ends1, b.held1 = ends, b.held1 + leased
    else
      b.ends2, b.held2 = math.max(b.ends2, ends), b.held2 + leased -- the later, should they be more than two
    end
    b.held = b.held1 + b.held2
  end

  -- Ends a lease before its time; what is unspent of it goes back. One that is over is left alone: its room was given
  -- away when it ended, and what came back now could be spent twice.
  local function release(b, leased, ends, unspent, t)
    local there = level(b, t)
    if b.held1 >= leased and b.ends1 == ends then
      b.held1 = b.held1 - leased
    elseif b.held2 >= leased and b.ends2 == ends then
      b.held2 = b.held2 - leased
    else
      return false
    end
    if b.held1 == 0 then b.ends1, b.held1, b.ends2, b.held2 = b.ends2, b.held2, 0, 0 end
    b.held = b.held1 + b.held2
    fill(b, there + unspent, t)
    return true
  end

  -- Puts a bucket under a limit from t on, or from when its tier was defined anew; one that was not there starts full.
  -- Reports whether it was under another.
  local function settle(b, limit, t)
    if not limit.limited then -- meanwhile the bucket stays under the limit that it was under, whatever becomes of that
      b.tier = ''
      return false
    end
    if b.rate == limit.rate and b.burst == limit.burst then
      b.tier = limit.name
      return false
    end
    if b.tier == limit.name and limit.since > b.at and limit.since < t then t = limit.since end
    local there = b.burst > 0 and level(b, t) or limit.burst
    b.rate, b.burst, b.tier = limit.rate, limit.burst, limit.name
    fill(b, there, t)
    return true
  end

  -- Accounts: a bucket, what was spent in each window (by the window's number) and when last, and what is known of the
  -- tenant's tier.

  local FULL_FORM, FULL_SIZE = '<BBc0Bc0Bc0ddddddddddddI4dI4dddd', 4 + 8 * 17 + 8

  local function is_full(v)
    local size = FULL_SIZE
    for name = 2, 4 do size = size + (byte(v, name + size - FULL_SIZE) or 0) end
    return #v == size
  end

  local function within(least, most, ...) -- NaN is not
    for _, x in ipairs({...}) do
      if not (x >= least and x <= most) then return false end
    end
    return true
  end

  -- Reports whether the numbers are such as an account can have.
  local function is_sane(a)
    return within(0, a.burst, a.tokens) and within(0, LARGEST, a.burst, a.held1, a.held2, a[1], a[2], a[3], a[4], a[5]) and
      a.rate >= 0 and a.rate < math.huge and within(0, 1e17, a.at, a.kept, a.ends1, a.ends2) and
      within(-2 ^ 53, 2 ^ 53, a.charged, a.asserted_s, a.assigned_s)
  end

  local function broken(wrong) return pack('<BH', BROKEN, #wrong) .. wrong end
  local function unknown(name) return pack('<BB', UNKNOWN_TIER, #name) .. name end

  -- Returns account i, brought to t, and t, which is now, or when the account last changed where the clock was ahead
  -- then. Or nil, and the reply that says why not.
  local function load(i)
    local v = values[i]
    local a = {tokens = 0, rate = 0, burst = 0, at = 0, tier = '', kept = 0, charged = 0, 0, 0, 0,
      0, 0, asserted = '', asserted_s = 0, asserted_ns = 0, assigned = '', assigned_s = 0, assigned_ns = 0, ends1 = 0,
      held1 = 0, ends2 = 0, held2 = 0, held = 0, began = began, second = second}
    local kind = v and byte(v)
    if kind == PLAIN and #v >= PLAIN_SIZE and #v == PLAIN_SIZE + byte(v, 2) then
      kind, a.tier, a.rate, a.burst, a.tokens, a.at, a.asserted_s, a.kept, a.charged, a[DAY], a[MONTH] =
        unpack(PLAIN_FORM, v)
      if a.asserted_s == NOTHING then a.asserted_s = 0 else a.asserted = a.tier end
    elseif kind == FULL and is_full(v) then
      kind, a.tier, a.asserted, a.assigned, a.tokens, a.rate, a.burst, a.at, a.kept, a.charged, a[1], a[2], a[3], a[4],
        a[5], a.asserted_s, a.asserted_ns, a.assigned_s, a.assigned_ns, a.ends1, a.held1, a.ends2, a.held2 =
        unpack(FULL_FORM, v)
      a.held = a.held1 + a.held2
    elseif v then
      return nil, broken('not an account')
    end
    if v and not is_sane(a) then return nil, broken('an account with impossible numbers') end
    a.known = a.at > 0 -- else there is an assignment at most
    local t = now
    if a.at > now then
      t = a.at
      a.second = floor(t / 1e6)
      a.began = windows_of(a.second)
    end
    if a.held > 0 then expire(a, t) end
    if redefined >= a.at and a.burst > 0 and a.tier ~= '' then -- perhaps the tier that the bucket is under
      local limit = named[a.tier]
      if not limit then return nil, unknown(a.tier) end
      if limit.since >= a.at then settle(a, limit, limit.since) end
    end
    return a, t
  end

  -- For how many seconds an account says more than none would; nil: for ever. It stays for ten in any case, lest the
  -- latest assertion of a busy tenant be forgotten whenever its bucket is full.
  local function life(a, t)
    if a.assigned ~= '' then return nil end
    local span = 10
    if a.tokens < a.burst then
      if a.rate == 0 then return nil end
      span = math.max(span, (a.burst - a.tokens) / a.rate + (a.at - t) / 1e6 + (a.held > 0 and 2 or 0))
    end
    for w, length in ipairs({1, 60, 3600, 86400, 31 * 86400}) do
      if a[w] > 0 then span = math.max(span, a.began[w] + length - a.second) end
    end
    return span < 1e11 and ceil(span) or nil
  end

  local function save(i, a, t)
    local span, same = life(a, t), false
    sizes[i] = sizes[i] or values[i] and #values[i] or 0
    if not span then
      a.kept, writes[i] = 2 ^ 53, ''
    elseif t + span * 1e6 > a.kept or a.kept - t - span * 1e6 > 32 * 86400e6 then -- too early, or months late
      a.kept = t + (span + SPARE) * 1e6
      writes[i] = string.format('%.0f', ceil((a.kept - now) / 1e6))
    else
      same = not writes[i]
    end
    local v
    if a.held == 0 and a.assigned == '' and a.asserted_ns == 0 and (a.asserted == a.tier or a.asserted == '') and
      a[1] == 0 and a[2] == 0 and a[3] == 0 and span then
      v = pack(PLAIN_FORM, PLAIN, #a.tier, a.tier, a.rate, a.burst, a.tokens, a.at,
        a.asserted == '' and NOTHING or a.asserted_s, a.kept, a.charged, a[DAY], a[MONTH])
    else
      v = pack(FULL_FORM, FULL, #a.tier, a.tier, #a.asserted, a.asserted, #a.assigned, a.assigned, a.tokens, a.rate, a.burst,
        a.at, a.kept, a.charged, a[1], a[2], a[3], a[4], a[5], a.asserted_s, a.asserted_ns, a.assigned_s,
        a.assigned_ns, a.ends1, a.held1, a.ends2, a.held2)
    end
    if same or writes[i] == SAME then
      writes[i] = SAME
      if #v ~= sizes[i] then writes[i] = string.format('%.0f', math.max(ceil((a.kept - now) / 1e6), 1)) end
    end
    values[i] = v
  end

  -- One instant dates all windows: one is over if nothing was charged since the one that holds t began.
  local function used(a, w) return a.charged >= a.began[w] and a[w] or 0 end

  local function add(a, w, n)
    n = used(a, w) + n
    a[w] = n < 0 and 0 or n > LARGEST and LARGEST or n
  end

  -- Makes the windows those that hold t.
  local function turn(a)
    for w = SECOND, MONTH do a[w] = used(a, w) end
    a.charged = a.second
  end

  return level, fill, hold, release, settle, load, save, used, add, turn, unknown
end
