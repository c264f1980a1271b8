-- Runs of command-line tools, recorded before they are started.
CREATE TABLE operations (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    link          TEXT NOT NULL,
    request       TEXT NOT NULL,
    project       TEXT NOT NULL,
    project_name  TEXT NOT NULL,
    project_label TEXT,
    client        TEXT NOT NULL,
    agent_name    TEXT NOT NULL,
    tool          TEXT NOT NULL,
    title         TEXT NOT NULL,
    group_name    TEXT NOT NULL,
    plan          TEXT NOT NULL,  -- JSON
    synchronous   INTEGER NOT NULL,
    created_at    REAL NOT NULL,
    stage         TEXT NOT NULL,
    grant_key     TEXT,
    approved      INTEGER NOT NULL,
    ask_id        TEXT,
    started_at    REAL,
    ended_at      REAL,
    delivered     INTEGER NOT NULL,
    result        TEXT NOT NULL,  -- JSON
    CHECK ((ended_at IS NULL) = (stage IN ('awaiting_approval', 'queued', 'running')))
);

CREATE INDEX operations_unended ON operations (seq) WHERE ended_at IS NULL;
CREATE INDEX operations_undelivered ON operations (link, request) WHERE delivered = 0;
CREATE INDEX operations_of_project
    ON operations (project, ended_at IS NULL, NOT synchronous, seq);
CREATE INDEX operations_granted ON operations (link, grant_key)
    WHERE approved = 1 AND grant_key IS NOT NULL;
CREATE INDEX operations_ended ON operations (ended_at) WHERE ended_at IS NOT NULL;

-- What a notice of chatbridge's own is about.
ALTER TABLE notices ADD COLUMN operation TEXT;  -- JSON
