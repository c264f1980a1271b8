-- What people have allowed beyond one use, to be looked up: as the outcome of its ask says.
CREATE TABLE grants (
    ask           INTEGER PRIMARY KEY REFERENCES asks (seq) ON DELETE CASCADE,
    project       TEXT NOT NULL,
    folder        TEXT,  -- in which edits are allowed; NULL: exactly what was asked for
    until         REAL,  -- NULL: until the session of the call ends
    taken_back_at REAL
);

CREATE INDEX grants_standing ON grants (project, until) WHERE taken_back_at IS NULL;
