-- The generic cell rate algorithm. KEYS[1] holds the instant at which the tenant's bucket is full again.
-- ARGV: microseconds a unit takes to come back, and the whole burst does. Replies with the microseconds until the bucket
-- is full, from which the caller knows what remains, or, below zero, with those until there is a unit.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local full = math.max(tonumber(redis.call('GET', KEYS[1])) or now, now) + ARGV[1]
local early = full - ARGV[2] - now
if early > 0 then
  return -early
end
redis.call('SET', KEYS[1], full, 'PX', math.ceil((full - now) / 1000))
return full - now
