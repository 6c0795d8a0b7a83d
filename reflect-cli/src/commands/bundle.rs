//! A project as JSON lines: heading, memories, traces, skill, undos, ending.

use std::ffi::OsString;
use std::fs::{File as Disk, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Seek as _, Write};
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use reflect_types::{
    BundleCounts, BundleEnding, BundleHeading, ImportReport, Overview, Piece, Stats,
};
use serde::Serialize;

use super::import_from::{self, Source};
use super::import_runs;
use crate::archive::{self, Archive};
use crate::failure::Failure;
use crate::place::Place;
use crate::runs::Format;
use crate::{input, output};

/// Maximum records per import request.
const BATCH: usize = 200;
/// Maximum bytes per import request, below the body limit of a server.
const BATCH_BYTES: usize = 1024 * 1024;

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The file to create; `-` for standard output. An existing file is not overwritten.
    #[arg(value_parser = OsStringValueParser::new().try_map(path))]
    file: PathBuf,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The file to read; `-` for standard input.
    #[arg(
        required_unless_present = "from",
        value_parser = OsStringValueParser::new().try_map(path)
    )]
    file: Option<PathBuf>,
    #[command(flatten)]
    source: Source,
    /// The format of runs that another tool has recorded. Without it, the file is an export.
    #[arg(long)]
    format: Option<Format>,
    #[command(flatten)]
    place: Place,
}

pub(crate) async fn export(options: Export) -> Result<(), Failure> {
    let Export { place, file } = options;
    let archive = Archive::new(place.client().await?);
    if input::is_dash(&file) {
        return write(&archive, &mut io::stdout()).await.map(drop);
    }
    let named = |error| Failure::general(format!("{}: {error}", file.display()));
    let disk = new_file(&file).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::conflict(format!(
            "{}: this file exists already: remove it, or choose another name",
            file.display()
        )),
        _ => named(error),
    })?;
    let written = write_file(&archive, &disk).await;
    let (exported, stats) = written.inspect_err(|_| {
        // An incomplete bundle would block the next export.
        let _ = std::fs::remove_file(&file);
    })?;
    if place.json {
        return output::json(&exported);
    }
    // The bundle also has the memories of withdrawn reviews, which no list shows.
    let withdrawn = match exported.memories.saturating_sub(stats.memories) {
        0 => String::new(),
        count => format!(
            ", and {} of withdrawn reviews",
            output::counted(count, "memory")
        ),
    };
    output::say(format_args!(
        "{} and {} exported{withdrawn}",
        output::counted(stats.memories, "memory"),
        output::counted(exported.traces, "trace")
    ))
}

/// Writes the bundle; starts over if the project changed meanwhile.
async fn write_file(archive: &Archive, mut disk: &Disk) -> Result<(BundleCounts, Stats), Failure> {
    const ATTEMPTS: usize = 5;

    let mut attempts = 0;
    loop {
        disk.set_len(0)?;
        disk.rewind()?;
        let mut out = BufWriter::new(disk);
        let written = write(archive, &mut out).await;
        attempts += 1;
        match written {
            Err(failure) if failure.is_conflict() && attempts < ATTEMPTS => {}
            written => {
                let exported = written?;
                out.flush()?;
                drop(out);
                disk.sync_all()?;
                return Ok(exported);
            }
        }
    }
}

/// Creates a file that only its owner can read: trajectories may be confidential.
fn new_file(path: &Path) -> io::Result<Disk> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Writes the bundle. The ending marks it as complete.
async fn write(archive: &Archive, out: &mut impl Write) -> Result<(BundleCounts, Stats), Failure> {
    let before = archive.overview().await?;
    let progress = output::bar(before.stats.memories + before.stats.traces);
    let exported = pieces(archive, out, &before, &progress).await?;
    progress.finish_and_clear();
    // Pages are read separately: a change in between may be in one page and not in another.
    if archive.overview().await? != before {
        return Err(archive::changed());
    }
    line(out, &BundleEnding::End(exported))?;
    out.flush()?;
    Ok((exported, before.stats))
}

