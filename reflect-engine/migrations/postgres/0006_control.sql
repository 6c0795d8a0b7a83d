-- The share of runs that are given no memories, for comparison; NULL for none.
ALTER TABLE project ADD COLUMN control double precision;
