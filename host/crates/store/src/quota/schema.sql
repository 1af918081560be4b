CREATE TABLE windows (
    holder    TEXT NOT NULL,
    dimension TEXT NOT NULL,
    period_ms INTEGER NOT NULL,
    body      TEXT NOT NULL,
    PRIMARY KEY (holder, dimension, period_ms)
) STRICT, WITHOUT ROWID;

CREATE TABLE lanes (
    lane TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What went to each account, by day since the epoch.
CREATE TABLE usage (
    account       TEXT NOT NULL,
    day           INTEGER NOT NULL,
    launches      INTEGER NOT NULL,
    requests      INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    micro_usd     INTEGER NOT NULL,
    PRIMARY KEY (account, day)
) STRICT, WITHOUT ROWID;
