
-- Returns a table of the functions that do what is asked, by the kind of the operation.
local function general()
  local level, fill, hold, release, settle, load, save, used, add, turn, unknown = accounts()

  -- The bucket that all tenants share is two numbers while the operations are decided: see open.

  local function divide(there)
    open = there > line and there - line or 0
    reserve = there - open
  end

  local whole -- it as an account, where its leases are needed

  local function change_shared(change, ...)
    whole = whole or load(shared)
    whole.tokens, whole.at = open + reserve, shared_t
    change(whole, ...)
    shared_held, shared_plain, shared_changed = whole.held, false, true
    divide(level(whole, shared_t))
  end

  local function save_shared()
    whole = whole or load(shared)
    whole.tokens, whole.at = open + reserve, shared_t
    save(shared, whole, shared_t)
  end

  local function open_shared()
    local t
    whole, t = load(shared)
    if not whole then return t end
    settle(whole, {name = '', limited = true, since = 0, rate = shared_rate, burst = shared_burst}, t)
    shared_t, shared_tokens, shared_at, shared_held = t, whole.tokens, whole.at, whole.held
    divide(level(whole, t))
  end

  local function spend(n)
    shared_changed = true
    if n <= open then
      open = open - n
    else
      reserve, open = reserve - (n - open), 0
    end
  end

  local function give_shared(n)
    local there, room = open + reserve + n, shared_burst - shared_held
    shared_changed = true
    divide(there < room and there or math.max(room, open + reserve))
  end

  -- The operations. Each reads its arguments and returns its part of the reply.

  -- The tier that applies: of the assignment here and the one in the asking process the later, else the latest
  -- assertion, else the default. nil and its name where the request does not have it.
  local function applies(a, asserted, given, given_s, given_ns)
    if given > 0 and (a.assigned == '' or given_s > a.assigned_s or
      given_s == a.assigned_s and given_ns >= a.assigned_ns) then
      return named[tiers[given].name]
    end
    local name = a.assigned ~= '' and a.assigned or asserted
    if name == '' then return tiers[1] end
    return named[name], name
  end

  -- The most that can be leased beside a cost, and until when: a second's end, and the end of no window that counts.
  local function lease(a, limit, there, cost, ahead)
    local ends = (a.second + 2) * 1e6
    if limit.windows > 0 and (limit[1] == SECOND or (a.second + 1) % 60 == 0) then ends = (a.second + 1) * 1e6 end
    if mode ~= NO_CLUSTER then
      ahead = math.min(ahead, floor(open) - cost)
      if mode ~= CLUSTER_HERE then ends = math.min(ends, open_until) end
    end
    if limit.limited then ahead = math.min(ahead, floor(there) - cost) end
    for w, most in pairs(limit.limits) do
      if most > 0 then ahead = math.min(ahead, most - used(a, w) - cost) end
    end
    if ahead <= 0 or ends - now < 100e3 or ends - now > 2e6 then return 0, 0 end
    return ahead, ends
  end

  local function shortage(a, limit, there, cost)
    local short = 0
    if limit.limited and there < cost then short = cost > limit.burst and SHORT_PLAN or SHORT_TENANT end
    for _, w in ipairs(limit) do
      local most = limit.limits[w]
      if most > 0 and cost > most - used(a, w) and short ~= SHORT_PLAN then
        short = cost > most and SHORT_PLAN or short + 2 ^ w
      end
    end
    if mode ~= NO_CLUSTER and cost > open and short ~= SHORT_PLAN and
      not (limit.limited and there >= limit.burst / 2 and cost <= open + reserve) then
      short = short + SHORT_GLOBAL
    end
    return short
  end

  local function decide(i, says, says_s, cost, says_ns, ahead, given, given_s, given_ns, peek)
    local a, t = load(i)
    if not a then return t end
    local asserted, news = a.asserted, false
    if says > 0 and (asserted == '' or says_s > a.asserted_s or says_s == a.asserted_s and says_ns >= a.asserted_ns) then
      asserted = tiers[says].name
      news = asserted ~= a.asserted or says_s ~= a.asserted_s or says_ns ~= a.asserted_ns
    end
    local limit, name = applies(a, asserted, given, given_s, given_ns)
    if not limit then return unknown(name) end
    if news then a.asserted, a.asserted_s, a.asserted_ns = asserted, says_s, says_ns end
    news = settle(a, limit, t) or news

    local there, short = level(a, t), 0
    if cost > 0 then short = shortage(a, limit, there, cost) end
    local leased, ends = 0, 0
    if short == 0 and not peek then
      if ahead > 0 then leased, ends = lease(a, limit, there, cost, ahead) end
      local n = cost + leased
      if n > 0 then
        a.tokens, a.at, a.known, news = limit.limited and there - n or there, t, true, true
        if limit.windows > 0 then turn(a) end
        for _, w in ipairs(limit) do add(a, w, n) end
        if limit.limited and leased > 0 then hold(a, leased, ends) end
        if mode ~= NO_CLUSTER then spend(n) end
        if leased > 0 and mode == CLUSTER_HERE then change_shared(hold, leased, ends) end
      end
    end
    if news and a.known and not peek then save(i, a, t) end

    local leases = a.held > 0 or leased > 0
    local found = pack('<BI4dd', DECIDED,
      short + 256 * limit.index + (a.assigned ~= '' and 2 ^ 24 or 0) + (leases and 2 ^ 25 or 0), a.tokens, now - a.at)
    for _, w in ipairs(limit) do found = found .. pack('<d', used(a, w)) end
    if leases then found = found .. pack('<ddd', a.held, leased, ends) end
    return found
  end

  local function take()
    local i, says, says_s, cost
    i, says, says_s, cost, pos = unpack('<HHdd', ARG, pos)
    return decide(i, says, says_s, cost, 0, 0, 0, 0, 0, false)
  end

  local function take_any()
    local peek, i, says, says_s, cost, says_ns, ahead, given, given_s, given_ns
    peek, i, says, says_s, cost, says_ns, ahead, given, given_s, given_ns, pos = unpack('<BHHddI4dHdI4', ARG, pos)
    return decide(i, says, says_s, cost, says_ns, ahead, given, given_s, given_ns, peek == 1)
  end

  -- Reads the windows that were charged: in pairs, which one, and when it began.
  local function charged_windows()
    local count, list = nil, {}
    count, pos = unpack('<B', ARG, pos)
    for j = 1, 2 * count, 2 do list[j], list[j + 1], pos = unpack('<Bd', ARG, pos) end
    return list
  end

  local function refund_windows(a, list, n) -- to those that are not over
    for j = 1, #list, 2 do
      local w = list[j]
      if list[j + 1] == a.began[w] and used(a, w) > 0 then a[w] = math.max(a[w] - n, 0) end
    end
  end

  local function refund()
    local i, n, bucket, cluster
    i, n, bucket, cluster, pos = unpack('<HdBB', ARG, pos)
    local windows, a, t = charged_windows(), load(i)
    if not a then return t end
    if cluster == 1 and mode == CLUSTER_HERE then give_shared(n) end
    if bucket == 1 and a.burst > 0 then fill(a, level(a, t) + n, t) end
    refund_windows(a, windows, n)
    if a.known then save(i, a, t) end
    return pack('<B', DECIDED)
  end

  -- Ends a lease: what is unspent goes back to every limit that it was taken from.
  local function end_lease()
    local i, leased, ends, unspent, bucket, cluster
    i, leased, ends, unspent, bucket, cluster, pos = unpack('<HdddBB', ARG, pos)
    local windows, a, t = charged_windows(), load(i)
    if not a then return t end
    if cluster == 1 and mode == CLUSTER_HERE then change_shared(release, leased, ends, unspent, shared_t) end
    local known = bucket == 0 or release(a, leased, ends, unspent, t)
    if known or ends <= t then refund_windows(a, windows, unspent) end -- else its charge was lost with it
    if a.known then save(i, a, t) end
    return pack('<B', DECIDED)
  end

  -- Counts units that were admitted while this server was not there, whatever the limits say now; each posting once.
  local function post()
    local i, posting, count, list = nil, nil, nil, {}
    i, posting, count, pos = unpack('<HHB', ARG, pos)
    for j = 1, 3 * count, 3 do list[j], list[j + 1], list[j + 2], pos = unpack('<Bdd', ARG, pos) end
    local a, t = load(i)
    if not a then return t end
    if redis.call('SET', KEYS[posting], 1, 'NX', 'EX', 86400) then
      turn(a)
      for j = 1, #list, 3 do
        if list[j + 1] == a.began[list[j]] then add(a, list[j], list[j + 2]) end
      end
      a.tokens, a.at = level(a, t), t
      save(i, a, t)
    end
    return pack('<B', DECIDED)
  end

  -- Brings the bucket under the tier that applies.
  local function retier(i, a, t, given, given_s, given_ns, news)
    local limit, name = applies(a, a.asserted, given, given_s, given_ns)
    if not limit then return unknown(name) end
    if a.known then settle(a, limit, t) end
    if a.known or news then save(i, a, t) end
    return pack('<B', DECIDED)
  end

  local function set_tier()
    local i, name, s, ns, given, given_s, given_ns
    i, name, s, ns, given, given_s, given_ns, pos = unpack('<HHdI4HdI4', ARG, pos)
    local a, t = load(i)
    if not a then return t end
    local news = a.assigned == '' or s > a.assigned_s or s == a.assigned_s and ns >= a.assigned_ns
    if news then a.assigned, a.assigned_s, a.assigned_ns = name > 0 and tiers[name].name or '', s, ns end
    return retier(i, a, t, given, given_s, given_ns, news)
  end

  local function settle_account()
    local i, given, given_s, given_ns
    i, given, given_s, given_ns, pos = unpack('<HHdI4', ARG, pos)
    local a, t = load(i)
    if not a then return t end
    return retier(i, a, t, given, given_s, given_ns)
  end

  local function reset()
    local i
    i, pos = unpack('<H', ARG, pos)
    local a, t = load(i)
    if not a then return t end
    if a.burst > 0 then
      fill(a, a.burst, t)
      save(i, a, t)
    end
    return pack('<B', DECIDED)
  end

  -- Leases tokens of the bucket that all tenants share to a process for decisions elsewhere.
  local function draw()
    local i, want, want_reserve
    i, want, want_reserve, pos = unpack('<Hdd', ARG, pos)
    local b, t = load(i)
    if not b then return t end
    settle(b, {name = '', limited = true, since = 0, rate = shared_rate, burst = shared_burst}, t)
    local there = level(b, t)
    local from_open = math.max(math.min(want, floor(there - line)), 0)
    local from_reserve = math.max(math.min(want_reserve - from_open, floor(there) - from_open), 0)
    local ends = (b.second + 2) * 1e6
    b.tokens, b.at = there - from_open - from_reserve, t
    if from_open + from_reserve > 0 then hold(b, from_open + from_reserve, ends) end
    save(i, b, t)
    return pack('<Bdddddd', DECIDED, from_open, from_reserve, ends, b.tokens, now - b.at, b.held)
  end

  return {take, take_any, refund, end_lease, post, set_tier, settle_account, reset, draw, open_shared = open_shared,
    save_shared = save_shared}
end

return general()
end