async fn pieces(
    archive: &Archive,
    out: &mut impl Write,
    overview: &Overview,
    progress: &ProgressBar,
) -> Result<BundleCounts, Failure> {
    let mut exported = BundleCounts::default();
    let now = format!("{:.3}", jiff::Timestamp::now());
    let heading = BundleHeading::new(archive.project().clone(), now);
    line(out, &heading)?;
    let mut after = None;
    loop {
        let page = archive.memories_after(after.as_ref()).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.history.memory.id.clone());
        for memory in page {
            piece(out, &Piece::Memory(Box::new(memory)), &mut exported)?;
            progress.inc(1);
        }
    }
    let mut after = None;
    loop {
        let page = archive.traces_after(after.as_ref()).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.trace.id.clone());
        for trace in page {
            piece(out, &Piece::Trace(Box::new(trace)), &mut exported)?;
            progress.inc(1);
        }
    }
    if let Some(skill) = &overview.skill {
        piece(out, &Piece::Skill(skill.clone()), &mut exported)?;
    }
    for undo in archive.undos().await? {
        piece(out, &Piece::Undo(Box::new(undo)), &mut exported)?;
    }
    Ok(exported)
}

pub(crate) async fn import(options: Import) -> Result<(), Failure> {
    let Import {
        place,
        file,
        source,
        format,
    } = options;
    let Some(file) = file else {
        return import_from::import(source, &place).await;
    };
    if let Some(format) = format {
        return import_runs::import(&place, format, &file).await;
    }
    let named = |error| Failure::general(format!("{}: {error}", file.display()));
    let (input, size) = input::open(&file).map_err(named)?;
    let input = Box::new(BufReader::new(input));
    let mut lines = Lines { input, number: 0 };
    let heading = heading(&mut lines)?;
    let project = match &place.project {
        // An import cannot be undone, so the environment alone does not choose the project.
        Some(named) if !place.typed_project() && *named != heading.project.as_str() => {
            return Err(Failure::usage(format!(
                "the bundle is from project `{}`, but REFLECT_PROJECT_ID is `{named}`: choose one \
                 with --project",
                heading.project
            )));
        }
        Some(_) => place.project(),
        None => heading.project,
    };
    let archive = Archive::new(place.client_to_fill(project.clone()).await?);
    let progress = size.map_or_else(output::spinner, output::bar);
    let imported = read(&archive, &mut lines, &progress).await?;
    progress.finish_and_clear();
    drop(archive);
    if place.json {
        return output::json(&imported);
    }
    let ImportReport { stored, present } = imported;
    output::say(format_args!(
        "{} stored in project `{project}`, {present} already present",
        output::counted(stored, "record")
    ))
}

async fn read(
    archive: &Archive,
    lines: &mut Lines,
    progress: &ProgressBar,
) -> Result<ImportReport, Failure> {
    let (mut total, mut seen) = (ImportReport::default(), BundleCounts::default());
    let (mut batch, mut bytes) = (Vec::with_capacity(BATCH), 0);
    let expected = loop {
        let Some(text) = lines.next()? else {
            break None;
        };
        advance(progress, text.len() as u64 + 1);
        if is_ending(&text) {
            let BundleEnding::End(counts) =
                serde_json::from_str(&text).map_err(|error| lines.malformed(&error))?;
            break Some(counts);
        }
        let piece = serde_json::from_str(&text).map_err(|error| lines.malformed(&error))?;
        seen.count(&piece);
        if batch.len() == BATCH || bytes + text.len() > BATCH_BYTES {
            let full = std::mem::replace(&mut batch, Vec::with_capacity(BATCH));
            store(archive, full, lines.number - 1, &mut total).await?;
            bytes = 0;
        }
        bytes += text.len();
        batch.push(piece);
    };
    store(archive, batch, lines.number, &mut total).await?;
    if expected != Some(seen) {
        return Err(Failure::general(format!(
            "the bundle is cut off after line {}: its records are stored; export the project again \
             and import that bundle",
            lines.number
        )));
    }
    Ok(total)
}

