-- Format 1 of the database, for every driver. What is in braces differs between them: see `sql/dialect.rs`.
--
-- Every table leads with its project: primary and unique keys, and references, begin with it, so that the tables can
-- be distributed or partitioned by it. Keys are never used again, because indexes hold them.
--
-- Times are RFC 3339 in UTC, except those of jobs: milliseconds, because they are compared. JSON is text, because it
-- is passed on as it came.

CREATE TABLE project (
    key                  {NEW_KEY},
    id                   {TEXT} NOT NULL UNIQUE,
    -- Counts the changes of the project's memories. A transaction that changes them holds the lock of this row, so
    -- revisions become visible in order.
    revision             {INT} NOT NULL DEFAULT 0,
    -- The largest alpha of a review in the project; NULL for no limit.
    max_alpha            {REAL},
    -- The number of memories that the project keeps in answers; NULL for all.
    max_memories         {INT},
    -- How memories are ranked unless a query says otherwise; NULL for the server's choice.
    ranking              TEXT,
    -- Which memories wait for approval; NULL for none.
    approve              TEXT,
    -- The share of runs that are given no memories, for comparison; NULL for none.
    control              {REAL},
    -- Whether new memories keep values that identify a person or a case; NULL for the server's choice.
    keep_personal_values {BOOL}
){TABLE_OFTEN_UPDATED};

CREATE TABLE trace (
    {KEY_IN_PROJECT},
    project            {INT} NOT NULL REFERENCES project ON DELETE CASCADE,
    -- Within a project: an import brings its ids along, and must learn nothing of other projects.
    id                 TEXT NOT NULL,
    idempotency_key    TEXT,
    -- The ingest status of the first answer, to be given again to the same idempotency key.
    receipt            TEXT NOT NULL,
    reviewed           {BOOL} NOT NULL DEFAULT false,
    ingest_status      TEXT NOT NULL,
    ingest_attempts    {INT} NOT NULL DEFAULT 0,
    last_ingest_error  TEXT,
    created_memory     TEXT,
    -- The verdict of a model whose review was withdrawn.
    withdrawn_model    TEXT,
    withdrawn_verdict  TEXT,
    -- The API key that recorded the trace; NULL where there was none.
    key_id             TEXT,
    -- The side of the comparison with and without memories; NULL where the run took part in none.
    arm                TEXT,
    -- The run that it was a part of, by its idempotency key: no reference, because runs arrive in any order.
    parent_run_id      TEXT,
    session_id         TEXT,
    -- Both, or NULL where they are not known.
    input_tokens       {INT},
    output_tokens      {INT},
    model              {TEXT},
    created_at         {TEXT} NOT NULL,
    metadata           TEXT NOT NULL,
    retrieved          TEXT NOT NULL,
    ignored            TEXT NOT NULL DEFAULT '[]',
    task               TEXT NOT NULL,
    final_response     TEXT NOT NULL,
    reference_context  TEXT,
    -- The longest field is the last one: what stands behind it would have to be read over.
    trajectory         TEXT NOT NULL{WORDS}{REFERENCED_KEY},
    UNIQUE (project, id)
){TABLE};

CREATE INDEX trace_by_parent ON trace (project, parent_run_id, key) WHERE parent_run_id IS NOT NULL;
CREATE INDEX trace_by_session ON trace (project, session_id, key) WHERE session_id IS NOT NULL;
CREATE INDEX trace_by_model ON trace (project, model, key);
-- What a report counts, without reading the texts of runs.
CREATE INDEX trace_outcome ON trace (project, created_at, arm, model, input_tokens, output_tokens);
CREATE INDEX trace_pending ON trace (project, key) WHERE NOT reviewed;
CREATE INDEX trace_failed ON trace (project, key) WHERE ingest_status = 'failed';
CREATE UNIQUE INDEX trace_by_idempotency_key ON trace (project, idempotency_key) WHERE idempotency_key IS NOT NULL;

{SEARCH}

-- What traces are found by besides their ids: a hash of each short value in their metadata. The rows of a trace are
-- deleted with it, by the program: a reference would need an index of its own.
CREATE TABLE trace_label (
    project  {INT} NOT NULL REFERENCES project ON DELETE CASCADE,
    label    {INT} NOT NULL,
    trace    {INT} NOT NULL,
    PRIMARY KEY (project, label, trace)
){TABLE_OF_KEYS};

