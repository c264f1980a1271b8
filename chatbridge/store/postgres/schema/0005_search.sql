-- Which texts may have the search's term in them, as SQLite's migration 0014 explains it.
CREATE TABLE search_queue (
    doc      bigint PRIMARY KEY,
    changes  integer NOT NULL DEFAULT 0,
    released integer NOT NULL DEFAULT 0
);
CREATE TABLE search_segments (
    id     bigint PRIMARY KEY,
    oldest double precision NOT NULL,
    newest double precision NOT NULL,
    docs   bytea
);
CREATE TABLE search_grams (
    segment bigint NOT NULL REFERENCES search_segments (id) ON DELETE CASCADE,
    gram    bigint NOT NULL,
    places  bytea NOT NULL,
    PRIMARY KEY (gram, segment)  -- in this order, or the planner would rather read all of it
);
CREATE INDEX search_grams_of_segment ON search_grams (segment);

CREATE FUNCTION ask_is_searched() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO search_queue (doc) VALUES (NEW.seq)
    ON CONFLICT (doc) DO UPDATE SET changes = search_queue.changes + 1;
    RETURN NULL;
END $$;
CREATE FUNCTION ask_is_not_searched() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM search_queue WHERE doc = OLD.seq;
    RETURN NULL;
END $$;
CREATE FUNCTION notice_is_searched() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO search_queue (doc) VALUES (-NEW.seq) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE FUNCTION notice_is_not_searched() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM search_queue WHERE doc = -OLD.seq;
    RETURN NULL;
END $$;

CREATE TRIGGER asks_ended_are_searched AFTER INSERT ON asks FOR EACH ROW
    WHEN (NEW.settled_at IS NOT NULL) EXECUTE FUNCTION ask_is_searched();
CREATE TRIGGER asks_changed_are_searched AFTER UPDATE OF words, settled_at ON asks FOR EACH ROW
    WHEN (NEW.settled_at IS NOT NULL AND (OLD.settled_at IS NULL OR OLD.settled_at != NEW.settled_at
                                          OR OLD.words != NEW.words))
    EXECUTE FUNCTION ask_is_searched();
CREATE TRIGGER asks_removed_are_not_searched AFTER DELETE ON asks FOR EACH ROW
    EXECUTE FUNCTION ask_is_not_searched();
CREATE TRIGGER notices_are_searched AFTER INSERT ON notices FOR EACH ROW
    EXECUTE FUNCTION notice_is_searched();
CREATE TRIGGER notices_removed_are_not_searched AFTER DELETE ON notices FOR EACH ROW
    EXECUTE FUNCTION notice_is_not_searched();

INSERT INTO search_queue (doc) SELECT seq FROM asks WHERE settled_at IS NOT NULL;
INSERT INTO search_queue (doc) SELECT -seq FROM notices;
