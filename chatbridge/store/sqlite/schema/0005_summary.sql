-- What lists say of an ask, as JSON. NULL: an older version has written the ask; its summary is made
-- when it is read.
ALTER TABLE asks ADD COLUMN summary TEXT;
