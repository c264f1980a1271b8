-- Files of asks and notices. Their bytes are in a folder beside the database, by their digest.
ALTER TABLE asks ADD COLUMN attachments TEXT NOT NULL DEFAULT '[]';
ALTER TABLE notices ADD COLUMN attachments TEXT NOT NULL DEFAULT '[]';
CREATE TABLE attachments (
    digest TEXT NOT NULL,
    ask INTEGER REFERENCES asks (seq) ON DELETE CASCADE,
    notice INTEGER REFERENCES notices (seq) ON DELETE CASCADE
);
CREATE INDEX attachments_of_asks ON attachments (ask) WHERE ask IS NOT NULL;
CREATE INDEX attachments_of_notices ON attachments (notice) WHERE notice IS NOT NULL;
