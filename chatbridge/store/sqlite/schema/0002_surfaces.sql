-- A channel may show an ask on several surfaces (chats), and what it remembers is more than a cursor.

ALTER TABLE posts RENAME COLUMN channel TO surface;
ALTER TABLE cursors RENAME TO notes;

-- What a person can point at in a chat, and the ask that it belongs to. Kept as long as the ask.
CREATE TABLE handles (
    surface TEXT NOT NULL,
    handle  TEXT NOT NULL,
    ask     INTEGER NOT NULL REFERENCES asks (seq) ON DELETE CASCADE,
    PRIMARY KEY (surface, handle)
) WITHOUT ROWID;

CREATE INDEX handles_of_ask ON handles (ask);
