-- The program does this by a statement of its own, outside a trigger's savepoint.
DROP TRIGGER trace_text_insert;
