-- The hubs that pass agents on to one another, and the tokens of agents over HTTP, which all of them
-- let in. A hub is known by the certificate that it made when it started: its key is nowhere else.

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
