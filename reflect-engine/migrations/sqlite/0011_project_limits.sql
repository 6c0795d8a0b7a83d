-- The largest alpha of a review in the project; NULL for no limit.
ALTER TABLE project ADD COLUMN max_alpha REAL;
