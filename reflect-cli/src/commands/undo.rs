use std::io::{self, IsTerminal as _, Write};

use clap::{ArgGroup, Args};
use jiff::{Span, Timestamp, civil::Date, tz::TimeZone};
use reflect_sdk::ReflectClient;
use reflect_types::{KeyId, Reviewer, Undo, UndoReport, UndoneMemory};

use super::undo_list;
use crate::command_line::hint;
use crate::failure::Failure;
use crate::output;
use crate::place::Place;

/// Undo the reviews that match every option, with their memories and their effect on other memories, and
/// the matching edits, quarantines and restorations of memories.
///
/// Shows what would change and asks for confirmation; without a terminal, `--yes` or `--dry-run` is
/// required. An undo is final: check `--dry-run` and export the project (`reflect export`) first. Every
/// undo is recorded; `--list` shows the records.
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("what").args(["taught_by", "reviewer", "trace", "since", "until", "list"])
        .required(true).multiple(true)),
    mut_arg("key", |key| key.long("api-key"))
)]
pub(crate) struct Options {
    /// Reviews and changes by the key with this id (see `reflect keys list`; `master` is the key of
    /// `reflect serve --master-key`). The API key for the server is `--api-key` here.
    #[arg(long = "key", value_name = "ID")]
    taught_by: Option<String>,
    /// Reviews by this reviewer: `human`, `program` or `model:NAME`.
    #[arg(long)]
    reviewer: Option<Reviewer>,
    /// Reviews of this run, which may have been deleted since.
    #[arg(long, value_name = "ID")]
    trace: Option<String>,
    /// Reviews and changes since this time, such as `2026-11-15T12:00:00Z`, a date, or an age such as
    /// `2h` or `3d`.
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Timestamp>,
    /// Reviews and changes before this time.
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<Timestamp>,
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation. Required without a terminal.
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
    /// List the undos so far, newest first: who undid what, when, and how much it changed.
    #[arg(
        long,
        conflicts_with_all = ["taught_by", "reviewer", "trace", "since", "until", "dry_run", "yes"]
    )]
    list: bool,
    /// Maximum number of undos in the list, from 1 to 1,000.
    #[arg(long, default_value_t = 20, requires = "list")]
    limit: u32,
    /// Only undos in the list that are older than this one.
    #[arg(long, value_name = "ID", requires = "list")]
    before: Option<String>,
    #[command(flatten)]
    place: Place,
}

pub(crate) async fn run(mut options: Options) -> Result<(), Failure> {
    options.place.key_flag = "--api-key";
    let answers = io::stdin().is_terminal();
    if !(options.list || options.dry_run || options.yes || answers) {
        return Err(Failure::usage(
            "an undo is final, and standard input is not a terminal: preview it with --dry-run, then \
             confirm it with --yes",
        ));
    }
    let client = options.place.client().await?;
    if options.list {
        return undo_list::show(&client, options.limit, options.before, options.place.json).await;
    }
    if options.dry_run {
        let plan = client.request(selected(&options, true)).await?;
        return show(&client, &options, &plan).await;
    }
    let mut undo = selected(&options, false);
    if !options.yes {
        let plan = client.request(selected(&options, true)).await?;
        // An undo without changes is made too: it also covers reviews in progress.
        if !plan.is_empty() {
            write(&plan, &mut io::stderr().lock())?;
            if !output::agreed("Undo this?")? {
                return Ok(());
            }
        }
        undo.expect = plan.digest;
    }
    show(&client, &options, &client.request(undo).await?).await
}

/// An undo of what the options select.
fn selected(options: &Options, dry_run: bool) -> Undo {
    Undo {
        key_id: options.taught_by.as_deref().map(Into::into),
        reviewer: options.reviewer.clone(),
        trace_id: options.trace.as_deref().map(Into::into),
        since: options.since.map(|since| since.to_string()),
        until: options.until.map(|until| until.to_string()),
        dry_run,
        ..Undo::default()
    }
}

async fn show(
    client: &ReflectClient,
    options: &Options,
    report: &UndoReport,
) -> Result<(), Failure> {
    if report.is_empty()
        && let Some(key) = &options.taught_by
    {
        known_key(client, key).await?;
    }
    if options.place.json {
        return output::json(report);
    }
    Ok(write(report, &mut io::stdout().lock())?)
}

