-- NULL for a person's review.
ALTER TABLE review ADD COLUMN reviewer_model TEXT;
ALTER TABLE review ADD COLUMN key_id TEXT;
-- The verdict of a model that a person's review replaced.
ALTER TABLE review ADD COLUMN overruled_model TEXT;
ALTER TABLE review ADD COLUMN overruled_verdict TEXT;
-- The verdict of a model whose review was withdrawn: renamed, because a new table of traces would
-- rewrite all of them. Its texts, and those of reviews, are converted by the program.
ALTER TABLE trace RENAME COLUMN judge_note TO withdrawn_model;
ALTER TABLE trace ADD COLUMN withdrawn_verdict TEXT;
