-- What kind of reviewer has the slot, so that recovery need not guess it from the lane's name.
ALTER TABLE launches ADD COLUMN reviewer TEXT;
-- Which model was asked for: what a dead host left behind is told by it.
ALTER TABLE launches ADD COLUMN model TEXT;
-- Its tasks wait for a person, who leaves the answer in the run directory.
ALTER TABLE launches ADD COLUMN waiting INTEGER NOT NULL DEFAULT 0;
CREATE INDEX launches_waiting ON launches (launch) WHERE waiting = 1;

-- Why packets were launched when they were, and why not before. The oldest go when there are too many.
CREATE TABLE admissions (
    seq      INTEGER NOT NULL PRIMARY KEY,
    at_ms    INTEGER NOT NULL,
    launch   TEXT,
    lane     TEXT NOT NULL,
    admitted INTEGER NOT NULL,
    decision TEXT NOT NULL
) STRICT;
CREATE INDEX admissions_by_launch ON admissions (launch) WHERE launch IS NOT NULL;

-- Tasks that were too large for every lane, and what stands in their place.
CREATE TABLE splits (
    parent TEXT NOT NULL PRIMARY KEY,
    parts  TEXT NOT NULL
) STRICT, WITHOUT ROWID;
