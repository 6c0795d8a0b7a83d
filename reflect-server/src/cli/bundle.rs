//! A project as a file of JSON lines: a heading, its memories, its traces, its skill, an ending.

use std::fs::{File as Disk, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Seek as _, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use reflect_engine::{ImportReport, Piece};
use reflect_types::{ProjectId, Skill};
use serde::{Deserialize, Serialize};

use super::archive::Archive;
use super::failure::Failure;
use super::output;
use super::place::Place;

/// The only layout there is so far.
const VERSION: u32 = 1;
/// How many pieces are stored at once.
const BATCH: usize = 200;
/// How long they may be together, so that a server takes them.
const BATCH_BYTES: usize = 1024 * 1024;

#[derive(Debug, Args)]
pub(super) struct Export {
    #[command(flatten)]
    place: Place,
    /// The file to write, which must not be there yet; `-` for the standard output.
    file: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct Import {
    #[command(flatten)]
    place: Place,
    /// The file to read; `-` for the standard input.
    file: PathBuf,
}

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename = "bundle")]
struct Heading {
    version: u32,
    project: ProjectId,
    #[serde(default)]
    created_at: Option<String>,
}

/// The last line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Ending {
    End(Exported),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Exported {
    memories: u64,
    traces: u64,
    skills: u64,
}

pub(super) async fn export(options: Export) -> Result<(), Failure> {
    let Export { place, file } = options;
    let archive = place.archive().await?;
    if is_dash(&file) {
        return write(&archive, &mut io::stdout()).await.map(drop);
    }
    let named = |error| Failure::general(format!("{}: {error}", file.display()));
    let disk = new_file(&file).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::conflict(format!(
            "{}: this file is there already: remove it, or name another",
            file.display()
        )),
        _ => named(error),
    })?;
    let written = write_file(&archive, &disk).await;
    let exported = written.inspect_err(|_| {
        // Half a bundle is of no use, and stands in the way of the next.
        let _ = std::fs::remove_file(&file);
    })?;
    if place.json {
        return output::json(&exported);
    }
    let Exported {
        memories, traces, ..
    } = exported;
    output::say(format_args!(
        "{memories} memories and {traces} traces exported"
    ))
}

