//! The bundled sentence embedder: a table of token vectors, summed.

mod unknown;
mod vocabulary;
mod words;

use std::sync::LazyLock;

use async_trait::async_trait;
use serde::Deserialize;

use super::{Embedder, Error};
use vocabulary::Vocabulary;

/// Embeds with the table that is compiled into the crate: 256 dims, no download, microseconds a text.
///
/// The table knows English. Words of other scripts are told apart by their letters, so the same task
/// is found again in any language, but not the same task in other words: for that, use a model.
///
/// The table is read on the first use, once per process. Its format, its quality and its licence
/// stand in `assets/static-embedder/README.md`.
#[derive(Clone, Copy, Debug, Default)]
pub struct StaticEmbedder;

impl StaticEmbedder {
    /// Names the table's vector space.
    pub const ID: &'static str = "static-v2";
    /// How many components a vector has.
    pub const DIMS: usize = 256;

    /// The vector of one text: of length 1, or all zero where it has no word.
    pub fn vector(self, text: &str) -> Result<Vec<f32>, Error> {
        match &*TABLE {
            Ok(table) => Ok(table.embed(text)),
            Err(damage) => Err(Error {
                message: format!("the bundled embedder is damaged: {damage}; build the crate anew"),
                retryable: false,
                source: None,
            }),
        }
    }
}

#[async_trait]
impl Embedder for StaticEmbedder {
    fn id(&self) -> &str {
        Self::ID
    }

    fn dims(&self) -> usize {
        Self::DIMS
    }

    fn noise_floor(&self) -> f32 {
        // Unrelated texts have a cosine of .21 at p95, paraphrases of .57 at p5; the tests below
        // repeat it on short tasks.
        0.22
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        texts.iter().map(|text| self.vector(text)).collect()
    }
}

static TABLE: LazyLock<Result<Table, String>> = LazyLock::new(|| {
    Table::read(
        include_bytes!("../../../assets/static-embedder/static-embedder.safetensors"),
        include_str!("../../../assets/static-embedder/vocab.txt"),
    )
});

/// Bytes a row takes: two dimensions in each.
const ROW: usize = StaticEmbedder::DIMS / 2;

/// The table, read where it lies.
struct Table {
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
    /// Reads a safetensors file: the length of a JSON header, the header, the tensors.
    fn read(file: &'static [u8], vocabulary: &'static str) -> Result<Self, String> {
        let (length, rest) = file.split_first_chunk().ok_or("it has no header")?;
        let (header, data) = usize::try_from(u64::from_le_bytes(*length))
            .ok()
            .and_then(|length| rest.split_at_checked(length))
            .ok_or("its header is cut off")?;
        let header: Header = serde_json::from_slice(header).map_err(|error| error.to_string())?;
        let pieces = header
            .metadata
            .pieces
            .parse()
            .map_err(|_| "no number of pieces")?;
        let vocabulary = Vocabulary::new(vocabulary, pieces)?;
        let count = vocabulary.len();
        let table = header.table.bytes(data, "U8", &[count, ROW])?;
        let scale = header.scale.bytes(data, "F16", &[count])?;
        match (table.as_chunks(), scale.as_chunks()) {
            ((rows, []), (scales, [])) if rows.len() == count && scales.len() == count => {
                Ok(Self {
                    vocabulary,
                    rows,
                    scales,
                })
            }
            _ => Err(format!("it has not one row for each of the {count} words")),
        }
    }

    fn embed(&self, text: &str) -> Vec<f32> {
        let (mut letters, mut words) = ([0_f32; StaticEmbedder::DIMS], 0);
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
        super::unit(sum)
    }

    fn sum(&self, rows: &[usize]) -> Vec<f32> {
        // The even and the odd dimensions apart: so the loop becomes vector instructions.
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
    fn bytes(
        &self,
        data: &'static [u8],
        dtype: &str,
        shape: &[usize],
    ) -> Result<&'static [u8], String> {
        if self.dtype != dtype || self.shape != shape {
            return Err(format!(
                "expected {dtype} {shape:?}, found {} {:?}",
                self.dtype, self.shape
            ));
        }
        let [start, end] = self.data_offsets;
        data.get(start..end)
            .ok_or_else(|| "a tensor is cut off".to_owned())
    }
}

