-- How memories are ranked unless a query says otherwise; NULL for the server's choice.
ALTER TABLE project ADD COLUMN ranking TEXT;
-- Which memories wait for approval; NULL for none.
ALTER TABLE project ADD COLUMN approve TEXT;
-- Whether the project asked for approval when the memory was learned.
ALTER TABLE memory ADD COLUMN needs_approval INTEGER NOT NULL DEFAULT 0;
