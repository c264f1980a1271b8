-- How loudly an ask may come, when it comes back, and how often it has: JSON.
ALTER TABLE asks ADD COLUMN attention TEXT NOT NULL DEFAULT '{}';
