-- A database as the first release left it (schema 1): written by its own code, dumped as text.
PRAGMA application_id = 1667396199;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE asks (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    project       TEXT NOT NULL,
    client        TEXT NOT NULL,
    fingerprint   TEXT NOT NULL,
    status        TEXT NOT NULL,
    revision      INTEGER NOT NULL,
    created_at    REAL NOT NULL,
    deadline      REAL,
    settled_at    REAL,
    delivered_at  REAL,
    kept          INTEGER NOT NULL,
    kept_until    REAL,
    discarded     INTEGER NOT NULL,
    alone_since   REAL,
    alone         INTEGER NOT NULL,
    project_name  TEXT NOT NULL,
    project_label TEXT,
    agent_name    TEXT NOT NULL,
    tool          TEXT NOT NULL,
    dialect       TEXT NOT NULL,
    title         TEXT,
    words         TEXT NOT NULL,  -- case-folded title, questions and answers, for the search
    questions     TEXT NOT NULL,  -- JSON
    draft         TEXT NOT NULL,  -- JSON
    outcome       TEXT,           -- JSON
    late          TEXT,           -- JSON
    CHECK ((status = 'open') = (settled_at IS NULL))
);
INSERT INTO "asks" VALUES(1,'00000001-1111-4222-8333-444444444444','/home/ada/shop-api','claude-code','words 1','open',4,1794700001.0,1794703601.0,NULL,NULL,0,NULL,0,NULL,0,'shop-api',NULL,'Claude Code','ask_user','questions','Release 2.4','release 2.4
which branch is released?
which checks must pass?
go on?','[{"id": "branch", "text": "Which branch is released?", "type": "text", "options": [], "required": true, "placeholder": null, "on_timeout": null}, {"id": "checks", "text": "Which checks must pass?", "type": "multi-select", "options": [{"label": "Unit tests", "description": null}, {"label": "Load test", "description": null}], "required": false, "placeholder": null, "on_timeout": null}, {"id": "go", "text": "Go on?", "type": "confirm", "options": [], "required": true, "placeholder": null, "on_timeout": null}]','{"entries": [{"picked": [], "text": "release/2.4", "done": true}, {"picked": [0], "text": null, "done": false}, {"picked": [], "text": null, "done": false}], "view": "question", "at": 1, "step": 3, "editing": false, "late": false}',NULL,NULL);
INSERT INTO "asks" VALUES(2,'00000002-1111-4222-8333-444444444444','/home/ada/shop-api','claude-code','words 2','answered',3,1794700002.0,1794703602.0,1794700100.0,1794700100.5,0,NULL,0,NULL,0,'shop-api',NULL,'Claude Code','ask_user','questions',NULL,'which database should the integration tests use?
postgresql in docker','[{"id": "db", "text": "Which database should the integration tests use?", "type": "select", "options": [{"label": "PostgreSQL in Docker", "description": "One container for each run"}, {"label": "Keep SQLite", "description": null}], "required": true, "placeholder": null, "on_timeout": null}]','{"entries": [{"picked": [], "text": null, "done": false}], "view": "question", "at": 0, "step": 0, "editing": false, "late": false}','{"at": 1794700100.0, "answers": [{"values": ["PostgreSQL in Docker"], "custom_text": null, "decided_by": null}], "reason": null, "by": {"name": "Ada Ærlig", "channel": "web"}}',NULL);
INSERT INTO "asks" VALUES(3,'00000003-1111-4222-8333-444444444444','/home/ada/shop-api','codex-mcp-client','words 3','cancelled',2,1794700003.0,1794703603.0,1794700200.0,NULL,0,NULL,0,NULL,0,'shop-api',NULL,'Codex','ask_user','questions',NULL,'which database should the integration tests use?
not today: “später”','[{"id": "db", "text": "Which database should the integration tests use?", "type": "select", "options": [{"label": "PostgreSQL in Docker", "description": "One container for each run"}, {"label": "Keep SQLite", "description": null}], "required": true, "placeholder": null, "on_timeout": null}]','{"entries": [{"picked": [], "text": null, "done": false}], "view": "question", "at": 0, "step": 0, "editing": false, "late": false}','{"at": 1794700200.0, "answers": [], "reason": "Not today: “später”", "by": {"name": "Ada Ærlig", "channel": "web"}}',NULL);
INSERT INTO "asks" VALUES(4,'00000004-1111-4222-8333-444444444444','/home/ada/docs-site','claude-code','words 4','timed_out',5,1794700004.0,1794703604.0,1794703604.0,NULL,1,1794746900.0,0,NULL,0,'docs-site','public pages','Claude Code','ask_user','questions',NULL,'delete the old fixtures?
yes','[{"id": "t", "text": "Delete the old fixtures?", "type": "confirm", "options": [], "required": true, "placeholder": null, "on_timeout": null}]','{"entries": [{"picked": [0], "text": null, "done": true}], "view": "question", "at": 0, "step": 2, "editing": false, "late": true}','{"at": 1794703604.0, "answers": [], "reason": null, "by": null}','{"at": 1794703700.0, "answers": [{"values": ["yes"], "custom_text": null, "decided_by": null}], "reason": null, "by": {"name": "Ada Ærlig", "channel": "web"}}');
INSERT INTO "asks" VALUES(5,'00000005-1111-4222-8333-444444444444','/home/ada/docs-site','claude-code','words 5','withdrawn',2,1794700005.0,NULL,1794700500.0,NULL,0,NULL,0,NULL,0,'docs-site','public pages','Claude Code','ask_user','questions',NULL,'which colour is the button? 🎨
stopped','[{"id": "c", "text": "Which colour is the button? 🎨", "type": "text", "options": [], "required": true, "placeholder": "a name", "on_timeout": null}]','{"entries": [{"picked": [], "text": null, "done": false}], "view": "question", "at": 0, "step": 0, "editing": false, "late": false}','{"at": 1794700500.0, "answers": [], "reason": "stopped", "by": null}',NULL);
INSERT INTO "asks" VALUES(6,'00000006-1111-4222-8333-444444444444','/home/ada/shop-api','claude-code','words 6','open',2,1794700006.0,NULL,NULL,NULL,0,NULL,0,1794700600.0,1,'shop-api',NULL,'Claude Code','ask_user','questions',NULL,'which database should the integration tests use?','[{"id": "db", "text": "Which database should the integration tests use?", "type": "select", "options": [{"label": "PostgreSQL in Docker", "description": "One container for each run"}, {"label": "Keep SQLite", "description": null}], "required": true, "placeholder": null, "on_timeout": null}]','{"entries": [{"picked": [], "text": null, "done": false}], "view": "question", "at": 0, "step": 0, "editing": false, "late": false}',NULL,NULL);
CREATE TABLE calls (
    link         TEXT NOT NULL,
    request      TEXT NOT NULL,
    ask          INTEGER NOT NULL REFERENCES asks (seq) ON DELETE CASCADE,
    question_ids TEXT NOT NULL,  -- JSON
    started_at   REAL NOT NULL,
    ended_at     REAL,
    delivered_at REAL,
    ticket       INTEGER NOT NULL,
    late         INTEGER NOT NULL,
    PRIMARY KEY (link, request)
);
INSERT INTO "calls" VALUES('link-a','1',1,'["branch", "checks", "go"]',1794700001.0,NULL,NULL,0,0);
INSERT INTO "calls" VALUES('link-a','"two"',2,'["db"]',1794700002.0,1794700100.2,1794700100.5,0,0);
INSERT INTO "calls" VALUES('link-b','7',4,'["t"]',1794700004.0,1794703604.2,1794703604.3,1,0);
CREATE TABLE cursors (
    channel TEXT NOT NULL,
    key     TEXT NOT NULL,
    value   TEXT NOT NULL,
    at      REAL NOT NULL,
    PRIMARY KEY (channel, key)
) WITHOUT ROWID;
INSERT INTO "cursors" VALUES('telegram','offset:123456789','815',1794700700.0);
CREATE TABLE posts (
    ask      INTEGER NOT NULL REFERENCES asks (seq) ON DELETE CASCADE,
    channel  TEXT NOT NULL,
    place    TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (ask, channel)
) WITHOUT ROWID;
INSERT INTO "posts" VALUES(1,'web','00000001-1111-4222-8333-444444444444',3);
INSERT INTO "posts" VALUES(2,'web','00000002-1111-4222-8333-444444444444',3);
CREATE INDEX asks_open ON asks (status, deadline IS NULL, deadline) WHERE status = 'open';
CREATE INDEX asks_open_revisions ON asks (status, revision) WHERE status = 'open';
CREATE INDEX asks_open_twins ON asks (fingerprint) WHERE status = 'open';
CREATE INDEX asks_open_agents ON asks (project, client) WHERE status = 'open';
CREATE INDEX asks_ended ON asks (settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX asks_kept_twins ON asks (fingerprint)
    WHERE delivered_at IS NULL AND discarded = 0 AND kept_until IS NOT NULL;
CREATE INDEX asks_unsettled ON asks (settled_at)
    WHERE delivered_at IS NULL AND kept = 0 AND discarded = 0
    AND (status = 'answered' OR late IS NOT NULL);
CREATE INDEX calls_of_ask ON calls (ask, ended_at);
CREATE INDEX calls_live ON calls (link, ended_at) WHERE ended_at IS NULL;
COMMIT;
