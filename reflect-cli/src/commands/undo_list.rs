//! The list of undos.

use reflect_sdk::ReflectClient;
use reflect_types::{ListUndos, Undo, UndoRecord, UndoTotals};

use crate::failure::Failure;
use crate::output;

pub(super) async fn show(
    client: &ReflectClient,
    limit: u32,
    before: Option<String>,
    json: bool,
) -> Result<(), Failure> {
    let limit = Some(limit);
    let page = client.request(ListUndos { limit, before }).await?;
    output::page(
        &page,
        json,
        |last| &last.id,
        |records| {
            let line = |record| output::line(&summary(record), 600);
            let mut lines = records.iter().map(line);
            lines.try_for_each(|line| output::say(format_args!("{line}")))
        },
    )
}

/// An undo on one line: when, by whom, of what, and how much it changed.
fn summary(record: &UndoRecord) -> String {
    let by = record
        .key_id
        .as_ref()
        .map_or_else(|| "without a key".to_owned(), |key| format!("by key {key}"));
    let UndoTotals {
        traces,
        removed,
        restored,
        rewritten,
        quarantined,
        moved,
        ..
    } = record.totals;
    format!(
        "{}  {by}  of {}: reviews of {}; memories removed: {removed}, restored: {restored}, \
         rewritten: {rewritten}, quarantined: {quarantined}, moved: {moved}; events: {}",
        record.created_at,
        conditions(&record.request),
        output::counted(traces, "trace"),
        record.events,
    )
}

/// What an undo was asked for, in the options of the command.
fn conditions(request: &Undo) -> String {
    let reviewer = request.reviewer.as_ref().map(ToString::to_string);
    let options = [
        ("--key", request.key_id.as_ref().map(ToString::to_string)),
        ("--reviewer", reviewer),
        (
            "--trace",
            request.trace_id.as_ref().map(ToString::to_string),
        ),
        ("--since", request.since.clone()),
        ("--until", request.until.clone()),
    ];
    let given = options.into_iter().filter_map(|(name, value)| {
        let value = value?;
        Some(format!("{name} {value}"))
    });
    given.collect::<Vec<_>>().join(" ")
}
