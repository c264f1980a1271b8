-- The bytes of files that agents and people sent, by their path in a hub's state directory, so that
-- the next hub that leads has them. In parts, in the order of their numbers.
CREATE TABLE attachment_bytes (
    name    text COLLATE "C" NOT NULL,
    part    integer NOT NULL,
    kept_at double precision NOT NULL,  -- wall-clock seconds: it is stored before its ask is
    data    bytea NOT NULL,
    PRIMARY KEY (name, part)
);

-- Pictures and recordings are compressed already.
ALTER TABLE attachment_bytes ALTER COLUMN data SET STORAGE EXTERNAL;
