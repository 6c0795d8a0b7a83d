-- The learning rate of the review that a memory was learned from: its weight in the learned ranking.
ALTER TABLE memory ADD COLUMN alpha REAL NOT NULL DEFAULT 0.3;

UPDATE memory SET alpha = coalesce((
    SELECT r.alpha FROM trace t JOIN review r ON r.trace = t.key
    WHERE t.project = memory.project AND t.id = memory.trace_id), 0.3);
