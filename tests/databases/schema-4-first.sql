-- A database as a commit before 0.1.0 left it (schema 4 as first written, without operations.synchronous): written by its own code, dumped as text.
PRAGMA application_id = 1667396199;
PRAGMA user_version = 4;
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
INSERT INTO "asks" VALUES(1,'b741a3e1-ecc2-4612-a509-0b5cb35388cd','/code/shop-api','claude-code','3b744d0ec1a97f3d758c4607304f5c37eabe0c1c2930ccb1a299c3165a67b8dc','timed_out',5,1794782460.0,1794782520.0,1794782520.0,NULL,1,1794825720.0,0,NULL,0,'shop-api',NULL,'Claude Code','ask_user','questions','Late','late
delete the old fixtures?
yes','[{"id": "q_go", "text": "Delete the old fixtures?", "type": "confirm", "options": [], "required": true, "placeholder": null, "on_timeout": null, "title": null, "takes_ask_back": false, "subject": null}]','{"entries": [{"picked": [0], "text": null, "done": true, "ask_back": null}], "view": "question", "at": 0, "step": 2, "editing": false, "late": true, "by": {"name": "Ada", "channel": "telegram", "place": "700000001"}, "whole": false}','{"at": 1794782520.0, "answers": [], "reason": null, "by": null}','{"at": 1794782520.0, "answers": [{"values": ["yes"], "custom_text": null, "decided_by": null, "ask_back": null}], "reason": null, "by": {"name": "Ada", "channel": "telegram", "place": "700000001"}}');
INSERT INTO "asks" VALUES(2,'30f9b897-e8e1-4ac4-b36e-eaec33f41a29','/code/shop-api','claude-code','2e2b66e6934a71b3b33abdb5e43aa4526fd01df4dd8d869b9097abd60bf9c1d4','answered',2,1794782520.0,1795646520.0,1794782520.0,NULL,1,1794825720.0,0,1794782520.0,0,'shop-api',NULL,'Claude Code','ask_user','questions','Kept','kept
which database should the integration tests use?
sqlite','[{"id": "q_db", "text": "Which database should the integration tests use?", "type": "select", "options": [{"label": "PostgreSQL in Docker (recommended)", "description": "About 9 s more"}, {"label": "SQLite", "description": null}], "required": true, "placeholder": null, "on_timeout": null, "title": null, "takes_ask_back": false, "subject": null}]','{"entries": [{"picked": [1], "text": null, "done": true, "ask_back": null}], "view": "question", "at": 0, "step": 1, "editing": false, "late": false, "by": null, "whole": false}','{"at": 1794782520.0, "answers": [{"values": ["SQLite"], "custom_text": null, "decided_by": null, "ask_back": null}], "reason": null, "by": {"name": "Ada", "channel": "telegram", "place": "700000001"}}',NULL);
INSERT INTO "asks" VALUES(3,'e2c21c32-db31-4626-a30e-08f3f3c0f9be','/code/shop-api','claude-code','be20c82b1e354523f99eade0a22deb94e136db528e3a883966bc1eec46c45457','open',3,1794782520.0,1795646520.0,NULL,NULL,0,NULL,0,NULL,0,'shop-api',NULL,'Claude Code','ask_user','questions','Form','form
what should the commit say?
which checks must pass?
delete the old fixtures?','[{"id": "q_text", "text": "What should the commit say?", "type": "text", "options": [], "required": true, "placeholder": "feat: …", "on_timeout": null, "title": null, "takes_ask_back": false, "subject": null}, {"id": "q_checks", "text": "Which checks must pass?", "type": "multi-select", "options": [{"label": "Unit tests", "description": null}, {"label": "Contract tests", "description": null}, {"label": "Load test", "description": null}], "required": true, "placeholder": null, "on_timeout": null, "title": null, "takes_ask_back": false, "subject": null}, {"id": "q_go", "text": "Delete the old fixtures?", "type": "confirm", "options": [], "required": true, "placeholder": null, "on_timeout": null, "title": null, "takes_ask_back": false, "subject": null}]','{"entries": [{"picked": [], "text": "feat: orders", "done": true, "ask_back": null}, {"picked": [0], "text": null, "done": false, "ask_back": null}, {"picked": [], "text": null, "done": false, "ask_back": null}], "view": "question", "at": 1, "step": 1, "editing": false, "late": false, "by": {"name": "Ada", "channel": "telegram", "place": "700000001"}, "whole": false}',NULL,NULL);
INSERT INTO "asks" VALUES(4,'228a14ab-64f5-4d3c-b4dd-a72537eae236','/code/shop-api','claude-code','751d9583839075f8d2babf8a2bb62853bbe47f22ff7564904bc03fa30a7d5869','open',1,1794782520.0,1795646520.0,NULL,NULL,0,NULL,0,NULL,0,'shop-api',NULL,'Claude Code','ask_user','questions','Text','text
what should the commit say?','[{"id": "q_text", "text": "What should the commit say?", "type": "text", "options": [], "required": true, "placeholder": "feat: …", "on_timeout": null, "title": null, "takes_ask_back": false, "subject": null}]','{"entries": [{"picked": [], "text": null, "done": false, "ask_back": null}], "view": "question", "at": 0, "step": 0, "editing": false, "late": false, "by": null, "whole": false}',NULL,NULL);
INSERT INTO "asks" VALUES(5,'43ad6341-1a57-403a-837a-ad08ffac288a','/code/shop-api','claude-code','70225d032550b7ef0e2c2d50d4952cbcaba10bffa82a31a9de2ce65d0b610b92','open',1,1794782520.0,1795646520.0,NULL,NULL,0,NULL,0,NULL,0,'shop-api',NULL,'Claude Code','ask_user','questions','Approval','approval
run this command?','[{"id": "q_allow", "text": "Run this command?", "type": "approval", "options": [], "required": true, "placeholder": null, "on_timeout": null, "title": null, "takes_ask_back": false, "subject": {"code": "terraform apply -var-file=prod.tfvars plan.out", "language": "bash", "file": null, "folder": "~/code/infra", "whole_first": false, "latest": null, "destructive": false, "beyond": null}}]','{"entries": [{"picked": [], "text": null, "done": false, "ask_back": null}], "view": "question", "at": 0, "step": 0, "editing": false, "late": false, "by": null, "whole": false}',NULL,NULL);
CREATE TABLE calls (
    link         TEXT NOT NULL,
    request      TEXT NOT NULL,
    ask          INTEGER NOT NULL REFERENCES asks (seq) ON DELETE CASCADE,
    question_ids TEXT NOT NULL,  -- JSON
    started_at   REAL NOT NULL,
    ended_at     REAL,
    delivered_at REAL,
    ticket       INTEGER NOT NULL,
    late         INTEGER NOT NULL, counts_until REAL,
    PRIMARY KEY (link, request)
);
INSERT INTO "calls" VALUES('link','1',1,'["q_go"]',1794782460.0,1794782520.0,NULL,0,0,NULL);
INSERT INTO "calls" VALUES('link','2',2,'["q_db"]',1794782520.0,1794782520.0,NULL,0,0,NULL);
INSERT INTO "calls" VALUES('link','3',3,'["q_text", "q_checks", "q_go"]',1794782520.0,NULL,NULL,0,0,NULL);
INSERT INTO "calls" VALUES('link','4',4,'["q_text"]',1794782520.0,NULL,NULL,0,0,NULL);
INSERT INTO "calls" VALUES('link','5',5,'["q_allow"]',1794782520.0,NULL,NULL,0,0,NULL);
CREATE TABLE handles (
    surface TEXT NOT NULL,
    handle  TEXT NOT NULL,
    ask     INTEGER NOT NULL REFERENCES asks (seq) ON DELETE CASCADE,
    PRIMARY KEY (surface, handle)
) WITHOUT ROWID;
INSERT INTO "handles" VALUES('telegram:700000001','700000001:8961',1);
INSERT INTO "handles" VALUES('telegram:700000001','700000001:8962',2);
INSERT INTO "handles" VALUES('matrix:!room:example.org','$root',3);
INSERT INTO "handles" VALUES('telegram:700000001','700000001:8963',3);
INSERT INTO "handles" VALUES('telegram:700000001','700000001:8964',3);
INSERT INTO "handles" VALUES('telegram:700000001','700000001:8966',4);
INSERT INTO "handles" VALUES('telegram:700000001','700000001:8967',4);
INSERT INTO "handles" VALUES('telegram:700000001','700000001:8968',5);
CREATE TABLE "notes" (
    channel TEXT NOT NULL,
    key     TEXT NOT NULL,
    value   TEXT NOT NULL,
    at      REAL NOT NULL,
    PRIMARY KEY (channel, key)
) WITHOUT ROWID;
INSERT INTO "notes" VALUES('telegram','offset:1285007276','397471402',1794782520.0);
CREATE TABLE notice_posts (
    notice  INTEGER NOT NULL REFERENCES notices (seq) ON DELETE CASCADE,
    surface TEXT NOT NULL,
    PRIMARY KEY (notice, surface)
) WITHOUT ROWID;
INSERT INTO "notice_posts" VALUES(1,'telegram:700000001');
INSERT INTO "notice_posts" VALUES(2,'telegram:700000001');
CREATE TABLE notices (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    link          TEXT NOT NULL,
    request       TEXT NOT NULL,
    project       TEXT NOT NULL,
    client        TEXT NOT NULL,
    project_name  TEXT NOT NULL,
    project_label TEXT,
    agent_name    TEXT NOT NULL,
    title         TEXT NOT NULL,
    message       TEXT NOT NULL,
    level         TEXT NOT NULL,
    at            REAL NOT NULL, operation TEXT,
    UNIQUE (link, request, title, message)
);
INSERT INTO "notices" VALUES(1,'3d473d50-2454-4a24-81a0-e194fbe1ab6b','link','6','/code/shop-api','claude-code','shop-api',NULL,'Claude Code','Build','Half of it is done.','info',1794782520.0,NULL);
INSERT INTO "notices" VALUES(2,'992d854a-0724-4033-8b03-dce93a2bd3ff','link','7','/code/shop-api','claude-code','shop-api',NULL,'Claude Code','','make build has ended','error',1794782520.0,'{"id": "op-ended", "title": "make build", "succeeded": false, "how": "exit 2", "took": 95.0, "tail": "error: no", "whole": false}');
CREATE TABLE operations (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    link          TEXT NOT NULL,
    request       TEXT NOT NULL,
    project       TEXT NOT NULL,
    project_name  TEXT NOT NULL,
    project_label TEXT,
    client        TEXT NOT NULL,
    agent_name    TEXT NOT NULL,
    tool          TEXT NOT NULL,
    title         TEXT NOT NULL,
    group_name    TEXT NOT NULL,
    plan          TEXT NOT NULL,  -- JSON
    created_at    REAL NOT NULL,
    stage         TEXT NOT NULL,
    grant_key     TEXT,
    approved      INTEGER NOT NULL,
    ask_id        TEXT,
    started_at    REAL,
    ended_at      REAL,
    delivered     INTEGER NOT NULL,
    result        TEXT NOT NULL,  -- JSON
    CHECK ((ended_at IS NULL) = (stage IN ('awaiting_approval', 'queued', 'running')))
);
INSERT INTO "operations" VALUES(1,'op-waits','link','op-waits','/code/shop-api','shop-api',NULL,'claude-code','Claude Code','make_build','make build','make','{"argv": ["make", "build"], "executable": "/usr/bin/make", "folder": "/code/shop-api", "environment": [], "timeout": 600.0, "output_limit": 100000, "concurrency": null, "synchronous": false, "destructive": false}',1794782460.0,'awaiting_approval',NULL,0,'43ad6341-1a57-403a-837a-ad08ffac288a',NULL,NULL,0,'{"exit_code": null, "signal": null, "head": "", "tail": "", "size": 0, "left_out": 0, "reason": null}');
INSERT INTO "operations" VALUES(2,'op-runs','link','op-runs','/code/shop-api','shop-api',NULL,'claude-code','Claude Code','make_build','make build','make','{"argv": ["make", "build"], "executable": "/usr/bin/make", "folder": "/code/shop-api", "environment": [], "timeout": 600.0, "output_limit": 100000, "concurrency": null, "synchronous": false, "destructive": false}',1794782460.0,'running',NULL,1,NULL,1794782460.0,NULL,0,'{"exit_code": null, "signal": null, "head": "", "tail": "", "size": 0, "left_out": 0, "reason": null}');
INSERT INTO "operations" VALUES(3,'op-ended','link','op-ended','/code/shop-api','shop-api',NULL,'claude-code','Claude Code','make_build','make build','make','{"argv": ["make", "build"], "executable": "/usr/bin/make", "folder": "/code/shop-api", "environment": [], "timeout": 600.0, "output_limit": 100000, "concurrency": null, "synchronous": true, "destructive": false}',1794782460.0,'failed',NULL,0,NULL,1794782460.0,1794782555.0,0,'{"exit_code": 2, "signal": null, "head": "error: no", "tail": "", "size": 9, "left_out": 0, "reason": null}');
CREATE TABLE posts (
    ask      INTEGER NOT NULL REFERENCES asks (seq) ON DELETE CASCADE,
    surface  TEXT NOT NULL,
    place    TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (ask, surface)
) WITHOUT ROWID;
INSERT INTO "posts" VALUES(1,'telegram:700000001','{"chat":700000001,"card":8961,"step":2,"since":1794782520.0,"thread":null,"again":false,"files":0,"prompt":null,"old":[],"reminder":null}',5);
INSERT INTO "posts" VALUES(2,'telegram:700000001','{"chat":700000001,"card":8962,"step":1,"since":1794782520.0,"thread":null,"again":false,"files":0,"prompt":null,"old":[],"reminder":null}',2);
INSERT INTO "posts" VALUES(3,'matrix:!room:example.org','{"room":"!room:example.org","parts":[{"event":"$root","step":1,"view":"question","at":1,"shows":"digest","seeds":[{"emoji":"1️⃣","event":"$seed"}]}],"reminder":null,"pages":[]}',1);
INSERT INTO "posts" VALUES(3,'telegram:700000001','{"chat":700000001,"card":8963,"step":1,"since":1794782520.0,"thread":null,"again":false,"files":0,"prompt":null,"old":[],"reminder":null}',3);
INSERT INTO "posts" VALUES(4,'telegram:700000001','{"chat":700000001,"card":8966,"step":0,"since":1794782520.0,"thread":null,"again":false,"files":0,"prompt":{"id":8967,"step":0},"old":[],"reminder":null}',1);
INSERT INTO "posts" VALUES(5,'telegram:700000001','{"chat":700000001,"card":8968,"step":0,"since":1794782520.0,"thread":null,"again":false,"files":0,"prompt":null,"old":[],"reminder":null}',1);
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
CREATE INDEX handles_of_ask ON handles (ask);
CREATE INDEX notices_at ON notices (at);
CREATE INDEX asks_answered ON asks (project, settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX operations_unended ON operations (seq) WHERE ended_at IS NULL;
CREATE INDEX operations_undelivered ON operations (link, request) WHERE delivered = 0;
CREATE INDEX operations_of_project ON operations (project, ended_at IS NULL, seq);
CREATE INDEX operations_granted ON operations (link, grant_key)
    WHERE approved = 1 AND grant_key IS NOT NULL;
CREATE INDEX operations_ended ON operations (ended_at) WHERE ended_at IS NOT NULL;
COMMIT;
