-- A client may give up without a word: what is written to it later reaches nobody.
ALTER TABLE calls ADD COLUMN counts_until REAL;

-- What an agent tells its owner without waiting for an answer, once for each call.
CREATE TABLE notices (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    link          TEXT NOT NULL,
    request       TEXT NOT NULL,
    project       TEXT NOT NULL,
    client        TEXT NOT NULL,
    project_name  TEXT NOT NULL,
    project_label TEXT,
    agent_name    TEXT NOT NULL,
    title         TEXT NOT NULL,
    message       TEXT NOT NULL,
    level         TEXT NOT NULL,
    at            REAL NOT NULL,
    UNIQUE (link, request, title, message)
);

CREATE INDEX notices_at ON notices (at);

CREATE TABLE notice_posts (
    notice  INTEGER NOT NULL REFERENCES notices (seq) ON DELETE CASCADE,
    surface TEXT NOT NULL,
    PRIMARY KEY (notice, surface)
) WITHOUT ROWID;

-- The answers that were given in one project.
CREATE INDEX asks_answered ON asks (project, settled_at) WHERE settled_at IS NOT NULL;
