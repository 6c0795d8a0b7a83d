-- Few among many, and looked for when a model is back.
CREATE INDEX trace_failed ON trace (project, key) WHERE ingest_status = 'failed';
