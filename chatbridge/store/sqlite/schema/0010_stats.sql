-- What statistics need of an ask that has ended, in the order in which they are counted. An open ask
-- is not in it, so that writing one costs what it did.
ALTER TABLE asks ADD COLUMN approval INTEGER NOT NULL DEFAULT 0;
UPDATE asks SET approval = 1
    WHERE instr(questions, '"type": "approval"') OR instr(questions, '"type":"approval"');
CREATE INDEX asks_counted
    ON asks (project_name, agent_name, approval, status, alone_since, created_at, settled_at)
    WHERE settled_at IS NOT NULL;
