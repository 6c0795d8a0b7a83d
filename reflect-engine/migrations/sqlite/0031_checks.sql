-- For a list of three values or more, each statement that checks it builds a table. Comparisons cost nothing. The rows
-- stay as they are.
PRAGMA writable_schema = ON;

UPDATE sqlite_schema SET sql = replace(sql,
    'kind IN (''reflection'', ''judgement'', ''reembedding'')',
    'kind = ''reflection'' OR kind = ''judgement'' OR kind = ''reembedding''')
WHERE type = 'table' AND name = 'queue';

UPDATE sqlite_schema SET sql = replace(replace(sql,
    'status IN (''active'', ''quarantined'', ''withdrawn'')',
    'status = ''active'' OR status = ''quarantined'' OR status = ''withdrawn'''),
    'aside IN (''quarantined'', ''archived'', ''staged'', ''merged'')',
    'aside = ''quarantined'' OR aside = ''archived'' OR aside = ''staged'' OR aside = ''merged''')
WHERE type = 'table' AND name = 'memory';

PRAGMA writable_schema = RESET;

-- Has every connection read the schema again, which the update alone does not.
CREATE TABLE changed (x INTEGER) STRICT;
DROP TABLE changed;
