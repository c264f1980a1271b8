-- Taking the lease over changes the epoch, which is a key: PostgreSQL then waits for transactions
-- that hold the row FOR KEY SHARE, as every one does that writes. Renewing changes no key, and
-- waits for none of them.
ALTER TABLE leader ADD UNIQUE (epoch);

CREATE SEQUENCE hubs_version;
CREATE TABLE hubs (
    name text PRIMARY KEY,
    id text NOT NULL,
    certificate text NOT NULL,
    hosts text NOT NULL,  -- The names under which its agents connect over HTTP, as JSON
    release text NOT NULL,
    version bigint NOT NULL DEFAULT nextval('hubs_version'),
    seen timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE http_tokens (
    name text PRIMARY KEY,
    created double precision NOT NULL,
    digest text NOT NULL UNIQUE,
    used double precision
);
CREATE UNIQUE INDEX http_tokens_by_name ON http_tokens (lower(name));