/// Writes the bundle, again where the project changed meanwhile.
async fn write_file(archive: &Archive, mut disk: &Disk) -> Result<Exported, Failure> {
    const TRIES: usize = 5;

    let mut tried = 0;
    loop {
        disk.set_len(0)?;
        disk.rewind()?;
        let mut out = BufWriter::new(disk);
        let written = write(archive, &mut out).await;
        tried += 1;
        match written {
            Err(failure) if failure.is_conflict() && tried < TRIES => {}
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

/// Readable for its owner alone: it holds what agents were told.
fn new_file(path: &Path) -> io::Result<Disk> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Writes the bundle with an ending that says that it is whole.
async fn write(archive: &Archive, out: &mut impl Write) -> Result<Exported, Failure> {
    let before = archive.overview().await?;
    let progress = bar(before.stats.memories + before.stats.traces);
    let exported = pieces(archive, out, before.skill.clone(), &progress).await?;
    progress.finish_and_clear();
    // Each page is read by itself, so what happened in between may stand in one and not in another.
    if archive.overview().await? != before {
        return Err(super::archive::changed());
    }
    line(out, &Ending::End(exported))?;
    out.flush()?;
    Ok(exported)
}

async fn pieces(
    archive: &Archive,
    out: &mut impl Write,
    skill: Option<Skill>,
    progress: &ProgressBar,
) -> Result<Exported, Failure> {
    let mut exported = Exported::default();
    let heading = Heading {
        version: VERSION,
        project: archive.project.clone(),
        created_at: Some(format!("{:.3}", jiff::Timestamp::now())),
    };
    line(out, &heading)?;
    let mut after = None;
    loop {
        let page = archive.memories_after(after.as_ref()).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.memory.id.clone());
        for memory in page {
            line(out, &Piece::Memory(Box::new(memory)))?;
            exported.memories += 1;
            progress.inc(1);
        }
    }
    let mut after = None;
    loop {
        let page = archive.traces_after(after.as_ref()).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.trace.id.clone());
        for trace in page {
            line(out, &Piece::Trace(Box::new(trace)))?;
            exported.traces += 1;
            progress.inc(1);
        }
    }
    if let Some(skill) = skill {
        line(out, &Piece::Skill(skill))?;
        exported.skills += 1;
    }
    Ok(exported)
}

pub(super) async fn import(options: Import) -> Result<(), Failure> {
    let Import { place, file } = options;
    let (input, size): (Box<dyn BufRead>, u64) = if is_dash(&file) {
        (Box::new(BufReader::new(io::stdin())), 0)
    } else {
        let named = |error| Failure::general(format!("{}: {error}", file.display()));
        let disk = Disk::open(&file).map_err(named)?;
        let size = disk.metadata().map_err(named)?.len();
        (Box::new(BufReader::new(disk)), size)
    };
    let mut lines = Lines { input, number: 0 };
    let heading = heading(&mut lines)?;
    let project = match &place.project {
        // Into the wrong project there is no way back, so a variable does not decide.
        Some(said) if !place.typed_project() && *said != heading.project.as_str() => {
            return Err(Failure::usage(format!(
                "the bundle is of project `{}`, but REFLECT_PROJECT_ID says `{said}`: name the one \
                 you mean with --project",
                heading.project
            )));
        }
        Some(_) => place.project(),
        None => heading.project,
    };
    let archive = place.archive_to_fill(project.clone()).await?;
    let progress = bar(size);
    let imported = read(&archive, &mut lines, &progress).await?;
    progress.finish_and_clear();
    archive.close().await?;
    if place.json {
        return output::json(&imported);
    }
    let ImportReport { stored, present } = imported;
    output::say(format_args!(
        "{stored} stored in project `{project}`, {present} were there already"
    ))
}

async fn read(
    archive: &Archive,
    lines: &mut Lines,
    progress: &ProgressBar,
) -> Result<ImportReport, Failure> {
    let (mut total, mut seen) = (ImportReport::default(), Exported::default());
    let (mut batch, mut bytes) = (Vec::with_capacity(BATCH), 0);
    let told = loop {
        let Some(text) = lines.next()? else {
            break None;
        };
        progress.inc(text.len() as u64 + 1);
        if is_ending(&text) {
            let Ending::End(told) =
                serde_json::from_str(&text).map_err(|error| lines.wrong(&error))?;
            break Some(told);
        }
        let piece = serde_json::from_str(&text).map_err(|error| lines.wrong(&error))?;
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
    if told != Some(seen) {
        return Err(Failure::general(format!(
            "the bundle ends early, after line {}: what it has is stored, but it was cut off; \
             export it again and import that",
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
    let done = archive.import(batch).await;
    let done =
        done.map_err(|failure| failure.of_contents().at(format_args!("up to line {line}")))?;
    total.stored += done.stored;
    total.present += done.present;
    Ok(())
}

/// As [`Ending`] is written; a look at the beginning spares reading every line twice.
fn is_ending(line: &str) -> bool {
    line.trim_start().starts_with(r#"{"kind":"end""#)
}

impl Exported {
    fn count(&mut self, piece: &Piece) {
        match piece {
            Piece::Memory(_) => self.memories += 1,
            Piece::Trace(_) => self.traces += 1,
            Piece::Skill(_) => self.skills += 1,
        }
    }
}

fn heading(lines: &mut Lines) -> Result<Heading, Failure> {
    let Some(text) = lines.next()? else {
        return Err(Failure::general("line 1: this is no bundle, it is empty"));
    };
    let heading: Heading = serde_json::from_str(&text).map_err(|error| {
        Failure::general(format!("line {}: this is no bundle: {error}", lines.number))
    })?;
    if heading.version != VERSION {
        return Err(Failure::general(format!(
            "the bundle has version {}, this version of Reflect reads {VERSION}: upgrade it",
            heading.version
        )));
    }
    Ok(heading)
}

/// The lines of a bundle that say something, counted.
struct Lines {
    input: Box<dyn BufRead>,
    number: usize,
}

impl Lines {
    fn next(&mut self) -> Result<Option<String>, Failure> {
        loop {
            let mut text = String::new();
            if self.input.read_line(&mut text)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if !text.trim().is_empty() {
                return Ok(Some(text));
            }
        }
    }

    fn wrong(&self, error: &serde_json::Error) -> Failure {
        if error.is_eof() {
            return Failure::general(format!(
                "line {}: the bundle was cut off here: export it again and import that",
                self.number
            ));
        }
        Failure::general(format!("line {}: {error}", self.number))
    }
}

fn line(out: &mut impl Write, value: &impl Serialize) -> Result<(), Failure> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")?;
    Ok(())
}

/// A bar on the standard error, which shows itself only in a terminal.
fn bar(length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {percent:>3}% {eta}");
    ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}
