//! A project as a file of JSON lines: a heading, its memories, its traces, its skill.

use std::fs::File as Disk;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use reflect_engine::{Imported, Piece};
use reflect_types::ProjectId;
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

#[derive(Debug, Default, Serialize)]
struct Exported {
    memories: u64,
    traces: u64,
    skills: u64,
}

pub(super) async fn export(options: Export) -> Result<(), Failure> {
    let Export { place, file } = options;
    let archive = place.archive().await?;
    let stats = archive.stats().await?;
    if stats.queued > 0 {
        eprintln!(
            "warning: {} reviews are being worked on; a bundle is exact when none is",
            stats.queued
        );
    }
    let progress = bar(stats.memories + stats.traces);
    let to_stdout = is_dash(&file);
    let mut out: Box<dyn Write> = if to_stdout {
        Box::new(io::stdout())
    } else {
        Box::new(BufWriter::new(Disk::create_new(&file).map_err(
            |error| Failure::general(format!("{}: {error}", file.display())),
        )?))
    };
    let written = write(&archive, &mut out, &progress).await;
    let written = written.and_then(|exported| Ok(out.flush().map(|()| exported)?));
    progress.finish_and_clear();
    let exported = written.inspect_err(|_| {
        if !to_stdout {
            // Half a bundle must not be taken for a whole one.
            let _ = std::fs::remove_file(&file);
        }
    })?;
    if to_stdout {
        return Ok(());
    }
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

async fn write(
    archive: &Archive,
    out: &mut impl Write,
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
    if let Some(skill) = archive.skill().await? {
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
    let project = match place.project {
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
    let Imported { stored, present } = imported;
    output::say(format_args!(
        "{stored} stored in project `{project}`, {present} were there already"
    ))
}

async fn read(
    archive: &Archive,
    lines: &mut Lines,
    progress: &ProgressBar,
) -> Result<Imported, Failure> {
    let mut total = Imported::default();
    loop {
        let (mut batch, mut bytes) = (Vec::with_capacity(BATCH), 0);
        while batch.len() < BATCH && bytes < BATCH_BYTES {
            let Some(text) = lines.next()? else { break };
            progress.inc(text.len() as u64 + 1);
            bytes += text.len();
            batch.push(serde_json::from_str(&text).map_err(|error| lines.wrong(&error))?);
        }
        if batch.is_empty() {
            return Ok(total);
        }
        let before = lines.number;
        let done = archive.import(batch).await;
        let done = done.map_err(|failure| failure.at(format_args!("up to line {before}")))?;
        total.stored += done.stored;
        total.present += done.present;
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
