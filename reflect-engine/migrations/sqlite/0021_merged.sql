-- The memory that stands for a merged one.
ALTER TABLE memory ADD COLUMN aside_into INTEGER;
CREATE INDEX memory_by_aside_into ON memory (aside_into) WHERE aside_into IS NOT NULL;

-- What tells whether two memories say nearly the same; NULL where nothing is said.
ALTER TABLE memory ADD COLUMN task_sketch TEXT;
ALTER TABLE memory ADD COLUMN text_sketch TEXT;
