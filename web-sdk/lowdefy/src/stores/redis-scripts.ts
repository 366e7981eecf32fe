/**
 * The Lua scripts of the Redis store. Redis runs each one atomically, so that no other client runs in between.
 *
 * A session is a hash with the fields `summary` (JSON without the saved state, which is all that a script parses), `saved`
 * (JSON, or "" if there is none) and `write` (the id of the last write). A set contains the ids of all sessions.
 */

/**
 * Defines `summary_of(key)`: the table in a session's summary, `nil` if there is no session, or `false` if it is
 * unreadable.
 */
const SUMMARY_OF = `
local function summary_of(key)
  local text = redis.pcall("HGET", key, "summary")
  if type(text) ~= "string" then
    if redis.call("EXISTS", key) == 0 then return nil end
    return false
  end
  local ok, summary = pcall(cjson.decode, text)
  if not ok or type(summary) ~= "table" or summary.version ~= 1 or summary.sessionId ~= string.sub(key, -36) then return false end
  if type(summary.updatedAt) ~= "number" or type(summary.revision) ~= "number" then return false end
  return summary
end
`;

/**
 * Defines `write`, which replaces a session and lets Redis remove it when it is gone. A server without memory rejects a
 * script only at its first write, and only if that needs memory, so the first write is that of the session.
 */
const WRITE = `
local function write(ttl, summary, saved, id)
  redis.call("HSET", KEYS[1], "summary", summary, "saved", saved, "write", id)
  redis.call("PEXPIRE", KEYS[1], ttl)
  redis.call("SADD", KEYS[2], string.sub(KEYS[1], -36))
  redis.call("PEXPIRE", KEYS[2], ttl)
end
`;

/**
 * Keys: the session, the set of ids. Arguments: the time, the expiry, the limit, the id of this write, the summary, the
 * saved state or "". The sessions in the set have keys in the same slot of a cluster as the set.
 */
export const CREATE = `${SUMMARY_OF}${WRITE}
local now, expiry, limit, id = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local existing = redis.pcall("HGET", KEYS[1], "write")
if existing == id then return "done" end
if redis.call("EXISTS", KEYS[1]) == 1 then return "exists" end
local active = 0
for _, other in ipairs(redis.call("SMEMBERS", KEYS[2])) do
  local summary = summary_of(string.sub(KEYS[1], 1, -37) .. other)
  if summary == nil then redis.call("SREM", KEYS[2], other)
  elseif summary and now - summary.updatedAt < expiry then active = active + 1 end
end
if active >= limit then return "limit" end
write(2 * expiry, ARGV[5], ARGV[6], id)
return "done"
`;

/**
 * Keys: the session, the set of ids. Arguments: the time, the expiry, the revision that the caller read, the id of this
 * write, the id of an earlier write of which the caller got no answer or "", the summary, the saved state or "".
 */
export const SAVE = `${SUMMARY_OF}${WRITE}
local now, expiry, revision, id, unanswered = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]
local summary = summary_of(KEYS[1])
if summary == nil then return "unknown" end
if not summary then return "unreadable" end
local last = redis.call("HGET", KEYS[1], "write")
if last == id then return "done" end
local age = now - summary.updatedAt
if age >= 2 * expiry then return "unknown" end
if age >= expiry then return "expired" end
local own = summary.revision == revision + 1 and unanswered ~= "" and last == unanswered
if summary.revision ~= revision and not own then return "conflict" end
write(2 * expiry, ARGV[6], ARGV[7], id)
return "done"
`;

/** Keys: the session, the set of ids. Arguments: the time, the expiry. */
export const CLOSE = `${SUMMARY_OF}
local summary = summary_of(KEYS[1])
redis.call("SREM", KEYS[2], string.sub(KEYS[1], -36))
if redis.call("DEL", KEYS[1]) == 0 then return "unknown" end
if summary and tonumber(ARGV[1]) - summary.updatedAt >= 2 * tonumber(ARGV[2]) then return "unknown" end
return "done"
`;

/** Keys: any key of a session's form, the set of ids. Arguments: the time, the expiry. */
export const SWEEP = `${SUMMARY_OF}
local now, expiry = tonumber(ARGV[1]), tonumber(ARGV[2])
for _, id in ipairs(redis.call("SMEMBERS", KEYS[2])) do
  local key = string.sub(KEYS[1], 1, -37) .. id
  local summary = summary_of(key)
  if summary and now - summary.updatedAt >= 2 * expiry then redis.call("DEL", key) end
  if redis.call("EXISTS", key) == 0 then redis.call("SREM", KEYS[2], id) end
end
return "done"
`;
