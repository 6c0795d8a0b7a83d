"""The fuzzer's check that valid requests are accepted, without refusals that no description can state."""

import schemathesis
from schemathesis.specs.openapi.checks import positive_data_acceptance

DEPENDS_ON_MORE_THAN_THE_REQUEST = (
    # A cursor is the id of a stored record, and has the order of its list.
    "names no ", "is for newest first", "is for oldest first",
    "must be in the future",
    # What a memory is by itself and what Reflect made of it have to agree.
    "`aside` ",
    # A memory is merged or gets a status, and is merged into another one that does not stand through it.
    "`merge_into` ",
    # A run of the control arm is given no memories.
    "`arm` must not be `control`",
)


@schemathesis.check
def valid_data_is_accepted(ctx, response, case):
    if response.status_code == 422:
        refusal = response.json()
        if any(reason in refusal["detail"] for reason in DEPENDS_ON_MORE_THAN_THE_REQUEST):
            return None
        # The fuzzer carries the id of a project from one request to the next. Those that create no project
        # take ids that no new project may have.
        if refusal["field"] == "project_id":
            return None
    return positive_data_acceptance(ctx, response, case)