-- All reviews that were given. A trace has at most one that is `current`. What it was before is `past`, oldest first; a
-- past row without an `id` is a withdrawal. Those of a deleted trace stay, without their texts, so that what they have
-- taught can be undone: its `current` one is its `last` then. Therefore no row refers to its trace.
CREATE TABLE review (
    {KEY_IN_PROJECT},
    project            {INT} NOT NULL REFERENCES project ON DELETE CASCADE,
    trace              {INT} NOT NULL,
    state              TEXT NOT NULL CHECK (state IN ('current', 'past', 'last')),
    -- The id that the trace had; NULL while there is one.
    deleted_trace      TEXT,
    id                 TEXT,
    verdict            TEXT,
    feedback           TEXT,
    alpha              {REAL},
    reflection         TEXT,
    mode               TEXT,
    created_at         TEXT NOT NULL,
    -- NULL for a person's review.
    reviewer_model     TEXT,
    key_id             TEXT,
    -- The verdict of a model that a person's review replaced.
    overruled_model    TEXT,
    overruled_verdict  TEXT,
    -- Of a past one: the memory of the review, its content and the generation of that; NULL if nothing was learned.
    memory_id          TEXT,
    learned            TEXT,
    generation         {INT} NOT NULL DEFAULT 0{PRIMARY_KEY}
){TABLE};

CREATE UNIQUE INDEX review_current ON review (project, trace) WHERE state = 'current';
CREATE INDEX review_past ON review (project, trace, key) WHERE state = 'past';
-- What is counted of reviews, without their texts.
CREATE INDEX review_outcome ON review
    (project, trace, verdict, reviewer_model, overruled_model, overruled_verdict) WHERE state = 'current';
-- Reviews of models, which people confirm or replace.
CREATE INDEX review_of_model ON review (project, trace) WHERE state = 'current' AND reviewer_model IS NOT NULL;
-- The runs that a model and a person reviewed.
CREATE INDEX review_overruled ON review (project, overruled_model)
    WHERE state = 'current' AND overruled_model IS NOT NULL;
CREATE INDEX review_of_deleted ON review (project, deleted_trace) WHERE deleted_trace IS NOT NULL;

-- One queue for the work on traces.
CREATE TABLE queue (
    {KEY_IN_PROJECT},
    project   {INT} NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('reflection', 'judgement')),
    trace     {INT} NOT NULL,
    -- While a job is held, when its lease ends: in both cases others may take it from then. NULL for a parked job,
    -- which is kept so that it is not queued again.
    due_at    {INT},
    attempts  {INT} NOT NULL DEFAULT 0,
    owner     TEXT,
    -- Why the last attempt failed. A parked job without one is left to people; one with an error is tried again by the
    -- next process.
    error     TEXT{PRIMARY_KEY},
    UNIQUE (project, trace, kind),
    FOREIGN KEY (project, trace) REFERENCES trace (project, key) ON DELETE CASCADE
){TABLE_OFTEN_UPDATED};

CREATE INDEX queue_by_due ON queue (kind, due_at, key);

CREATE TABLE memory (
    {KEY_IN_PROJECT},
    project         {INT} NOT NULL REFERENCES project ON DELETE CASCADE,
    id              TEXT NOT NULL,
    -- No reference: what was learned outlives its run.
    trace_id        TEXT NOT NULL,
    success         {BOOL} NOT NULL,
    q               {REAL} NOT NULL,
    uses            {INT} NOT NULL DEFAULT 0,
    revision        {INT} NOT NULL,
    created_at      TEXT NOT NULL,
    -- Who taught the memory: the key and the reviewer of its review. NULL for a person.
    key_id          TEXT,
    reviewer_model  TEXT,
    -- Only an active memory is part of an answer. A withdrawn one goes on learning and comes back if its withdrawal is
    -- undone.
    status          TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'quarantined', 'withdrawn')),
    -- Why Reflect itself hides the memory: the status that it has while `status` is `active`, the reason in words, since
    -- when, and the memory that stands for a merged one.
    hidden          TEXT CHECK (hidden IN ('quarantined', 'archived', 'staged', 'merged')),
    hidden_reason   TEXT,
    hidden_at       TEXT,
    hidden_into     {INT},
    -- What tells whether two memories say nearly the same; NULL where nothing is said.
    task_sketch     TEXT,
    text_sketch     TEXT,
    -- Whether the project asked for approval when the memory was learned.
    needs_approval  {BOOL} NOT NULL DEFAULT false,
    -- Counts the reviews that have rewritten the memory.
    generation      {INT} NOT NULL DEFAULT 0,
    -- The learning rate of the review that the memory was learned from.
    alpha           {REAL} NOT NULL,
    metadata        TEXT NOT NULL,
    -- The memories that the run was given, as the trace names them: evidence about them outlives it.
    given           TEXT NOT NULL DEFAULT '[]',
    task            TEXT NOT NULL,
    reflection      TEXT NOT NULL{REFERENCED_KEY},
    UNIQUE (project, id)
){TABLE};

