-- When the key expires, in RFC 3339 with milliseconds, so that texts compare as times. NULL for never.
ALTER TABLE api_key ADD COLUMN expires_at TEXT;
-- The largest learning rate of a review with the key. NULL for any.
ALTER TABLE api_key ADD COLUMN max_alpha REAL;
