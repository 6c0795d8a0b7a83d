//! What a run was measured on, and with.

use std::fs;
use std::process::Command;

/// The processor, the memory, the system, and the disk that benchmarks write to.
pub(super) fn hardware() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let processor = field(&read("/proc/cpuinfo"), "model name", ':');
    let memory = field(&read("/proc/meminfo"), "MemTotal", ':');
    let memory: u64 = memory.trim_end_matches(" kB").parse().unwrap_or(0);
    let system = field(&read("/etc/os-release"), "PRETTY_NAME", '=');
    let kernel = said("uname", &["-sr"]);
    let folder = std::env::temp_dir();
    let disk = said("df", &["--output=fstype,source", &folder.to_string_lossy()]);
    format!(
        "{cores} cores of {processor}, {} MB of memory, {system} ({kernel}), files on {}",
        memory / 1_024,
        disk_of(&disk, |device| read(&format!(
            "/sys/class/block/{device}/queue/rotational"
        )))
    )
}

/// The packages that the tables name without a version.
pub(super) fn packages(sqlite: &str) -> String {
    let (own, peers) = (read("Cargo.lock"), read("xtask/peers/rust/Cargo.lock"));
    format!(
        "SQLite {sqlite}, tracing {}, fastrace {}, tracing-opentelemetry {}, fastrace-opentelemetry {}, \
         opentelemetry_sdk and opentelemetry-otlp {} and {}",
        locked(&own, "tracing"),
        locked(&own, "fastrace"),
        locked(&peers, "tracing-opentelemetry"),
        locked(&peers, "fastrace-opentelemetry"),
        locked(&peers, "opentelemetry_sdk"),
        locked(&peers, "opentelemetry-otlp"),
    )
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// What a program prints.
pub(super) fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or_else(
        |_| "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

/// The value of the first line with this name.
fn field(text: &str, name: &str, sign: char) -> String {
    let mut fields = text.lines().filter_map(|line| line.split_once(sign));
    let value = fields.find(|(other, _)| other.trim() == name);
    let value = value.map_or("unknown", |(_, value)| value);
    value.trim().trim_matches('"').to_owned()
}

/// The file system that `df` names in its last line, and the kind of its device.
fn disk_of(df: &str, rotational: impl Fn(&str) -> String) -> String {
    let mut words = df.lines().last().unwrap_or_default().split_whitespace();
    let (Some(system), Some(device)) = (words.next(), words.next()) else {
        return "an unknown disk".to_owned();
    };
    let name = device.rsplit('/').next().unwrap_or(device);
    let kind = match rotational(name).trim() {
        // What a virtual one says of itself means nothing.
        _ if name.starts_with("vd") || name.starts_with("xvd") => ", virtual",
        "0" => ", solid state",
        "1" => ", magnetic",
        _ => "",
    };
    format!("{system} ({device}{kind})")
}

/// The version of a package in a lock file.
fn locked<'a>(lock: &'a str, name: &str) -> &'a str {
    let start = format!("name = \"{name}\"");
    let mut lines = lock.lines().skip_while(|line| *line != start);
    let version = lines.nth(1).and_then(|line| line.split('"').nth(1));
    version.unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_lock_file() {
        let lock = "[[package]]\nname = \"tracing-core\"\nversion = \"0.2.0\"\n\n\
                    [[package]]\nname = \"tracing\"\nversion = \"0.1.44\"\n";
        assert_eq!(locked(lock, "tracing"), "0.1.44");
        assert_eq!(locked(lock, "fastrace"), "unknown");
    }

    #[test]
    fn fields_of_the_system_are_read() {
        assert_eq!(field("MemTotal:   24 kB\n", "MemTotal", ':'), "24 kB");
        assert_eq!(field("A=1\nNAME=\"x y\"\n", "NAME", '='), "x y");
        assert_eq!(field("", "NAME", '='), "unknown");
    }

    #[test]
    fn the_disk_is_named_with_its_kind() {
        let disk = |df, rotational: &str| disk_of(df, |_| rotational.to_owned());
        assert_eq!(
            disk("Type Filesystem\next4 /dev/vda\n", "1\n"),
            "ext4 (/dev/vda, virtual)"
        );
        assert_eq!(
            disk("xfs /dev/nvme0n1", "0\n"),
            "xfs (/dev/nvme0n1, solid state)"
        );
        assert_eq!(disk("tmpfs tmpfs", ""), "tmpfs (tmpfs)");
    }
}
