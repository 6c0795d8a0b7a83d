-- The directions of vectors in half precision, project by project. A query of a project whose vectors no
-- server holds in memory scans them; what is returned is computed on the full vectors.
CREATE TABLE direction (
    memory     BIGINT PRIMARY KEY REFERENCES memory ON DELETE CASCADE,
    project    BIGINT NOT NULL,
    embedder   TEXT NOT NULL COLLATE "C",
    direction  HALFVEC NOT NULL
);

-- In the row as long as it fits into a page: a scan reads them all.
ALTER TABLE direction ALTER COLUMN direction SET STORAGE MAIN;

INSERT INTO direction (memory, project, embedder, direction)
    SELECT e.memory, m.project, e.embedder, l2_normalize(e.vector)::halfvec
    FROM embedding e JOIN memory m ON m.key = e.memory ORDER BY e.memory;

CREATE INDEX direction_by_project ON direction (project, embedder);

-- A trigger, so that servers of an older version write directions too.
CREATE FUNCTION set_direction() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO direction (memory, project, embedder, direction)
        SELECT NEW.memory, m.project, NEW.embedder, l2_normalize(NEW.vector)::halfvec
        FROM memory m WHERE m.key = NEW.memory
    ON CONFLICT (memory) DO UPDATE
        SET embedder = excluded.embedder, direction = excluded.direction;
    RETURN NULL;
END $$;

CREATE TRIGGER direction_of_embedding AFTER INSERT OR UPDATE ON embedding
    FOR EACH ROW EXECUTE FUNCTION set_direction();
