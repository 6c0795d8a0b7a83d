-- What a model said of the run, where its review was taken back since.
ALTER TABLE trace ADD COLUMN judge_note TEXT;
