CREATE TABLE meta (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Bodies of artifacts, imports and archived audits: zstd, known by the digest of what they unpack to.
CREATE TABLE bodies (
    digest BLOB NOT NULL PRIMARY KEY,
    length INTEGER NOT NULL,
    packed BLOB NOT NULL
) STRICT;

CREATE TABLE artifacts (
    name   TEXT NOT NULL PRIMARY KEY,
    inputs BLOB NOT NULL,
    body   BLOB NOT NULL REFERENCES bodies (digest),
    at_ms  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX artifacts_by_body ON artifacts (body);

CREATE TABLE imports (
    source TEXT NOT NULL PRIMARY KEY,
    digest BLOB NOT NULL,
    body   BLOB NOT NULL REFERENCES bodies (digest),
    at_ms  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX imports_by_body ON imports (body);

CREATE TABLE audits (
    number INTEGER NOT NULL PRIMARY KEY,
    body   BLOB NOT NULL REFERENCES bodies (digest),
    at_ms  INTEGER NOT NULL
) STRICT;
CREATE INDEX audits_by_body ON audits (body);

-- A cache: anything may go from it at any time. `turn` grows with every write or renewal.
CREATE TABLE facts (
    key    BLOB NOT NULL PRIMARY KEY,
    turn   INTEGER NOT NULL,
    length INTEGER NOT NULL,
    packed INTEGER NOT NULL,
    body   BLOB NOT NULL
) STRICT;
CREATE INDEX facts_by_turn ON facts (turn);

CREATE TABLE tasks (
    id        TEXT NOT NULL PRIMARY KEY,
    deepening INTEGER NOT NULL,
    ord       INTEGER NOT NULL,
    state     TEXT NOT NULL CHECK (state IN ('pending', 'leased', 'done', 'parked', 'superseded')),
    reason    TEXT,
    attempts  INTEGER NOT NULL,
    body      TEXT NOT NULL
) STRICT;
CREATE INDEX tasks_in_order ON tasks (deepening, ord) WHERE state <> 'superseded';

CREATE TABLE waves (
    number    INTEGER NOT NULL PRIMARY KEY,
    opened_ms INTEGER NOT NULL
) STRICT;

-- A slot is one packet leased to one launch, so that both are one row.
CREATE TABLE launches (
    launch         TEXT NOT NULL PRIMARY KEY,
    state          TEXT NOT NULL CHECK (state IN ('leased', 'launching', 'concluded', 'settled', 'freed')),
    wave           INTEGER NOT NULL REFERENCES waves (number),
    packet         TEXT NOT NULL,
    lane           TEXT NOT NULL,
    attempt        INTEGER NOT NULL,
    holder_pid     INTEGER NOT NULL,
    holder_started TEXT NOT NULL,
    holder_host    TEXT NOT NULL,
    lease_until_ms INTEGER NOT NULL,
    leased_ms      INTEGER NOT NULL,
    started_ms     INTEGER,
    ended_ms       INTEGER,
    outcome        TEXT,
    message        TEXT,
    usage          TEXT,
    wall_ms        INTEGER,
    exit_code      INTEGER,
    exit_signal    INTEGER,
    counted        INTEGER,
    freed_reason   TEXT
) STRICT;
CREATE INDEX launches_alive ON launches (launch) WHERE state IN ('leased', 'launching', 'concluded');

CREATE TABLE launch_tasks (
    launch TEXT NOT NULL REFERENCES launches (launch),
    ord    INTEGER NOT NULL,
    task   TEXT NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (launch, ord)
) STRICT, WITHOUT ROWID;
CREATE INDEX launch_tasks_by_task ON launch_tasks (task);

-- Never deleted: the latest row of a task is its current result.
CREATE TABLE results (
    seq      INTEGER NOT NULL PRIMARY KEY,
    task     TEXT NOT NULL REFERENCES tasks (id),
    digest   BLOB NOT NULL,
    reviewer TEXT NOT NULL,
    record   TEXT NOT NULL,
    UNIQUE (task, digest, reviewer)
) STRICT;
CREATE INDEX results_by_task ON results (task, seq);

CREATE TABLE quarantine (
    seq       INTEGER NOT NULL PRIMARY KEY,
    launch    TEXT,
    task_name TEXT NOT NULL,
    errors    TEXT NOT NULL,
    raw       TEXT NOT NULL,
    raw_bytes INTEGER NOT NULL,
    at_ms     INTEGER NOT NULL
) STRICT;

CREATE TABLE waivers (
    path   TEXT NOT NULL,
    lens   TEXT NOT NULL,
    digest BLOB,
    reason TEXT NOT NULL,
    at_ms  INTEGER NOT NULL,
    PRIMARY KEY (path, lens)
) STRICT, WITHOUT ROWID;

-- What the store made outside the database and the run directories; `assize clean` takes nothing else.
CREATE TABLE made (
    path TEXT NOT NULL PRIMARY KEY,
    tree INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE ledger (
    seq     INTEGER NOT NULL PRIMARY KEY,
    at_ms   INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    subject TEXT NOT NULL,
    prev    BLOB NOT NULL,
    hash    BLOB NOT NULL
) STRICT;

-- The head is kept apart from the entries, so that a cut tail shows.
CREATE TABLE ledger_head (
    only    INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
    entries INTEGER NOT NULL,
    hash    BLOB NOT NULL
) STRICT;
INSERT INTO ledger_head (only, entries, hash) VALUES (1, 0, zeroblob(32));

CREATE TRIGGER ledger_refuses_update BEFORE UPDATE ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_refuses_delete BEFORE DELETE ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_refuses_replacement BEFORE INSERT ON ledger
WHEN EXISTS (SELECT 1 FROM ledger WHERE seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_keeps_its_head BEFORE DELETE ON ledger_head
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
