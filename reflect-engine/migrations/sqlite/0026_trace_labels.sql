-- What traces are found by besides their ids: a hash of each short value in their metadata. The rows of a
-- trace are deleted with it, by the program: a reference would need an index of its own.
CREATE TABLE trace_label (
    project  INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    label    INTEGER NOT NULL,
    trace    INTEGER NOT NULL,
    PRIMARY KEY (project, label, trace)
) WITHOUT ROWID;
