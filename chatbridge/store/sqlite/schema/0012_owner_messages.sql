-- What the owner writes to an agent, and what has become of it.
CREATE TABLE owner_messages (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    project       TEXT NOT NULL,
    project_name  TEXT NOT NULL,
    project_label TEXT,
    client        TEXT NOT NULL,
    agent_name    TEXT NOT NULL,
    link          TEXT NOT NULL,
    text          TEXT NOT NULL,
    attachments   TEXT NOT NULL,  -- JSON
    by            TEXT NOT NULL,  -- JSON
    at            REAL NOT NULL,
    expires_at    REAL NOT NULL,
    state         TEXT NOT NULL,
    handed_to     TEXT,  -- JSON: the call whose response has it, or had it last
    way           TEXT,
    settled_at    REAL,
    revision      INTEGER NOT NULL,
    surface       TEXT NOT NULL,  -- the chat in which it was written
    reply_to      TEXT NOT NULL,
    place         TEXT,  -- where that chat says what has become of it
    handle        TEXT,
    shown         INTEGER NOT NULL
);
CREATE INDEX owner_messages_open ON owner_messages (seq) WHERE settled_at IS NULL;
CREATE INDEX owner_messages_settled ON owner_messages (settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX owner_messages_behind ON owner_messages (surface)
    WHERE shown < revision AND surface != '';
CREATE INDEX owner_messages_at ON owner_messages (surface, handle) WHERE handle IS NOT NULL;
-- The message of a chat that shows a notice, to know what a reply is about.
ALTER TABLE notice_posts ADD COLUMN handle TEXT;
CREATE INDEX notice_posts_at ON notice_posts (surface, handle) WHERE handle IS NOT NULL;
