-- Whether new memories keep values that identify a person or a case; NULL for the server's choice.
ALTER TABLE project ADD COLUMN keep_personal_values INTEGER;
