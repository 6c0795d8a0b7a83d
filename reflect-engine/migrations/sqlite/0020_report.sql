-- What a report counts, without reading the texts of runs and reviews.
CREATE INDEX trace_outcome ON trace (project, created_at, arm, model);
CREATE INDEX review_outcome ON review (trace, verdict, reviewer_model, overruled_model, overruled_verdict);

-- The runs that a model and a person reviewed.
CREATE INDEX review_overruled ON review (overruled_model) WHERE overruled_model IS NOT NULL;

CREATE INDEX memory_by_uses ON memory (project, uses) WHERE uses >= 5;
