//! Files that commands read; `-` is standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

pub(crate) fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Opens a file, with its length if it has one.
pub(crate) fn open(path: &Path) -> io::Result<(Box<dyn Read>, Option<u64>)> {
    if is_dash(path) {
        return Ok((Box::new(io::stdin()), None));
    }
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    Ok((Box::new(file), Some(length)))
}

pub(crate) fn read(path: &Path) -> io::Result<String> {
    io::read_to_string(open(path)?.0)
}
