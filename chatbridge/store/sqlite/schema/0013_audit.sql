-- Who asked, was shown, answered, allowed and ran what. Lines are only added, and removed once they
-- are old: the triggers keep mistakes away, not the owner of the file.
CREATE TABLE audit (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,  -- a number is never used again
    at           REAL NOT NULL,
    kind         TEXT NOT NULL,
    thing        TEXT NOT NULL,  -- what the id belongs to
    id           TEXT NOT NULL,
    project      TEXT NOT NULL,
    project_name TEXT NOT NULL,
    client       TEXT NOT NULL,
    agent_name   TEXT NOT NULL,
    who          TEXT NOT NULL,
    who_id       TEXT NOT NULL,
    channel      TEXT NOT NULL,
    surface      TEXT NOT NULL,
    what         TEXT NOT NULL   -- JSON
);
CREATE INDEX audit_at ON audit (at);

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit trail is only added to');
END;
CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq) BEGIN
    SELECT RAISE(ABORT, 'the audit trail is only added to');
END;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit
WHEN OLD.at > CAST(strftime('%s', 'now') AS REAL) - 86400 BEGIN
    SELECT RAISE(ABORT, 'a line of the audit trail is kept for a day at least');
END;