CREATE INDEX memory_by_revision ON memory (project, revision);
CREATE INDEX memory_by_uses ON memory (project, uses) WHERE uses >= 5;
CREATE INDEX memory_by_hidden_into ON memory (project, hidden_into) WHERE hidden_into IS NOT NULL;

-- Those of the last revisions: an index that is further behind starts over.
CREATE TABLE deleted_memory (
    project   {INT} NOT NULL REFERENCES project ON DELETE CASCADE,
    revision  {INT} NOT NULL,
    memory    {INT} NOT NULL,
    PRIMARY KEY (project, revision)
){TABLE_OF_KEYS};

CREATE TABLE utility_event (
    -- The order in which the moves are replayed.
    {KEY_IN_PROJECT},
    project         {INT} NOT NULL,
    memory          {INT} NOT NULL,
    -- No reference: a move stays when its run is deleted.
    trace_id        TEXT NOT NULL,
    review_id       TEXT NOT NULL,
    alpha           {REAL} NOT NULL,
    reward          {REAL} NOT NULL,
    before          {REAL} NOT NULL,
    after           {REAL} NOT NULL,
    created_at      TEXT NOT NULL,
    -- Who caused the move.
    key_id          TEXT,
    reviewer_model  TEXT,
    -- Set while the review is withdrawn: the move does not count, and keeps its place in the order.
    void            {BOOL} NOT NULL DEFAULT false{PRIMARY_KEY},
    FOREIGN KEY (project, memory) REFERENCES memory (project, key) ON DELETE CASCADE
){TABLE};

CREATE INDEX utility_event_by_memory ON utility_event (project, memory, key);
CREATE INDEX utility_event_by_review ON utility_event (project, review_id, memory);

-- Changes of a memory by the holders of keys, or by Reflect itself, oldest first.
CREATE TABLE memory_change (
    {KEY_IN_PROJECT},
    project        {INT} NOT NULL REFERENCES project ON DELETE CASCADE,
    -- No reference: the record of a deletion outlives its memory.
    memory_id      TEXT NOT NULL,
    kind           TEXT NOT NULL
        CHECK (kind IN ('edited', 'quarantined', 'archived', 'merged', 'restored', 'deleted')),
    -- The memory's generation. An edit of an older one was overwritten by a review.
    generation     {INT} NOT NULL,
    status_before  TEXT NOT NULL,
    -- Of an edit: the reflection before, and the fields that were set.
    before         TEXT,
    edit           TEXT,
    note           TEXT,
    key_id         TEXT,
    created_at     TEXT NOT NULL,
    -- Set when the memory is deleted. Texts are deleted with it.
    closed         {BOOL} NOT NULL DEFAULT false,
    -- Whether Reflect itself made the change. An undo does not replay it.
    automatic      {BOOL} NOT NULL DEFAULT false,
    -- Of a merge by a person: the memory that stands for the merged one.
    merged_into    TEXT{PRIMARY_KEY}
){TABLE};

CREATE INDEX memory_change_by_memory ON memory_change (project, memory_id, key);
CREATE INDEX memory_change_by_merged_into ON memory_change (project, merged_into) WHERE merged_into IS NOT NULL;

-- The embedders that there are vectors of, or that an engine has announced.
CREATE TABLE embedder (
    key           {NEW_KEY},
    id            {TEXT} NOT NULL,
    -- A model may change its dimensions and keep its name: that is another space.
    dims          {INT} NOT NULL,
    -- When an engine with it was last there, and when all memories had a vector of it for the first time, in
    -- milliseconds.
    seen_at       {INT} NOT NULL,
    completed_at  {INT},
    UNIQUE (id, dims)
){TABLE};

