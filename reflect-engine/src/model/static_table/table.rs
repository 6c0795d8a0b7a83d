//! A table of token vectors, whose sum is the vector of a text.

use std::sync::LazyLock;

use serde::Deserialize;

use super::unknown;
use super::vocabulary::Vocabulary;
use crate::model::vector::unit;

/// The number of components of a vector.
pub(super) const DIMS: usize = 256;

pub(super) static TABLE: LazyLock<Option<Table>> = LazyLock::new(|| {
    Table::read(
        include_bytes!("../../../assets/static-embedder/static-embedder.safetensors"),
        include_str!("../../../assets/static-embedder/vocab.txt"),
    )
});

/// The bytes of a row, two components each.
const ROW: usize = DIMS / 2;

/// The table, read in place.
pub(super) struct Table {
    vocabulary: Vocabulary,
    rows: &'static [[u8; ROW]],
    scales: &'static [[u8; 2]],
}

#[derive(Deserialize)]
struct Header {
    #[serde(rename = "__metadata__")]
    metadata: Metadata,
    table: Tensor,
    scale: Tensor,
}

#[derive(Deserialize)]
struct Metadata {
    pieces: String,
}

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

impl Table {
    /// Reads a safetensors file: the length of a JSON header, the header, the tensors. `None` if it is damaged, or does
    /// not have one row for each line of the vocabulary.
    fn read(file: &'static [u8], vocabulary: &'static str) -> Option<Self> {
        let (length, rest) = file.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (header, data) = rest.split_at_checked(length)?;
        let header: Header = serde_json::from_slice(header).ok()?;
        let vocabulary = Vocabulary::new(vocabulary, header.metadata.pieces.parse().ok()?)?;
        let count = vocabulary.len();
        let (rows, more_rows) = header.table.bytes(data, "U8", &[count, ROW])?.as_chunks();
        let (scales, more_scales) = header.scale.bytes(data, "F16", &[count])?.as_chunks();
        let fits = rows.len() == count && scales.len() == count;
        (fits && more_rows.is_empty() && more_scales.is_empty()).then_some(Self {
            vocabulary,
            rows,
            scales,
        })
    }

    pub(super) fn embed(&self, text: &str) -> Vec<f32> {
        let (mut letters, mut words) = ([0_f32; DIMS], 0);
        let rows = self.vocabulary.rows(text, |word, before| {
            if words < unknown::MAX_WORDS {
                unknown::add(word, before, &mut letters);
            }
            words += 1;
        });
        let mut sum = self.sum(&rows);
        for (sum, letters) in sum.iter_mut().zip(letters) {
            *sum += letters;
        }
        unit(sum)
    }

    fn sum(&self, rows: &[usize]) -> Vec<f32> {
        // Even and odd components are summed separately, so that the loop vectorises.
        let (mut even, mut odd) = ([0_f32; ROW], [0_f32; ROW]);
        for &row in rows {
            let scale = half(self.scales[row]);
            for ((byte, even), odd) in self.rows[row].iter().zip(&mut even).zip(&mut odd) {
                *even += (f32::from(byte & 15) - 8.0) * scale;
                *odd += (f32::from(byte >> 4) - 8.0) * scale;
            }
        }
        let sum = even.iter().zip(&odd).flat_map(|(even, odd)| [*even, *odd]);
        sum.collect()
    }
}

impl Tensor {
    fn bytes(&self, data: &'static [u8], dtype: &str, shape: &[usize]) -> Option<&'static [u8]> {
        let [start, end] = self.data_offsets;
        let is_expected = self.dtype == dtype && self.shape == shape;
        data.get(start..end).filter(|_| is_expected)
    }
}

/// A finite half-precision number; multiplying rebases its exponent.
fn half(bytes: [u8; 2]) -> f32 {
    let bits = u32::from(u16::from_le_bytes(bytes));
    let magnitude = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits((127 + 112) << 23);
    f32::from_bits(magnitude.to_bits() | (bits & 0x8000) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Golden {
        texts: Vec<GoldenText>,
        cosines: Vec<Vec<f32>>,
    }

    #[derive(Deserialize)]
    struct GoldenText {
        text: String,
        ids: Vec<usize>,
        head: Vec<f32>,
    }

    fn golden() -> Golden {
        serde_json::from_str(include_str!("../../../assets/static-embedder/golden.json")).unwrap()
    }

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn the_golden_texts_touch_the_golden_rows() {
        let table = TABLE.as_ref().unwrap();
        for text in golden().texts {
            assert_eq!(
                table.vocabulary.rows(&text.text, |_, _| {}),
                text.ids,
                "{:?}",
                text.text
            );
        }
    }

    #[test]
    fn the_golden_vectors_are_reproduced() {
        let golden = golden();
        assert_eq!(golden.texts.len(), 40);
        let table = TABLE.as_ref().unwrap();
        let of_rows = |text: &GoldenText| unit(table.sum(&text.ids));
        let vectors: Vec<_> = golden.texts.iter().map(of_rows).collect();
        for (text, vector) in golden.texts.iter().zip(&vectors) {
            assert_eq!(text.head.len(), 8);
            for (expected, found) in text.head.iter().zip(vector) {
                assert!(
                    (expected - found).abs() < 1e-5,
                    "{:?}: {expected} {found}",
                    text.text
                );
            }
        }
        for (a, row) in vectors.iter().zip(&golden.cosines) {
            for (b, expected) in vectors.iter().zip(row) {
                assert!((dot(a, b) - expected).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn a_text_of_known_words_is_the_sum_of_its_rows() {
        let table = TABLE.as_ref().unwrap();
        let golden = golden();
        let ascii = golden.texts.iter().filter(|text| text.text.is_ascii());
        for text in ascii {
            assert_eq!(table.embed(&text.text), unit(table.sum(&text.ids)));
        }
    }

    #[test]
    fn half_precision_is_read_exactly() {
        for (bits, value) in [
            (0x3c00_u16, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x0001, 5.960_464_5e-8),
            (0x7bff, 65504.0),
            (0x0000, 0.0),
        ] {
            assert!((half(bits.to_le_bytes()) - value).abs() < f32::EPSILON * value.abs() + 1e-14);
        }
    }

    #[test]
    fn a_damaged_file_is_an_error_and_no_panic() {
        static FILE: &[u8] =
            include_bytes!("../../../assets/static-embedder/static-embedder.safetensors");
        for end in [0, 7, 8, 100, 552, 1_000_000, FILE.len() - 1] {
            assert!(Table::read(&FILE[..end], "a\n").is_none());
        }
        assert!(Table::read(FILE, "too\nfew\nwords\n").is_none());
    }
}
