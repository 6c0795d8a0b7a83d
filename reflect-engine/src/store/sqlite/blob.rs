//! Vectors as they are stored.

use rusqlite::Row;

use super::fault::Fault;

/// A vector as it is stored: little-endian `f32`.
pub(super) fn encode(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}

pub(super) fn decode(row: &Row<'_>, column: usize) -> Result<Vec<f32>, Fault> {
    let bytes = row
        .get_ref(column)?
        .as_blob()
        .map_err(rusqlite::Error::from)?;
    let (components, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(Fault::Data("a vector has an invalid length".to_owned()));
    }
    Ok(components.iter().map(|x| f32::from_le_bytes(*x)).collect())
}
