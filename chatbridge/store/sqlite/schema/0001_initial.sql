-- Times are wall-clock seconds since the epoch. JSON columns hold the model's dataclasses.
-- No STRICT tables and no RETURNING: distributions with Python 3.11 still carry SQLite 3.34.

PRAGMA application_id = 0x63627267;

CREATE TABLE asks (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    project       TEXT NOT NULL,
    client        TEXT NOT NULL,
    fingerprint   TEXT NOT NULL,
    status        TEXT NOT NULL,
    revision      INTEGER NOT NULL,
    created_at    REAL NOT NULL,
    deadline      REAL,
    settled_at    REAL,
    delivered_at  REAL,
    kept          INTEGER NOT NULL,
    kept_until    REAL,
    discarded     INTEGER NOT NULL,
    alone_since   REAL,
    alone         INTEGER NOT NULL,
    project_name  TEXT NOT NULL,
    project_label TEXT,
    agent_name    TEXT NOT NULL,
    tool          TEXT NOT NULL,
    dialect       TEXT NOT NULL,
    title         TEXT,
    words         TEXT NOT NULL,  -- case-folded title, questions and answers, for the search
    questions     TEXT NOT NULL,  -- JSON
    draft         TEXT NOT NULL,  -- JSON
    outcome       TEXT,           -- JSON
    late          TEXT,           -- JSON
    CHECK ((status = 'open') = (settled_at IS NULL))
);

CREATE INDEX asks_open ON asks (status, deadline IS NULL, deadline) WHERE status = 'open';
-- With all that `behind` looks at, so that it reads the rows of the asks it returns and no others.
CREATE INDEX asks_open_revisions ON asks (status, revision) WHERE status = 'open';
CREATE INDEX asks_open_twins ON asks (fingerprint) WHERE status = 'open';
CREATE INDEX asks_open_agents ON asks (project, client) WHERE status = 'open';
CREATE INDEX asks_ended ON asks (settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX asks_kept_twins ON asks (fingerprint)
    WHERE delivered_at IS NULL AND discarded = 0 AND kept_until IS NOT NULL;
CREATE INDEX asks_unsettled ON asks (settled_at)
    WHERE delivered_at IS NULL AND kept = 0 AND discarded = 0
    AND (status = 'answered' OR late IS NOT NULL);

CREATE TABLE calls (
    link         TEXT NOT NULL,
    request      TEXT NOT NULL,
    ask          INTEGER NOT NULL REFERENCES asks (seq) ON DELETE CASCADE,
    question_ids TEXT NOT NULL,  -- JSON
    started_at   REAL NOT NULL,
    ended_at     REAL,
    delivered_at REAL,
    ticket       INTEGER NOT NULL,
    late         INTEGER NOT NULL,
    PRIMARY KEY (link, request)
);

CREATE INDEX calls_of_ask ON calls (ask, ended_at);
CREATE INDEX calls_live ON calls (link, ended_at) WHERE ended_at IS NULL;

CREATE TABLE posts (
    ask      INTEGER NOT NULL REFERENCES asks (seq) ON DELETE CASCADE,
    channel  TEXT NOT NULL,
    place    TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (ask, channel)
) WITHOUT ROWID;

CREATE TABLE cursors (
    channel TEXT NOT NULL,
    key     TEXT NOT NULL,
    value   TEXT NOT NULL,
    at      REAL NOT NULL,
    PRIMARY KEY (channel, key)
) WITHOUT ROWID;
