-- The number of memories that the project keeps in answers; NULL for all.
ALTER TABLE project ADD COLUMN max_memories INTEGER;