/// A half precision number, which must be finite: its exponent is moved by multiplying.
fn half(bytes: [u8; 2]) -> f32 {
    let bits = u32::from(u16::from_le_bytes(bytes));
    let magnitude = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits((127 + 112) << 23);
    f32::from_bits(magnitude.to_bits() | (bits & 0x8000) << 16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    fn vector(text: &str) -> Vec<f32> {
        StaticEmbedder.vector(text).unwrap()
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
        let of_rows = |text: &GoldenText| super::super::unit(table.sum(&text.ids));
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
            assert_eq!(vector(&text.text), super::super::unit(table.sum(&text.ids)));
        }
    }

    #[test]
    fn tasks_in_any_script_are_found_again_and_told_apart() {
        let tasks = [
            ("退款订单七", "请把第七个订单退款"),
            ("注文7を返金してください", "注文9を返金してください"),
            ("환불 주문 7", "주문 9 환불 부탁드립니다"),
            (
                "Верните деньги за заказ семь",
                "Верните деньги за заказ восемь",
            ),
            ("أعد المال للطلب السابع", "أعد المال للطلب الثامن"),
            ("คืนเงินคำสั่งซื้อที่เจ็ด", "คืนเงินคำสั่งซื้อที่แปด"),
            (
                "Επιστροφή χρημάτων για την παραγγελία",
                "Επιστροφή χρημάτων πελάτη",
            ),
            ("🙂🙂 🎉", "🙂🙂 🚀"),
        ];
        for (place, (task, alike)) in tasks.iter().enumerate() {
            assert!(
                (dot(&vector(task), &vector(task)) - 1.0).abs() < 1e-5,
                "{task}"
            );
            let near = dot(&vector(task), &vector(alike));
            assert!(near > 0.3, "{task} / {alike}: {near}");
            for (other, _) in &tasks[..place] {
                let far = dot(&vector(task), &vector(other));
                assert!(
                    far < StaticEmbedder.noise_floor() + 0.15,
                    "{task} / {other}: {far}"
                );
            }
        }
        for (a, b) in [
            ("환불 주문 7", "고양이 사진 7 장 삭제"),
            ("환불 주문 7", "удали 7 файлов"),
            ("退款订单七", "今天天气很好"),
        ] {
            let far = dot(&vector(a), &vector(b));
            assert!(far < 0.35, "{a} / {b}: {far}");
        }
    }

    #[test]
    fn unrelated_tasks_fall_below_the_noise_floor_and_paraphrases_do_not() {
        let tasks = include_str!("../../../tests/fixtures/unrelated-tasks.txt");
        let vectors: Vec<_> = tasks.lines().map(vector).collect();
        let pairs = vectors.iter().enumerate();
        let pairs = pairs.flat_map(|(i, a)| vectors[..i].iter().map(move |b| dot(a, b)));
        let mut cosines: Vec<_> = pairs.collect();
        cosines.sort_by(f32::total_cmp);
        let p95 = cosines[cosines.len() * 95 / 100];
        assert!(p95 < StaticEmbedder.noise_floor(), "{p95}");
        for line in include_str!("../../../tests/fixtures/paraphrased-tasks.txt").lines() {
            let (a, b) = line.split_once('\t').unwrap();
            assert!(dot(&vector(a), &vector(b)) > 0.5, "{line}");
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
            assert!(Table::read(&FILE[..end], "a\n").is_err());
        }
        assert!(Table::read(FILE, "too\nfew\nwords\n").is_err());
    }

    proptest! {
        #[test]
        fn every_text_has_a_vector_of_length_one_or_zero(text in any::<String>()) {
            let found = vector(&text);
            prop_assert_eq!(found.len(), StaticEmbedder::DIMS);
            let norm = dot(&found, &found);
            prop_assert!(norm == 0.0 || (norm - 1.0).abs() < 1e-5);
            prop_assert_eq!(found, vector(&text));
        }
    }
}
