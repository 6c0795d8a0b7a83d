//! A few hundred quantised vectors side by side.

use std::sync::Arc;

use reflect_types::Metadata;
use serde_json::Value;

use super::code::{self, Probe};

/// How many vectors a block holds. Blocks are allocated one by one, so that a large index has
/// neither spare capacity nor a moment at which everything is copied.
pub(super) const ROWS: usize = 256;

/// Up to [`ROWS`] vectors.
pub(super) struct Block {
    dims: usize,
    /// The upper 8 bits of the codes, row by row.
    coarse: Vec<i8>,
    /// The lower 4 bits of the codes, row by row.
    fine: Vec<u8>,
    /// What every scan reads.
    scales: Vec<Scale>,
    /// What a scan reads of the few that matter.
    rows: Vec<Row>,
}

/// What turns a dot product of codes into bounds of a score.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    pub(super) q: f64,
    pub(super) step: f32,
    pub(super) coarse_error: f32,
}

/// Who a vector belongs to.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) key: i64,
    /// The same for equal vectors.
    pub(super) fingerprint: u64,
    /// See [`signature`](crate::rank::signature).
    pub(super) signature: u64,
    pub(super) metadata: Option<Arc<Metadata>>,
}

/// The cold part of a vector.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) entry: Entry,
    pub(super) fine_error: f32,
}

/// A vector on its way to another place.
pub(super) struct Taken {
    coarse: Vec<i8>,
    fine: Vec<u8>,
    scale: Scale,
    row: Row,
}

impl Taken {
    pub(super) fn key(&self) -> i64 {
        self.row.entry.key
    }
}

impl Block {
    pub(super) fn new(dims: usize) -> Self {
        Self {
            dims,
            coarse: Vec::new(),
            fine: Vec::new(),
            scales: Vec::new(),
            rows: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn scales(&self) -> &[Scale] {
        &self.scales
    }

    pub(super) fn row(&self, row: usize) -> &Row {
        &self.rows[row]
    }

    /// Writes over a row, or appends the next one.
    pub(super) fn put(&mut self, row: usize, vector: &[f32], q: f64, entry: Entry) {
        let code = code::encode(vector);
        self.replace(
            row,
            Taken {
                coarse: code.coarse,
                fine: code.fine,
                scale: Scale {
                    q,
                    step: code.step,
                    coarse_error: code.coarse_error,
                },
                row: Row {
                    entry,
                    fine_error: code.fine_error,
                },
            },
        );
    }

    /// Writes over a row, or appends the next one.
    pub(super) fn replace(&mut self, row: usize, taken: Taken) {
        let stride = code::stride(self.dims);
        if row == self.rows.len() {
            self.coarse.extend_from_slice(&taken.coarse);
            self.fine.extend_from_slice(&taken.fine);
            self.scales.push(taken.scale);
            self.rows.push(taken.row);
        } else {
            self.coarse[row * stride..][..stride].copy_from_slice(&taken.coarse);
            self.fine[row * stride / 2..][..stride / 2].copy_from_slice(&taken.fine);
            self.scales[row] = taken.scale;
            self.rows[row] = taken.row;
        }
    }

    pub(super) fn set_q(&mut self, row: usize, q: f64) {
        self.scales[row].q = q;
    }

    /// Takes the last row out.
    pub(super) fn pop(&mut self) -> Option<Taken> {
        let (scale, row) = (self.scales.pop()?, self.rows.pop()?);
        let start = self.rows.len() * code::stride(self.dims);
        Some(Taken {
            coarse: self.coarse.split_off(start),
            fine: self.fine.split_off(start / 2),
            scale,
            row,
        })
    }

    /// The dot product of the probe with the upper bits of every row.
    #[inline]
    pub(super) fn coarse_dots(&self, probe: &Probe, dots: &mut [i32; ROWS]) {
        let codes = self.coarse.chunks_exact(code::stride(self.dims));
        for (dot, code) in dots.iter_mut().zip(codes) {
            *dot = probe.coarse_dot(code);
        }
    }

    /// The dot product of the probe with the lower bits of one row.
    #[inline]
    pub(super) fn fine_dot(&self, probe: &Probe, row: usize) -> i32 {
        let half = code::stride(self.dims) / 2;
        probe.fine_dot(&self.fine[row * half..][..half])
    }

    /// The memory it takes, its own place in a list included.
    pub(super) fn bytes(&self) -> usize {
        let metadata = self.rows.iter().filter_map(|r| r.entry.metadata.as_deref());
        size_of::<Self>()
            + self.coarse.capacity()
            + self.fine.capacity()
            + self.scales.capacity() * size_of::<Scale>()
            + self.rows.capacity() * size_of::<Row>()
            + metadata.map(metadata_bytes).sum::<usize>()
    }
}

/// About what a JSON object takes on the heap: a tree's nodes are on average two thirds full.
fn metadata_bytes(metadata: &Metadata) -> usize {
    const ENTRY: usize = size_of::<(String, Value)>() * 3 / 2;
    let entries = metadata
        .iter()
        .map(|(k, v)| ENTRY + k.capacity() + value_bytes(v));
    size_of::<Metadata>() + entries.sum::<usize>()
}

fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.capacity(),
        Value::Array(values) => {
            let held: usize = values.iter().map(value_bytes).sum();
            values.capacity() * size_of::<Value>() + held
        }
        Value::Object(object) => metadata_bytes(object),
    }
}
