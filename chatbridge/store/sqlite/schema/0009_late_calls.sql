-- Kept answers that agents have picked up, by when they did: what the morning summary counts.
CREATE INDEX calls_late ON calls (delivered_at) WHERE late = 1 AND delivered_at IS NOT NULL;
