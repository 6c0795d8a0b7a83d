-- The id of the project key that created this one. NULL for a master key, the command line and a bootstrap.
ALTER TABLE api_key ADD COLUMN created_by TEXT;
