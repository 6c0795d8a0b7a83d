-- Why the last attempt at a job failed. A parked job without one is left to people; one with an error is
-- tried again by the next process.
ALTER TABLE queue ADD COLUMN error TEXT;
