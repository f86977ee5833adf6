-- What wrk sends, by scenario: wrk … -s load.lua URL -- publish|cycle|size
-- The last line that it prints is the result as JSON.

local BODY = string.rep("x", 200)
local HOST = "Host: 127.0.0.1\r\n"
local PUBLISH = "POST /messages/bench HTTP/1.1\r\n" .. HOST .. "Content-Length: " .. #BODY .. "\r\n\r\n" .. BODY
local CLAIM = "GET /messages/bench HTTP/1.1\r\n" .. HOST .. "\r\n"
local SIZE = "GET /queues/bench HTTP/1.1\r\n" .. HOST .. "\r\n"

local function always(text)
    return function() return text end
end

-- Publishes, claims and acknowledgements in equal parts: whatever was received is deleted next.
local function cycle()
    local ids, held, claims_next = {}, 0, false
    response = function(_, headers)
        local id = headers["X-MQS-MESSAGE-ID"]
        if id then
            held = held + 1
            ids[held] = id
        end
    end
    return function()
        if held > 0 then
            held = held - 1
            return "DELETE /messages/" .. ids[held + 1] .. " HTTP/1.1\r\n" .. HOST .. "\r\n"
        end
        claims_next = not claims_next
        return claims_next and CLAIM or PUBLISH
    end
end

function init(arguments)
    local scenarios = { publish = always(PUBLISH), size = always(SIZE), cycle = cycle() }
    if arguments[1] ~= "cycle" then response = nil end -- reading headers costs wrk more than all the rest
    request = scenarios[arguments[1]]
end

function done(summary, latency)
    local errors = summary.errors
    local failures = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    io.write(string.format(
        '{"requests": %d, "seconds": %.6f, "p50_ms": %.3f, "p99_ms": %.3f, "failures": %d}\n',
        summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, failures
    ))
end
