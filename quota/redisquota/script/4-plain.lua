
local functions
local function rarely()
  functions = functions or make_general()
  return functions
end

if mode ~= CLUSTER_HERE and now >= open_until then open, reserve = 0, 0 end -- the lease is over
local shared_head
if mode == CLUSTER_HERE then
  local v = values[shared]
  shared_head = pack('<BBdd', PLAIN, 0, shared_rate, shared_burst)
  if v and #v == PLAIN_SIZE and sub(v, 1, PLAIN_HEAD) == shared_head then
    local tokens, at, asserted_s, kept = unpack('<dddd', v, PLAIN_HEAD + 1)
    if at <= now and shared_rate * 1e9 >= shared_burst and tokens >= 0 and tokens <= shared_burst then
      shared_plain, shared_kept, shared_tokens, shared_at = true, kept, tokens, at
      local there = tokens + shared_rate * ((now - at) * 1000) / 1e9
      if there > shared_burst then there = shared_burst end
      open = there > line and there - line or 0
      reserve = there - open
    end
  end
  if not shared_plain then
    if rarely().open_shared() then return redis.error_reply('BROKEN ' .. KEYS[shared] .. ' is not a bucket') end
  end
end

local found, TEXT = {''}, {} -- TEXT: of numbers, which are slow to hand to the server
for n = 2, operations + 1 do
  local kind, i, says, says_s, cost, after = byte(ARG, pos), nil, nil, nil, nil, nil
  if kind == 1 then
    kind, i, says, says_s, cost, after = unpack('<BHHdd', ARG, pos)
    local v, limit = values[i], tiers[says > 0 and says or 1]
    local head = limit.head
    if v and head and #v == #head + 56 and sub(v, 1, #head) == head then
      local rate, burst = limit.rate, limit.burst
      local tokens, at, asserted_s, kept, charged, day, month = unpack(PLAIN_REST, v, #head + 1)
      if at <= now and tokens >= 0 and tokens <= burst and day >= 0 and day <= LARGEST and month >= 0 and
        month <= LARGEST and (says > 0 and (says_s == asserted_s or says_s > asserted_s and asserted_s ~= NOTHING) or
        says == 0 and asserted_s == NOTHING) then
        local elapsed, there, short = now - at, tokens, 0
        if elapsed > 0 then
          there = tokens + rate * (elapsed * 1000) / 1e9
          if there > burst then there = burst end
        end
        if charged < began[MONTH] then day, month = 0, 0 elseif charged < began[DAY] then day = 0 end

        if there < cost then short = cost > burst and SHORT_PLAN or SHORT_TENANT end
        local most = limit.day
        if most and most > 0 and cost > most - day and short ~= SHORT_PLAN then
          short = cost > most and SHORT_PLAN or short + 16
        end
        most = limit.month
        if most and most > 0 and cost > most - month and short ~= SHORT_PLAN then
          short = cost > most and SHORT_PLAN or short + 32
        end
        if mode ~= NO_CLUSTER and cost > open and short ~= SHORT_PLAN and
          not (there >= burst / 2 and cost <= open + reserve) then
          short = short + SHORT_GLOBAL
        end

        if short == 0 then
          if limit.day then day = day + cost < LARGEST and day + cost or LARGEST end
          if limit.month then month = month + cost < LARGEST and month + cost or LARGEST end
          tokens, elapsed = there - cost, 0
          local span, left = (burst - tokens) / rate, 0
          if month > 0 then
            left = began[MONTH] + 31 * 86400 - second
          elseif day > 0 then
            left = began[DAY] + 86400 - second
          end
          if span < left then span = left end
          if span < 10 then span = 10 end
          if now + span * 1e6 > kept then
            span = ceil(span) + SPARE
            kept = now + span * 1e6
            local text = TEXT[span]
            if not text then
              text = string.format('%.0f', span)
              TEXT[span] = text
            end
            writes[i] = text
          elseif not writes[i] then
            writes[i] = SAME
          end
          values[i] = head .. pack(PLAIN_REST, tokens, now, says > 0 and says_s or NOTHING, kept,
            limit.windows > 0 and second or charged, day, month)
          if mode ~= NO_CLUSTER then
            shared_changed = true
            if cost <= open then
              open = open - cost
            else
              reserve, open = reserve - (cost - open), 0
            end
          end
        end
        if short == 0 or says == 0 or says_s == asserted_s then
          found[n] = pack(limit.form, DECIDED, short + 256 * limit.index, tokens, elapsed,
            limit.day and day or month, month)
          pos, kind = after, nil
        end
      end
    end
  end
  if kind then
    kind, pos = byte(ARG, pos), pos + 1
    found[n] = rarely()[kind]()
    if byte(found[n]) == UNKNOWN_TIER then break end -- it, and what comes after it, is asked for again
  end
end

if shared_changed and shared_plain then
  local span = math.max((shared_burst - open - reserve) / shared_rate, 10)
  writes[shared] = SAME
  if now + span * 1e6 > shared_kept then
    span = ceil(span) + SPARE
    shared_kept, writes[shared] = now + span * 1e6, string.format('%.0f', span)
  end
  values[shared] = shared_head .. pack(PLAIN_REST, open + reserve, now, NOTHING, shared_kept, 0, 0, 0)
elseif shared_changed then
  rarely().save_shared()
end
for i = 1, #KEYS do
  local how = writes[i]
  if how == SAME then
    redis.call('SETRANGE', KEYS[i], '0', values[i])
  elseif how == '' then
    redis.call('SET', KEYS[i], values[i])
  elseif how then
    redis.call('SETEX', KEYS[i], how, values[i])
  end
end
if shared_changed then shared_tokens, shared_at = open + reserve, shared_t end
found[1] = pack('<dddddd', now, shared_tokens, now - shared_at, shared_held, open, reserve)
return table.concat(found)
