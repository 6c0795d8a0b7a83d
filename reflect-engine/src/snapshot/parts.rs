//! A snapshot in parts, each with a checksum.

use std::io::{self, Read, Write};

use tokio::sync::mpsc::Receiver;

/// The bytes of a part, besides its checksum. Tests have many parts.
const PART: usize = if cfg!(test) { 1 << 12 } else { 1 << 20 };

/// The bytes of a checksum.
const CHECKSUM: usize = size_of::<u32>();

/// Cuts what is written into parts.
#[derive(Default)]
pub(crate) struct Cutter {
    parts: Vec<Vec<u8>>,
    /// The part that is not full, with room for its checksum.
    last: Vec<u8>,
}

impl Cutter {
    /// The parts of all that was written.
    pub(crate) fn parts(mut self) -> Vec<Vec<u8>> {
        self.close();
        self.parts
    }

    fn close(&mut self) {
        if let Some((checksum, rest)) = self.last.split_first_chunk_mut::<CHECKSUM>() {
            *checksum = crc32fast::hash(rest).to_le_bytes();
            self.parts.push(std::mem::take(&mut self.last));
        }
    }
}

impl Write for Cutter {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.last.is_empty() {
            self.last.reserve_exact(CHECKSUM + PART);
            self.last.extend([0; CHECKSUM]);
        }
        let taken = bytes.len().min(CHECKSUM + PART - self.last.len());
        self.last.extend_from_slice(&bytes[..taken]);
        if self.last.len() == CHECKSUM + PART {
            self.close();
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads parts one after the other, as they come, on a thread of its own: it waits for them.
pub(crate) struct Joiner {
    parts: Receiver<Vec<u8>>,
    part: Vec<u8>,
    at: usize,
}

impl Joiner {
    pub(crate) fn new(parts: Receiver<Vec<u8>>) -> Self {
        Self {
            parts,
            part: Vec::new(),
            at: 0,
        }
    }

    /// Fails unless everything was read.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        match self.read(&mut [0])? {
            0 => Ok(()),
            _ => Err(broken("bytes follow its end")),
        }
    }

    fn next(&mut self) -> io::Result<()> {
        let Some(part) = self.parts.blocking_recv() else {
            return Ok(());
        };
        let (checksum, rest) = part
            .split_first_chunk::<CHECKSUM>()
            .ok_or_else(|| broken("a part has no checksum"))?;
        if crc32fast::hash(rest).to_le_bytes() != *checksum {
            return Err(broken("the checksum of a part is wrong"));
        }
        (self.part, self.at) = (part, CHECKSUM);
        Ok(())
    }
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Read for Joiner {
    #[inline]
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.at == self.part.len() {
            self.next()?;
        }
        let rest = &self.part[self.at..];
        let taken = bytes.len().min(rest.len());
        bytes[..taken].copy_from_slice(&rest[..taken]);
        self.at += taken;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::channel;

    use super::*;

    fn joined(parts: Vec<Vec<u8>>) -> Joiner {
        let (sender, receiver) = channel(parts.len().max(1));
        for part in parts {
            sender.try_send(part).unwrap();
        }
        Joiner::new(receiver)
    }

    fn cut(bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut cutter = Cutter::default();
        for some in bytes.chunks(1_000) {
            cutter.write_all(some).unwrap();
        }
        cutter.parts()
    }

    #[test]
    fn what_is_cut_is_joined() {
        for len in [0, 1, PART - 1, PART, PART + 1, 3 * PART, 3 * PART + 5] {
            let bytes: Vec<u8> = (0..len).map(|n| u8::try_from(n % 251).unwrap()).collect();
            let parts = cut(&bytes);
            assert_eq!(parts.len(), len.div_ceil(PART));
            let mut joiner = joined(parts);
            let mut read = vec![0; len];
            joiner.read_exact(&mut read).unwrap();
            assert!(read == bytes, "{len}");
            joiner.finish().unwrap();
        }
    }

    #[test]
    fn a_part_that_is_broken_missing_or_too_much_is_noticed() {
        let bytes = vec![7; PART + 10];
        let read = |parts: Vec<Vec<u8>>| {
            let mut joiner = joined(parts);
            joiner.read_exact(&mut vec![0; PART + 10])?;
            joiner.finish()
        };
        read(cut(&bytes)).unwrap();
        let mut parts = cut(&bytes);
        parts[1][6] ^= 1;
        read(parts).unwrap_err();
        read(cut(&bytes)[..1].to_vec()).unwrap_err();
        read(vec![vec![1, 2]]).unwrap_err();
        let mut parts = cut(&bytes);
        parts.extend(cut(&[1]));
        read(parts).unwrap_err();
    }
}
