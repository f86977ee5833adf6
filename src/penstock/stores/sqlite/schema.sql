-- Version 1. All times are unix milliseconds; a sequence is the number of an event in the journal.

-- What happened, in order. The row of a publish also is where the message's body is kept, once:
-- it outlives trimming for as long as the message lives.
CREATE TABLE journal (
    sequence     INTEGER PRIMARY KEY,
    at_ms        INTEGER NOT NULL,
    dialect      TEXT    NOT NULL,
    kind         INTEGER NOT NULL,    -- journal/records.py has the names
    queue        INTEGER NOT NULL,
    message      BLOB,
    attempt      INTEGER,
    reason       TEXT,
    size         INTEGER,
    content_type TEXT,
    until_ms     INTEGER,
    detail       BLOB,
    home         INTEGER,             -- of a publish: the queue it was moved to since; NULL: still its own
    body         BLOB                 -- last, so that the columns before it are read without it
);

-- One small row per message, under the sequence of its publish. A claim does not touch it: while there
-- is a row in `claims`, that one says phase, time and tries.
CREATE TABLE messages (
    queue         INTEGER NOT NULL,
    sequence      INTEGER NOT NULL,
    id            BLOB    NOT NULL,
    phase         INTEGER NOT NULL,
    at_ms         INTEGER,            -- NULL: ready since its publish, so its turn is that of its sequence
    size          INTEGER NOT NULL,
    expires_at_ms INTEGER,
    tries         INTEGER,
    tries_used    INTEGER NOT NULL,
    attempt       INTEGER NOT NULL,
    match_key     BLOB,
    PRIMARY KEY (queue, sequence)
) WITHOUT ROWID;

-- The claims under way: few, all of them also in memory.
CREATE TABLE claims (
    queue           INTEGER NOT NULL,
    sequence        INTEGER NOT NULL,
    until_ms        INTEGER NOT NULL,
    tries_used      INTEGER NOT NULL,
    attempt         INTEGER NOT NULL,
    is_last_receive INTEGER NOT NULL,
    PRIMARY KEY (queue, sequence)
) WITHOUT ROWID;

-- Whatever is not in the order of its publish: ready again, delayed, dead, a copy; and under kind 9 the
-- moments at which messages with a time of their own expire. Most messages are never in here.
CREATE TABLE places (
    queue    INTEGER NOT NULL,
    kind     INTEGER NOT NULL,
    at_ms    INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (queue, kind, at_ms, sequence)
) WITHOUT ROWID;

-- Which message stands for a key, in queues that compare.
CREATE TABLE twins (
    queue     INTEGER NOT NULL,
    match_key BLOB    NOT NULL,
    id        BLOB    NOT NULL,
    PRIMARY KEY (queue, match_key)
) WITHOUT ROWID;

-- Every queue, and those deleted ones that the journal still speaks of.
CREATE TABLE queues (
    number           INTEGER PRIMARY KEY,
    namespace        TEXT    NOT NULL,
    name             TEXT    NOT NULL,
    settings         BLOB    NOT NULL,
    created_at_ms    INTEGER NOT NULL,
    ready            INTEGER NOT NULL DEFAULT 0,
    delayed          INTEGER NOT NULL DEFAULT 0,
    claimed          INTEGER NOT NULL DEFAULT 0,
    dead             INTEGER NOT NULL DEFAULT 0,
    copies           INTEGER NOT NULL DEFAULT 0,
    deleted_sequence INTEGER              -- NULL: it lives
);

-- Idempotency keys and the ids they answer.
CREATE TABLE keys (
    queue    INTEGER NOT NULL,
    key      TEXT    NOT NULL,
    sequence INTEGER NOT NULL,
    ids      BLOB    NOT NULL,
    PRIMARY KEY (queue, key)
) WITHOUT ROWID;
CREATE INDEX keys_by_age ON keys (queue, sequence);

CREATE TABLE moves (
    reference TEXT PRIMARY KEY,
    sequence  INTEGER NOT NULL,           -- orders them by their start
    state     BLOB    NOT NULL
) WITHOUT ROWID;

-- One row.
CREATE TABLE state (
    only_row          INTEGER PRIMARY KEY CHECK (only_row = 1),
    last_sequence     INTEGER NOT NULL,
    last_moment_ms    INTEGER NOT NULL,
    last_queue_number INTEGER NOT NULL,
    trimmed_to        INTEGER NOT NULL,   -- events up to here are forgotten, or kept for their bodies alone
    journal_bytes     INTEGER NOT NULL    -- of the events after that, roughly
);
INSERT INTO state VALUES (1, 0, 0, 0, 0, 0);