/// Refuses a key that does not exist: a label, the public part of a key, or a typo. Who may undo may not be allowed to
/// list keys.
async fn known_key(client: &ReflectClient, given: &str) -> Result<(), Failure> {
    let keys = match client.admin().list_api_keys().await {
        Err(error) if error.status() == Some(403) => return Ok(()),
        keys => keys?,
    };
    if given == KeyId::MASTER || keys.iter().any(|key| key.id == *given) {
        return Ok(());
    }
    let meant = keys
        .iter()
        .find(|key| key.label == given || key.public_id == given);
    let fix = match meant {
        Some(key) => format!("use `--key {}`, its id", key.id),
        None => format!("`{}` shows the ids", hint("keys list")),
    };
    Err(Failure::not_found(format!(
        "no key of the project has the id `{given}`: {fix}"
    )))
}

fn write(report: &UndoReport, out: &mut impl Write) -> io::Result<()> {
    if report.is_empty() {
        return writeln!(
            out,
            "Nothing to undo: no review or change matches. `{}` shows the ids of keys.",
            hint("keys list")
        );
    }
    let totals = report.totals;
    let (verb, skill) = if report.dry_run {
        ("would be undone", "would be")
    } else {
        ("undone", "is")
    };
    writeln!(
        out,
        "reviews {verb}: {} (earlier review restored: {}); utility changes {verb}: {}",
        totals.traces, totals.earlier_reviews, report.events,
    )?;
    list(out, "removed", &report.removed, totals.removed)?;
    list(out, "restored", &report.restored, totals.restored)?;
    list(out, "rewritten", &report.rewritten, totals.rewritten)?;
    list(out, "quarantined", &report.quarantined, totals.quarantined)?;
    for moved in &report.moved {
        writeln!(
            out,
            "  {:.3} -> {:.3}  {}  {}",
            moved.before,
            moved.after,
            output::line(moved.memory_id.as_str(), 40),
            output::line(&moved.task, 60),
        )?;
    }
    more(out, "moved", report.moved.len(), totals.moved)?;
    if report.hidden > 0 {
        writeln!(
            out,
            "  changes to replaced or withdrawn reviews and their memories: {}",
            report.hidden
        )?;
    }
    if report.unjudged > 0 {
        writeln!(
            out,
            "  unreviewed runs of the key, no longer queued for the judge: {}",
            report.unjudged
        )?;
    }
    if report.skill_removed {
        writeln!(
            out,
            "  the skill, based on these memories, {skill} removed: `{}` writes a new one",
            hint("skill create")
        )?;
    }
    Ok(())
}

fn list(out: &mut impl Write, what: &str, memories: &[UndoneMemory], total: u64) -> io::Result<()> {
    for memory in memories {
        let id = output::line(memory.memory_id.as_str(), 40);
        writeln!(
            out,
            "  {what:<11}  {id}  {}",
            output::line(&memory.task, 60)
        )?;
    }
    more(out, what, memories.len(), total)
}

/// Says how many entries a bounded list leaves out.
fn more(out: &mut impl Write, what: &str, listed: usize, total: u64) -> io::Result<()> {
    match total.saturating_sub(listed as u64) {
        0 => Ok(()),
        hidden => writeln!(out, "  {what:<11}  … and {hidden} more"),
    }
}

pub(super) fn time(text: &str) -> Result<Timestamp, String> {
    let help = || {
        format!(
            "`{text}` is not a time: write `2026-11-15T12:00:00Z`, a date such as `2026-11-15`, or an age \
             such as `2h` or `3d`"
        )
    };
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    if let Ok(date) = text.parse::<Date>() {
        let midnight = date.to_zoned(TimeZone::UTC).map_err(|_| help())?;
        return Ok(midnight.timestamp());
    }
    let age: Span = text.parse().map_err(|_| help())?;
    let then = Timestamp::now().to_zoned(TimeZone::UTC).checked_sub(age);
    then.map(|then| then.timestamp()).map_err(|_| help())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_moment_a_date_or_an_age() {
        let noon = time("2026-11-15T12:00:00Z").unwrap();
        let midnight = time("2026-11-15").unwrap();
        assert_eq!(noon.duration_since(midnight).as_secs(), 12 * 60 * 60);
        let then = time("2d 3h").unwrap();
        assert_eq!(Timestamp::now().duration_since(then).as_hours(), 51);
        for text in ["", "yesterday", "2026-13-01"] {
            assert!(time(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_bounded_list_says_how_many_it_leaves_out() {
        let memory = UndoneMemory {
            memory_id: "m".into(),
            task: "t".to_owned(),
        };
        let report = UndoReport {
            removed: vec![memory; UndoReport::MAX_LISTED + 7],
            ..UndoReport::default()
        };
        let mut shown = Vec::new();
        write(&report.bounded(), &mut shown).unwrap();
        let shown = String::from_utf8(shown).unwrap();
        assert!(shown.contains("… and 7 more"), "{shown}");
        assert_eq!(shown.lines().count(), 1 + UndoReport::MAX_LISTED + 1);
    }
}