async fn store(
    archive: &Archive,
    batch: Vec<Piece>,
    line: usize,
    total: &mut ImportReport,
) -> Result<(), Failure> {
    if batch.is_empty() {
        return Ok(());
    }
    let done = archive.import(batch).await.map_err(|error| {
        let failure = Failure::from(error).of_contents();
        failure.at(format_args!("up to line {line}"))
    })?;
    total.stored += done.stored;
    total.present += done.present;
    Ok(())
}

/// Whether the line is an [`BundleEnding`], by its prefix: lines are not parsed twice.
fn is_ending(line: &str) -> bool {
    let mut rest = line;
    [r"{", r#""kind""#, ":", r#""end""#].iter().all(|token| {
        let after = rest.trim_start().strip_prefix(token);
        rest = after.unwrap_or(rest);
        after.is_some()
    })
}

fn heading(lines: &mut Lines) -> Result<BundleHeading, Failure> {
    let Some(text) = lines.next()? else {
        return Err(Failure::general("line 1: the file is empty"));
    };
    let heading: BundleHeading = serde_json::from_str(&text).map_err(|error| {
        let formats = Format::value_variants().iter();
        let formats = formats.filter_map(ValueEnum::to_possible_value);
        let formats: Vec<String> = formats.map(|value| value.get_name().to_owned()).collect();
        Failure::general(format!(
            "line {}: not an export of `reflect export` ({error}): for runs that another tool recorded, \
             choose their format with --format: {}",
            lines.number,
            formats.join(", ")
        ))
    })?;
    if heading.version != BundleHeading::VERSION {
        return Err(Failure::general(format!(
            "the bundle has version {}, this program reads version {}: upgrade it",
            heading.version,
            BundleHeading::VERSION
        )));
    }
    Ok(heading)
}

/// The non-empty lines of a bundle, numbered.
struct Lines {
    input: Box<dyn BufRead>,
    number: usize,
}

impl Lines {
    fn next(&mut self) -> Result<Option<String>, Failure> {
        loop {
            let mut text = String::new();
            self.number += 1;
            match self.input.read_line(&mut text) {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::InvalidData => {
                    return Err(Failure::general(format!(
                        "line {}: not text: unpack a bundle that is compressed; `reflect migrate` copies a \
                         database",
                        self.number
                    )));
                }
                Err(error) => return Err(error.into()),
            }
            if !text.trim().is_empty() {
                return Ok(Some(text));
            }
        }
    }

    fn malformed(&self, error: &serde_json::Error) -> Failure {
        if error.is_eof() {
            return Failure::general(format!(
                "line {}: the bundle is cut off here: export the project again and import that bundle",
                self.number
            ));
        }
        Failure::general(format!("line {}: {error}", self.number))
    }
}

fn piece(out: &mut impl Write, piece: &Piece, counts: &mut BundleCounts) -> Result<(), Failure> {
    counts.count(piece);
    line(out, piece)
}

fn line(out: &mut impl Write, value: &impl Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string(value)?;
    // Standard output may be a terminal.
    Ok(writeln!(out, "{}", output::escaped(&json))?)
}

/// Counts a record: its bytes where the size is known.
fn advance(progress: &ProgressBar, bytes: u64) {
    progress.inc(if progress.length().is_some() {
        bytes
    } else {
        1
    });
}

/// The path of a flag. The parser of `clap` calls an empty one missing.
fn path(given: OsString) -> Result<PathBuf, &'static str> {
    if given.is_empty() {
        return Err("the path is empty");
    }
    Ok(given.into())
}
