-- What people look through. The words of tasks, without the tasks; a row's number is that of its trace.
CREATE VIRTUAL TABLE trace_text USING fts5 (
    project, task, content='', contentless_delete=1, detail='column'
);

INSERT INTO trace_text (rowid, project, task) SELECT key, project, task FROM trace;

CREATE TRIGGER trace_text_insert AFTER INSERT ON trace BEGIN
    INSERT INTO trace_text (rowid, project, task) VALUES (new.key, new.project, new.task);
END;

CREATE TRIGGER trace_text_delete AFTER DELETE ON trace BEGIN
    DELETE FROM trace_text WHERE rowid = old.key;
END;

CREATE INDEX trace_by_model ON trace (project, model, key);
CREATE INDEX review_by_verdict ON review (verdict, trace);
-- Reviews of models, which people confirm or replace.
CREATE INDEX review_of_model ON review (trace) WHERE reviewer_model IS NOT NULL;
