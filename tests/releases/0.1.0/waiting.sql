-- A database as 0.1.0 left it while agents waited, at a kill -9: written by its own code, dumped as text.
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
INSERT INTO "asks" VALUES(1,'f3bfa59c-9cbe-4a4f-a1b7-15a51018eb78','link:a113f951da44d3814bfc057863af6ae2','claude-code','2fbef24e82b6f1236a719212cba5cb664859c9b8a15d37c424d19ed75c09247b','open',1,1.79506456840539288521e+09,1.79506636838946104046e+09,NULL,NULL,0,NULL,0,NULL,0,'shop',NULL,'Claude Code','approve_tool_use','Bash',NULL,'run this command?','[{"id": "approval", "text": "Run this command?", "type": "approval", "options": [], "required": true, "placeholder": null, "on_timeout": null, "title": null, "takes_ask_back": false, "subject": {"code": "rm -rf build", "language": "bash", "file": null, "folder": null, "whole_first": false, "latest": 1795066368.389461, "destructive": false, "beyond": null}}]','{"entries": [{"picked": [], "text": null, "done": false, "ask_back": null}], "view": "question", "at": 0, "step": 0, "editing": false, "late": false, "by": null, "whole": false}',NULL,NULL);
INSERT INTO "asks" VALUES(2,'bc3c5bac-12ac-48c3-9e55-495cb67ba74a','link:a113f951da44d3814bfc057863af6ae2','claude-code','c661c9528149df4fc2d1ed3c49e13cdfb615c87c9cc768a3d9a5fc0337b9f8d0','open',1,1.79506456842318987848e+09,1.79506636840651297572e+09,NULL,NULL,0,NULL,0,NULL,0,'shop',NULL,'Claude Code','approve_tool_use','WebFetch',NULL,'use `webfetch`?','[{"id": "approval", "text": "Use `WebFetch`?", "type": "approval", "options": [], "required": true, "placeholder": null, "on_timeout": null, "title": null, "takes_ask_back": false, "subject": {"code": "{\n  \"url\": \"https://example.org/\",\n  \"prompt\": \"Summarise\"\n}", "language": "json", "file": null, "folder": null, "whole_first": false, "latest": 1795066368.406513, "destructive": false, "beyond": null}}]','{"entries": [{"picked": [], "text": null, "done": false, "ask_back": null}], "view": "question", "at": 0, "step": 0, "editing": false, "late": false, "by": null, "whole": false}',NULL,NULL);
INSERT INTO "asks" VALUES(3,'fb8dc5da-4b43-426e-8642-95f548fa37fc','link:a113f951da44d3814bfc057863af6ae2','claude-code','bff262f2e46cdccc3ff61002e291a25c6afcb81e2556b00fc4e977181673b6b0','open',1,1.795064568433704853e+09,1.79506636842652440074e+09,NULL,NULL,0,NULL,0,NULL,0,'shop',NULL,'Claude Code','approve_tool_use','Edit',NULL,'change this file?','[{"id": "approval", "text": "Change this file?", "type": "approval", "options": [], "required": true, "placeholder": null, "on_timeout": null, "title": null, "takes_ask_back": false, "subject": {"code": "-x\n+y", "language": "diff", "file": "/home/ada/shop/README", "folder": null, "whole_first": false, "latest": 1795066368.4265244, "destructive": false, "beyond": null}}]','{"entries": [{"picked": [], "text": null, "done": false, "ask_back": null}], "view": "question", "at": 0, "step": 0, "editing": false, "late": false, "by": null, "whole": false}',NULL,NULL);
INSERT INTO "asks" VALUES(4,'1b535aa7-c45b-4cf6-9720-2a4fc5762a1b','link:a113f951da44d3814bfc057863af6ae2','claude-code','e25957949ebbec0b77df57b1f16bb057633d0c7e1d5bf5e7a5759206875ade65','open',1,1.79506456843572044373e+09,1.79506636843455862993e+09,NULL,NULL,0,NULL,0,NULL,0,'shop',NULL,'Claude Code','approve_tool_use','Write',NULL,'change this file?','[{"id": "approval", "text": "Change this file?", "type": "approval", "options": [], "required": true, "placeholder": null, "on_timeout": null, "title": null, "takes_ask_back": false, "subject": {"code": "@@ the whole file @@\n+new", "language": "diff", "file": "/home/ada/shop/NEW", "folder": null, "whole_first": false, "latest": 1795066368.4345586, "destructive": false, "beyond": null}}]','{"entries": [{"picked": [], "text": null, "done": false, "ask_back": null}], "view": "question", "at": 0, "step": 0, "editing": false, "late": false, "by": null, "whole": false}',NULL,NULL);
INSERT INTO "asks" VALUES(5,'a56176b9-e2d3-4d3b-b894-fcee9bc74ca8','link:a113f951da44d3814bfc057863af6ae2','claude-code','76eb3b6c62be703e8d8843d5f4f3d8d07589e8cb4ea254aaab97279551022927','open',1,1.7950645684365651607e+09,1.79506816843656516078e+09,NULL,NULL,0,NULL,0,NULL,0,'shop',NULL,'Claude Code','ask_user','questions',NULL,'which colour?','[{"id": "colour", "text": "Which colour?", "type": "select", "options": [{"label": "red", "description": null}, {"label": "blue", "description": null}], "required": true, "placeholder": null, "on_timeout": null, "title": null, "takes_ask_back": false, "subject": null}]','{"entries": [{"picked": [], "text": null, "done": false, "ask_back": null}], "view": "question", "at": 0, "step": 0, "editing": false, "late": false, "by": null, "whole": false}',NULL,NULL);
INSERT INTO "asks" VALUES(6,'fe5351d8-be7f-48f4-b3a3-c8fa864907f8','link:a113f951da44d3814bfc057863af6ae2','claude-code','189b169c00e3b76215644ac1a80f3ac28e07d6155b2ae66095094a5ba64e72e9','open',3,1.79506456843664598463e+09,1.79506816843664598467e+09,NULL,NULL,0,NULL,0,NULL,0,'shop',NULL,'Claude Code','ask_user','questions','Release','release
which name?
which checks?
go?','[{"id": "name", "text": "Which name?", "type": "text", "options": [], "required": true, "placeholder": null, "on_timeout": null, "title": null, "takes_ask_back": false, "subject": null}, {"id": "checks", "text": "Which checks?", "type": "multi-select", "options": [{"label": "unit", "description": null}, {"label": "load", "description": null}, {"label": "smoke", "description": null}], "required": true, "placeholder": null, "on_timeout": null, "title": null, "takes_ask_back": false, "subject": null}, {"id": "go", "text": "Go?", "type": "confirm", "options": [], "required": true, "placeholder": null, "on_timeout": null, "title": null, "takes_ask_back": false, "subject": null}]','{"entries": [{"picked": [], "text": "feat: orders", "done": true, "ask_back": null}, {"picked": [1], "text": null, "done": false, "ask_back": null}, {"picked": [], "text": null, "done": false, "ask_back": null}], "view": "question", "at": 1, "step": 1, "editing": false, "late": false, "by": {"name": "Ada", "channel": "telegram", "place": "700000001"}, "whole": false}',NULL,NULL);
INSERT INTO "asks" VALUES(7,'71fcf2b4-6f1e-4104-b040-83cd17cb64b9','link:a113f951da44d3814bfc057863af6ae2','claude-code','61d81dc7013258512b117d9217407eb088ea4f61fe819be75e7679159810ac2f','open',1,1.79506456843670177464e+09,1.79506816843670177459e+09,NULL,NULL,0,NULL,0,NULL,0,'shop',NULL,'Claude Code','ask_user','question',NULL,'which port?','[{"id": "q_1f1e4f", "text": "Which port?", "type": "select", "options": [{"label": "8080", "description": "the usual"}, {"label": "9090", "description": null}], "required": true, "placeholder": null, "on_timeout": null, "title": null, "takes_ask_back": false, "subject": null}]','{"entries": [{"picked": [], "text": null, "done": false, "ask_back": null}], "view": "question", "at": 0, "step": 0, "editing": false, "late": false, "by": null, "whole": false}',NULL,NULL);
INSERT INTO "asks" VALUES(8,'9246fc6c-2f4e-4302-b295-fe36002311b4','link:a113f951da44d3814bfc057863af6ae2','claude-code','2b6d72f0eac8807f17d42d1ad16820be8a784a7f0f238918838d3022e9a3e0e3','open',1,1.79506456861322689052e+09,NULL,NULL,NULL,0,NULL,0,NULL,0,'shop',NULL,'Claude Code','ask_user_questions','auq','Database','database
which database?','[{"id": "q1", "text": "Which database?", "type": "select", "options": [{"label": "PostgreSQL (recommended)", "description": "a server"}, {"label": "SQLite", "description": "a file"}], "required": false, "placeholder": null, "on_timeout": null, "title": "Database", "takes_ask_back": true, "subject": null}]','{"entries": [{"picked": [], "text": null, "done": false, "ask_back": null}], "view": "question", "at": 0, "step": 0, "editing": false, "late": false, "by": null, "whole": false}',NULL,NULL);
INSERT INTO "asks" VALUES(9,'16f419dc-5a55-4b09-8e85-ae0dfb30b9f4','link:a113f951da44d3814bfc057863af6ae2','claude-code','1e51937442f02c2c7e331ecded9c3c06097f2c402de84803f0550f401b16a256','open',1,1.79506456861421370501e+09,1.7950681686142137051e+09,NULL,NULL,0,NULL,0,NULL,0,'shop',NULL,'Claude Code','approve_tool_use','AskUserQuestion',NULL,'which way?','[{"id": "q_1", "text": "Which way?", "type": "select", "options": [{"label": "left", "description": "1"}, {"label": "right", "description": "2"}], "required": true, "placeholder": null, "on_timeout": null, "title": "Way", "takes_ask_back": false, "subject": null}]','{"entries": [{"picked": [], "text": null, "done": false, "ask_back": null}], "view": "question", "at": 0, "step": 0, "editing": false, "late": false, "by": null, "whole": false}',NULL,NULL);
INSERT INTO "asks" VALUES(10,'9b9eacb6-6d0f-4d24-a454-d47336cd42be','link:49f083f7721bcd1116bb7ca4700789f6','windowed','ee4bdb8b064f4bf0377afafc97c16db7d5b974ada74f2b8a1835e59c68af52f6','open',1,1.79506456864155673983e+09,NULL,NULL,NULL,0,NULL,0,NULL,0,'shop',NULL,'windowed','question_ask','question_ask',NULL,'which approach?','[{"id": "answer", "text": "Which approach?", "type": "text", "options": [], "required": true, "placeholder": null, "on_timeout": null, "title": null, "takes_ask_back": false, "subject": null}]','{"entries": [{"picked": [], "text": null, "done": false, "ask_back": null}], "view": "question", "at": 0, "step": 0, "editing": false, "late": false, "by": null, "whole": false}',NULL,NULL);
INSERT INTO "asks" VALUES(11,'6adcfacb-f4e2-4f22-b4b2-f5f401099ce2','link:49f083f7721bcd1116bb7ca4700789f6','windowed','7e5a6f8d12da256799542081327689158ea3e6af350f99907bfd87e1cef6286e','open',1,1.79506456876537442207e+09,1.79506816876537442207e+09,NULL,NULL,0,NULL,0,NULL,0,'shop',NULL,'windowed','ask_user','questions',NULL,'which window?','[{"id": "w", "text": "Which window?", "type": "select", "options": [{"label": "this", "description": null}, {"label": "that", "description": null}], "required": true, "placeholder": null, "on_timeout": null, "title": null, "takes_ask_back": false, "subject": null}]','{"entries": [{"picked": [], "text": null, "done": false, "ask_back": null}], "view": "question", "at": 0, "step": 0, "editing": false, "late": false, "by": null, "whole": false}',NULL,NULL);
INSERT INTO "asks" VALUES(12,'8015cba4-fbff-4d14-b857-17ac9cd293c6','link:e6629a072d516e4e8a226cc0d04f1111','slow','2e0b8384a0b1451ad88c3a3671ef2b88445bc1bd1752dee2c23c325dd899025e','open',1,1.79506456896577787397e+09,1.79506816896577787402e+09,NULL,NULL,0,NULL,0,NULL,0,'shop',NULL,'slow','ask_user','questions',NULL,'which ticket?','[{"id": "t", "text": "Which ticket?", "type": "select", "options": [{"label": "red", "description": null}, {"label": "blue", "description": null}], "required": true, "placeholder": null, "on_timeout": null, "title": null, "takes_ask_back": false, "subject": null}]','{"entries": [{"picked": [], "text": null, "done": false, "ask_back": null}], "view": "question", "at": 0, "step": 0, "editing": false, "late": false, "by": null, "whole": false}',NULL,NULL);
INSERT INTO "asks" VALUES(13,'e3ab0bb8-55ab-46d4-90b2-dbe993ffbf24','link:5fe225a0aefa0a26172ddfe3d9f3d1cc','cursor','30a6537f80b3c8d79ed3dee45df9acf739d6d65cbb77ff0343edbc32bb6d68d8','answered',2,1.79506456904925322535e+09,1.79506816904925322535e+09,1.79506458202163195602e+09,NULL,0,1.79510778202163195612e+09,0,NULL,0,'shop',NULL,'Cursor','ask_user','questions',NULL,'which drink?
coffee','[{"id": "d", "text": "Which drink?", "type": "select", "options": [{"label": "tea", "description": null}, {"label": "coffee", "description": null}], "required": true, "placeholder": null, "on_timeout": null, "title": null, "takes_ask_back": false, "subject": null}]','{"entries": [{"picked": [1], "text": null, "done": true, "ask_back": null}], "view": "question", "at": 0, "step": 1, "editing": false, "late": false, "by": null, "whole": false}','{"at": 1795064582.021632, "answers": [{"values": ["coffee"], "custom_text": null, "decided_by": null, "ask_back": null}], "reason": null, "by": {"name": "Ada", "channel": "telegram", "place": "700000001"}}',NULL);
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
INSERT INTO "calls" VALUES('a113f951da44d3814bfc057863af6ae2','5',1,'["approval"]',1.79506456840539288521e+09,NULL,NULL,0,0,NULL);
INSERT INTO "calls" VALUES('a113f951da44d3814bfc057863af6ae2','6',2,'["approval"]',1.79506456842318987848e+09,NULL,NULL,0,0,NULL);
INSERT INTO "calls" VALUES('a113f951da44d3814bfc057863af6ae2','7',3,'["approval"]',1.795064568433704853e+09,NULL,NULL,0,0,NULL);
INSERT INTO "calls" VALUES('a113f951da44d3814bfc057863af6ae2','8',4,'["approval"]',1.79506456843572044373e+09,NULL,NULL,0,0,NULL);
INSERT INTO "calls" VALUES('a113f951da44d3814bfc057863af6ae2','1',5,'["colour"]',1.7950645684365651607e+09,NULL,NULL,0,0,NULL);
INSERT INTO "calls" VALUES('a113f951da44d3814bfc057863af6ae2','2',6,'["name", "checks", "go"]',1.79506456843664598463e+09,NULL,NULL,0,0,NULL);
INSERT INTO "calls" VALUES('a113f951da44d3814bfc057863af6ae2','"three"',7,'["q_1f1e4f"]',1.79506456843670177464e+09,NULL,NULL,0,0,NULL);
INSERT INTO "calls" VALUES('a113f951da44d3814bfc057863af6ae2','4',8,'["q1"]',1.79506456861322689052e+09,NULL,NULL,0,0,NULL);
INSERT INTO "calls" VALUES('a113f951da44d3814bfc057863af6ae2','9',9,'["q_1"]',1.79506456861421370501e+09,NULL,NULL,0,0,NULL);
INSERT INTO "calls" VALUES('49f083f7721bcd1116bb7ca4700789f6','1',10,'["answer"]',1.79506456864155673983e+09,NULL,NULL,0,0,NULL);
INSERT INTO "calls" VALUES('49f083f7721bcd1116bb7ca4700789f6','2',11,'["w"]',1.79506456876537442207e+09,NULL,NULL,0,0,NULL);
INSERT INTO "calls" VALUES('e6629a072d516e4e8a226cc0d04f1111','1',12,'["t"]',1.79506456896577787397e+09,1.79506457904598188402e+09,1.79506457902553606034e+09,1,0,NULL);
INSERT INTO "calls" VALUES('5fe225a0aefa0a26172ddfe3d9f3d1cc','1',13,'["d"]',1.79506456904925322535e+09,NULL,NULL,0,0,NULL);
INSERT INTO "calls" VALUES('e6629a072d516e4e8a226cc0d04f1111','2',12,'["t"]',1.79506457904598188402e+09,NULL,NULL,0,0,NULL);
CREATE TABLE handles (
    surface TEXT NOT NULL,
    handle  TEXT NOT NULL,
    ask     INTEGER NOT NULL REFERENCES asks (seq) ON DELETE CASCADE,
    PRIMARY KEY (surface, handle)
) WITHOUT ROWID;
INSERT INTO "handles" VALUES('telegram:700000001','700000001:9277',1);
INSERT INTO "handles" VALUES('telegram:700000001','700000001:9278',2);
INSERT INTO "handles" VALUES('telegram:700000001','700000001:9279',3);
INSERT INTO "handles" VALUES('telegram:700000001','700000001:9280',4);
INSERT INTO "handles" VALUES('telegram:700000001','700000001:9281',5);
INSERT INTO "handles" VALUES('telegram:700000001','700000001:9282',6);
INSERT INTO "handles" VALUES('telegram:700000001','700000001:9283',7);
INSERT INTO "handles" VALUES('telegram:700000001','700000001:9284',8);
INSERT INTO "handles" VALUES('telegram:700000001','700000001:9285',9);
INSERT INTO "handles" VALUES('telegram:700000001','700000001:9286',10);
INSERT INTO "handles" VALUES('telegram:700000001','700000001:9287',11);
INSERT INTO "handles" VALUES('telegram:700000001','700000001:9288',12);
INSERT INTO "handles" VALUES('telegram:700000001','700000001:9289',13);
CREATE TABLE "notes" (
    channel TEXT NOT NULL,
    key     TEXT NOT NULL,
    value   TEXT NOT NULL,
    at      REAL NOT NULL,
    PRIMARY KEY (channel, key)
) WITHOUT ROWID;
INSERT INTO "notes" VALUES('commands','offered','fd5eac4ca5e07abd1434ac183da97fe41a9e116f7d35b59408f6b528c6c6dc62',1.79506456817884898187e+09);
INSERT INTO "notes" VALUES('telegram','offset:4384520372','283916753',1.79506458205434155464e+09);
INSERT INTO "notes" VALUES('telegram','people','["700000001"]',1.79506456823250889779e+09);
CREATE TABLE notice_posts (
    notice  INTEGER NOT NULL REFERENCES notices (seq) ON DELETE CASCADE,
    surface TEXT NOT NULL,
    PRIMARY KEY (notice, surface)
) WITHOUT ROWID;
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
    synchronous   INTEGER NOT NULL,
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
CREATE TABLE posts (
    ask      INTEGER NOT NULL REFERENCES asks (seq) ON DELETE CASCADE,
    surface  TEXT NOT NULL,
    place    TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (ask, surface)
) WITHOUT ROWID;
INSERT INTO "posts" VALUES(1,'telegram:700000001','{"chat":700000001,"card":9277,"step":0,"since":1795064569.0,"thread":null,"again":false,"files":0,"prompt":null,"old":[],"reminder":null}',1);
INSERT INTO "posts" VALUES(2,'telegram:700000001','{"chat":700000001,"card":9278,"step":0,"since":1795064569.0,"thread":null,"again":false,"files":0,"prompt":null,"old":[],"reminder":null}',1);
INSERT INTO "posts" VALUES(3,'telegram:700000001','{"chat":700000001,"card":9279,"step":0,"since":1795064569.0,"thread":null,"again":false,"files":0,"prompt":null,"old":[],"reminder":null}',1);
INSERT INTO "posts" VALUES(4,'telegram:700000001','{"chat":700000001,"card":9280,"step":0,"since":1795064569.0,"thread":null,"again":false,"files":0,"prompt":null,"old":[],"reminder":null}',1);
INSERT INTO "posts" VALUES(5,'telegram:700000001','{"chat":700000001,"card":9281,"step":0,"since":1795064569.0,"thread":null,"again":false,"files":0,"prompt":null,"old":[],"reminder":null}',1);
INSERT INTO "posts" VALUES(6,'telegram:700000001','{"chat":700000001,"card":9282,"step":1,"since":1795064578.0,"thread":null,"again":false,"files":0,"prompt":null,"old":[],"reminder":null}',3);
INSERT INTO "posts" VALUES(7,'telegram:700000001','{"chat":700000001,"card":9283,"step":0,"since":1795064571.0,"thread":null,"again":false,"files":0,"prompt":null,"old":[],"reminder":null}',1);
INSERT INTO "posts" VALUES(8,'telegram:700000001','{"chat":700000001,"card":9284,"step":0,"since":1795064572.0,"thread":null,"again":false,"files":0,"prompt":null,"old":[],"reminder":null}',1);
INSERT INTO "posts" VALUES(9,'telegram:700000001','{"chat":700000001,"card":9285,"step":0,"since":1795064573.0,"thread":null,"again":false,"files":0,"prompt":null,"old":[],"reminder":null}',1);
INSERT INTO "posts" VALUES(10,'telegram:700000001','{"chat":700000001,"card":9286,"step":0,"since":1795064574.0,"thread":null,"again":false,"files":0,"prompt":null,"old":[],"reminder":null}',1);
INSERT INTO "posts" VALUES(11,'telegram:700000001','{"chat":700000001,"card":9287,"step":0,"since":1795064575.0,"thread":null,"again":false,"files":0,"prompt":null,"old":[],"reminder":null}',1);
INSERT INTO "posts" VALUES(12,'telegram:700000001','{"chat":700000001,"card":9288,"step":0,"since":1795064576.0,"thread":null,"again":false,"files":0,"prompt":null,"old":[],"reminder":null}',1);
INSERT INTO "posts" VALUES(13,'telegram:700000001','{"chat":700000001,"card":9289,"step":1,"since":1795064582.0,"thread":null,"again":false,"files":0,"prompt":null,"old":[],"reminder":null}',2);
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
CREATE INDEX operations_of_project
    ON operations (project, ended_at IS NULL, NOT synchronous, seq);
CREATE INDEX operations_granted ON operations (link, grant_key)
    WHERE approved = 1 AND grant_key IS NOT NULL;
CREATE INDEX operations_ended ON operations (ended_at) WHERE ended_at IS NOT NULL;
COMMIT;
