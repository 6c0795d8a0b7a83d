"""What a JSON Schema cannot say about a request, for schemathesis."""

import schemathesis

CURSORS = ("before", "after")


@schemathesis.hook
def before_call(context, case, kwargs):
    """Makes valid requests fit the rules between fields, and with stored data."""
    if case.meta is not None and not case.meta.generation.mode.is_positive:
        return
    # A cursor has to name a stored record.
    for cursor in CURSORS:
        if case.query and cursor in case.query:
            del case.query[cursor]
    # A skill is written from at least one memory.
    if isinstance(case.body, dict) and case.body.get("n_passed") == 0 == case.body.get("n_failed"):
        case.body = {**case.body, "n_passed": 1}
