-- Notices are searched like asks, and a dismissed one is in the history only.
ALTER TABLE notices ADD COLUMN dismissed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE notices ADD COLUMN words TEXT NOT NULL DEFAULT '';
UPDATE notices SET words = lower(title || char(10) || message);