-- Apart from the memories, so that reading all vectors does not read all texts. No reference to the embedder: every
-- memory would lock its row. Vectors are deleted before their embedder.
CREATE TABLE embedding (
    project   {INT} NOT NULL,
    memory    {INT} NOT NULL,
    embedder  {INT} NOT NULL,
    vector    {VECTOR} NOT NULL,
    PRIMARY KEY (project, memory, embedder),
    FOREIGN KEY (project, memory) REFERENCES memory (project, key) ON DELETE CASCADE
){TABLE};

-- The jobs that embed memories: at most one for each embedder, whose dimensions may be unknown at first.
CREATE TABLE reembedding (
    key       {NEW_KEY},
    embedder  {TEXT} NOT NULL UNIQUE,
    due_at    {INT},
    attempts  {INT} NOT NULL DEFAULT 0,
    owner     TEXT,
    error     TEXT
){TABLE};

CREATE TABLE skill (
    project     {INT} PRIMARY KEY REFERENCES project ON DELETE CASCADE,
    version     {INT} NOT NULL,
    created_at  TEXT,
    sources     TEXT NOT NULL,
    content     TEXT NOT NULL
){TABLE};

-- The undos that changed something, oldest first.
CREATE TABLE undo_record (
    {KEY_IN_PROJECT},
    project     {INT} NOT NULL REFERENCES project ON DELETE CASCADE,
    id          TEXT NOT NULL,
    -- The API key that undid.
    key_id      TEXT,
    created_at  TEXT NOT NULL,
    -- What was asked, and the numbers of changed traces and memories, as JSON.
    request     TEXT NOT NULL,
    totals      TEXT NOT NULL,
    -- The numbers of events that no longer count, and of changes that no list showed.
    events      {INT} NOT NULL,
    hidden      {INT} NOT NULL{PRIMARY_KEY},
    UNIQUE (project, id)
){TABLE};

-- What was undone, and when: a review that one of these selects and that was given before it is not stored afterwards,
-- as one whose memory was still being written. Kept for a day.
CREATE TABLE undone (
    {KEY_IN_PROJECT},
    project    {INT} NOT NULL REFERENCES project ON DELETE CASCADE,
    undone_at  TEXT NOT NULL,
    -- The selection; NULL selects all.
    key_id     TEXT,
    -- JSON.
    reviewer   TEXT,
    trace_id   TEXT,
    since      TEXT,
    until      TEXT{PRIMARY_KEY}
){TABLE};

-- Traces of OpenTelemetry whose runs are not recorded yet, or were a short time ago.
CREATE TABLE span_trace (
    {KEY_IN_PROJECT},
    project   {INT} NOT NULL REFERENCES project ON DELETE CASCADE,
    -- The API key that the spans came with; empty where there was none.
    key_id    TEXT NOT NULL,
    trace_id  TEXT NOT NULL,
    -- It takes spans while it is open. While its runs are recorded it is closing. Once closed, it is kept for a time to
    -- recognise spans that come again or too late.
    state     TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'closing', 'closed')),
    has_root  {BOOL} NOT NULL DEFAULT false,
    parts     {INT} NOT NULL DEFAULT 0,
    bytes     {INT} NOT NULL DEFAULT 0,
    attempts  {INT} NOT NULL DEFAULT 0,
    -- When an open one is closed, a closing one is taken over by another process, and a closed one is forgotten.
    due_at    {INT} NOT NULL{REFERENCED_KEY},
    UNIQUE (project, key_id, trace_id)
){TABLE};

CREATE INDEX span_trace_by_due ON span_trace (state, due_at, key);

-- The spans and events of these traces, in the order in which they came.
CREATE TABLE span_part (
    {KEY_IN_PROJECT},
    project     {INT} NOT NULL,
    span_trace  {INT} NOT NULL,
    id          TEXT NOT NULL,
    -- NULL once its trace is closed.
    body        TEXT{PRIMARY_KEY},
    UNIQUE (project, span_trace, id),
    FOREIGN KEY (project, span_trace) REFERENCES span_trace (project, key) ON DELETE CASCADE
){TABLE};

-- What holds for the whole database.
CREATE TABLE setting (
    name   TEXT PRIMARY KEY,
    value  TEXT NOT NULL
){TABLE};
