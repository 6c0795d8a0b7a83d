-- The memories that the run was given, as the trace names them: evidence about them outlives the trace.
ALTER TABLE memory ADD COLUMN given TEXT NOT NULL DEFAULT '[]';

UPDATE memory SET given = coalesce((
    SELECT t.retrieved FROM trace t WHERE t.project = memory.project AND t.id = memory.trace_id), '[]');
