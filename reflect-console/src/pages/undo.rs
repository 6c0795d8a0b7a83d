use askama::Template;
use jiff::Timestamp;
use reflect_types::{ApiKey, KeyId, Undo, UndoRecord, UndoReport, UndoneMemory};

use crate::frame::Frame;
use crate::key_name::key_name;
use crate::text::{count, grouped, line, shown};
use crate::time::When;

/// The memories and runs that a list of a preview has at most.
const MAX_LISTED: usize = 30;

/// The undos of a project, and the preview of one.
#[derive(Debug, Template)]
#[template(path = "undo.html")]
pub struct UndoPage {
    frame: Frame,
    /// The id and the label of each key.
    keys: Vec<(String, String)>,
    preview: Option<Preview>,
    records: Vec<Record>,
}

/// What an undo of a key's teaching would change.
#[derive(Clone, Copy, Debug)]
pub struct UndoPreview<'a> {
    /// The key.
    pub key: &'a str,
    /// The report of a dry run.
    pub report: &'a UndoReport,
}

#[derive(Debug)]
struct Preview {
    key: String,
    label: String,
    is_empty: bool,
    totals: Vec<(String, &'static str)>,
    moved: Vec<(String, String, String)>,
    /// Headings, and under each the first addresses with their texts.
    lists: Vec<(&'static str, Vec<(String, String)>)>,
    digest: String,
}

#[derive(Debug)]
struct Record {
    what: String,
    changed: String,
    when: When,
}

impl UndoPage {
    /// The page.
    pub fn new(
        frame: Frame,
        keys: &[ApiKey],
        preview: Option<UndoPreview<'_>>,
        records: &[UndoRecord],
        now: Timestamp,
    ) -> Self {
        let label = |id: &str| key_name(keys, &KeyId::new(id));
        let records = records.iter().map(|record| {
            let key = record
                .request
                .key_id
                .as_ref()
                .map(|key| label(key.as_str()));
            Record {
                what: what(&record.request, key.as_deref()),
                changed: format!(
                    "{}, {} removed, {} moved",
                    of(record.totals.traces, "review", "reviews"),
                    of(record.totals.removed, "memory", "memories"),
                    grouped(record.totals.moved)
                ),
                when: When::at(&record.created_at, now),
            }
        });
        Self {
            keys: keys
                .iter()
                .map(|key| {
                    // Two keys may have the same label.
                    let name = format!("{} ({})", shown(&key.label), key.public_id);
                    (key.id.as_str().to_owned(), name)
                })
                .chain([(KeyId::MASTER.to_owned(), "the server's own key".to_owned())])
                .collect(),
            preview: preview.map(|preview| Preview::new(&frame, label(preview.key), preview)),
            records: records.collect(),
            frame: frame.on("settings"),
        }
    }
}

fn of(number: u64, one: &str, many: &str) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), one, many)
}

/// What an undo was asked for.
fn what(request: &Undo, key: Option<&str>) -> String {
    let is_part = request.reviewer.is_some() || request.since.is_some() || request.until.is_some();
    match key {
        _ if request.trace_id.is_some() => "the review of one run".to_owned(),
        Some(key) if is_part => format!("some of what key {key} taught"),
        Some(key) => format!("everything that key {key} taught"),
        None => "a selection of reviews".to_owned(),
    }
}

impl Preview {
    fn new(frame: &Frame, label: String, preview: UndoPreview<'_>) -> Self {
        let UndoPreview { key, report } = preview;
        let totals = [
            (report.totals.traces, "reviews are taken back"),
            (report.totals.removed, "memories are removed"),
            (report.totals.moved, "memories change their utility"),
            (report.totals.rewritten, "memories get their earlier text"),
            (report.totals.restored, "memories come back"),
            (report.totals.quarantined, "memories are set aside again"),
            (report.events, "moves of utilities no longer count"),
            (
                report.hidden,
                "older reviews and memories, which were replaced or withdrawn, no longer count",
            ),
        ];
        let totals = totals.into_iter().filter(|(number, _)| *number > 0);
        let memories = |memories: &[UndoneMemory]| {
            let listed = memories.iter().take(MAX_LISTED);
            let listed = listed.map(|memory| {
                let address = frame.to_memory(memory.memory_id.as_str());
                (address, line(&memory.task, 100))
            });
            listed.collect()
        };
        let lists = [
            ("Memories that are removed", memories(&report.removed)),
            (
                "Memories that get their earlier text",
                memories(&report.rewritten),
            ),
            ("Memories that come back", memories(&report.restored)),
            (
                "Memories that are set aside again",
                memories(&report.quarantined),
            ),
            (
                "Runs whose review is taken back",
                report
                    .traces
                    .iter()
                    .take(MAX_LISTED)
                    .map(|trace| {
                        let id = trace.trace_id.as_str();
                        (frame.to_trace(id), shown(id))
                    })
                    .collect::<Vec<_>>(),
            ),
        ];
        let moved = report.moved.iter().take(MAX_LISTED).map(|moved| {
            let number = |value: f64| format!("{value:.2}");
            (
                line(&moved.task, 100),
                number(moved.before),
                number(moved.after),
            )
        });
        Self {
            key: key.to_owned(),
            label,
            is_empty: report.is_empty(),
            totals: totals
                .map(|(number, what)| (grouped(number), what))
                .collect(),
            moved: moved.collect(),
            lists: lists
                .into_iter()
                .filter(|(_, listed)| !listed.is_empty())
                .collect(),
            digest: report.digest.clone().unwrap_or_default(),
        }
    }
}
