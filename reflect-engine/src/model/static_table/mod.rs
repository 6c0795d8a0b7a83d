//! The bundled sentence embedder.

mod table;
mod unknown;
mod vocabulary;
mod words;

use async_trait::async_trait;

use super::error::Error;
use super::personal;
use super::port::Embedder;
use table::TABLE;

/// Embeds with a table that is compiled into the crate: 256 dimensions, no download, microseconds per
/// text.
///
/// The table covers English. Words of other scripts are hashed by their letters, so that a task is
/// found again in any language, but not a paraphrase of it; that takes a model.
///
/// Mails, phone numbers, numbers of orders and other personal values that show by their form are embedded as their
/// roles: the same task of another customer is as similar as its words.
///
/// The table is read on first use, once per process. `assets/static-embedder/README.md` describes its
/// format, quality and licence.
#[derive(Clone, Copy, Debug, Default)]
pub struct StaticEmbedder;

impl StaticEmbedder {
    /// The name of the vector space.
    pub const ID: &'static str = "static-v3";
    /// The number of components of a vector.
    pub const DIMS: usize = table::DIMS;

    /// The vector of one text: of length 1, or all zero without a word.
    pub fn vector(self, text: &str) -> Result<Vec<f32>, Error> {
        match &*TABLE {
            Some(table) => Ok(table.embed(&personal::roles_by_form(text))),
            None => Err(Error {
                message: "the bundled embedder is damaged: rebuild the crate".to_owned(),
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    fn vector(text: &str) -> Vec<f32> {
        StaticEmbedder.vector(text).unwrap()
    }

    #[test]
    fn tasks_in_any_script_are_found_and_distinguished() {
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
    fn a_task_of_another_customer_is_the_same_task() {
        let task = vector("Refund order #W5918442 to mia.li@example.com, phone 555-123-4567");
        let other = vector("Refund order #W10224 to bob@mail.org, phone 555-765-4321");
        let shown = vector("Refund order #order_id to email, phone phone");
        for same in [other, shown] {
            let cosine = dot(&task, &same);
            assert!(cosine > 0.95, "{cosine}");
        }
        assert!(
            dot(
                &task,
                &vector("Book a flight to Rome for mia.li@example.com")
            ) < 0.5
        );
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
