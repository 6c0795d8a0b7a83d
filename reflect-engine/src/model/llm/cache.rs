use std::collections::{HashMap, VecDeque};

/// The vectors of the latest texts, up to a number of them.
pub(super) struct Cache {
    most: usize,
    vectors: HashMap<String, Vec<f32>>,
    /// The oldest first.
    order: VecDeque<String>,
}

impl Cache {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            vectors: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    pub(super) fn get(&self, text: &str) -> Option<&Vec<f32>> {
        self.vectors.get(text)
    }

    pub(super) fn clear(&mut self) {
        self.vectors.clear();
        self.order.clear();
    }

    pub(super) fn put(&mut self, text: &str, vector: Vec<f32>) {
        if self.most == 0 {
            return;
        }
        if self.vectors.insert(text.to_owned(), vector).is_none() {
            self.order.push_back(text.to_owned());
        }
        while self.order.len() > self.most
            && let Some(oldest) = self.order.pop_front()
        {
            self.vectors.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_vector_is_evicted() {
        let mut cache = Cache::new(2);
        for text in ["a", "b", "a", "c"] {
            cache.put(text, vec![1.0]);
        }
        assert!(cache.get("a").is_none());
        assert!(cache.get("b").is_some() && cache.get("c").is_some());
        assert_eq!(cache.vectors.len(), 2);
        let mut none = Cache::new(0);
        none.put("a", vec![1.0]);
        assert!(none.get("a").is_none());
    }
}
