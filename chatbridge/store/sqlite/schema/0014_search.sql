-- Which texts may have the search's term in them. A document is an ask that has ended, by its seq, or
-- a notice, by its seq with a minus. It waits in the queue, where a search looks at its text, until a
-- thousand of them become a segment.
CREATE TABLE search_queue (
    doc      INTEGER PRIMARY KEY,
    changes  INTEGER NOT NULL DEFAULT 0,  -- of its text while it waits
    released INTEGER NOT NULL DEFAULT 0   -- from a segment that had something to be removed
);
CREATE TABLE search_segments (
    id     INTEGER PRIMARY KEY,
    oldest REAL NOT NULL,  -- the times of its documents
    newest REAL NOT NULL,
    docs   BLOB            -- each as 8 bytes; NULL: it is not complete yet
);
-- Three characters in a row, as 21 bits each, and in which documents of the segment they are: a bit
-- for each, or two bytes for the place of each.
CREATE TABLE search_grams (
    segment INTEGER NOT NULL REFERENCES search_segments (id) ON DELETE CASCADE,
    gram    INTEGER NOT NULL,
    places  BLOB NOT NULL,
    PRIMARY KEY (segment, gram)
) WITHOUT ROWID;

CREATE TRIGGER asks_ended_are_searched AFTER INSERT ON asks
WHEN NEW.settled_at IS NOT NULL BEGIN
    INSERT INTO search_queue (doc) VALUES (NEW.seq) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER asks_changed_are_searched AFTER UPDATE OF words, settled_at ON asks
WHEN NEW.settled_at IS NOT NULL AND (OLD.settled_at IS NULL OR OLD.settled_at != NEW.settled_at
                                     OR OLD.words != NEW.words) BEGIN
    INSERT INTO search_queue (doc) VALUES (NEW.seq)
    ON CONFLICT (doc) DO UPDATE SET changes = changes + 1;
END;
CREATE TRIGGER asks_removed_are_not_searched AFTER DELETE ON asks BEGIN
    DELETE FROM search_queue WHERE doc = OLD.seq;
END;
CREATE TRIGGER notices_are_searched AFTER INSERT ON notices BEGIN
    INSERT INTO search_queue (doc) VALUES (-NEW.seq) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER notices_removed_are_not_searched AFTER DELETE ON notices BEGIN
    DELETE FROM search_queue WHERE doc = -OLD.seq;
END;

INSERT INTO search_queue (doc) SELECT seq FROM asks WHERE settled_at IS NOT NULL;
INSERT INTO search_queue (doc) SELECT -seq FROM notices;
