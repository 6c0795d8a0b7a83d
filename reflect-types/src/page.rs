use std::ops::Deref;

use serde::{Deserialize, Serialize};

/// A page of a list. On the wire it is a JSON array; a `Link: rel="next"` header indicates a further
/// page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<T>")]
#[serde(into = "Vec<T>")]
#[serde(bound(serialize = "T: Serialize + Clone"))]
pub struct Page<T> {
    /// The items of this page, in the order of the list.
    pub items: Vec<T>,
    /// Whether more follow. The last item's id is where the next page starts.
    pub more: bool,
}

impl<T> Page<T> {
    /// The last item, if more follow: its id is the cursor of the next page.
    pub fn cursor(&self) -> Option<&T> {
        self.items.last().filter(|_| self.more)
    }
}

impl<T> Default for Page<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> From<Vec<T>> for Page<T> {
    fn from(items: Vec<T>) -> Self {
        Self { items, more: false }
    }
}

impl<T> From<Page<T>> for Vec<T> {
    fn from(page: Page<T>) -> Self {
        page.items
    }
}

impl<T> Deref for Page<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> IntoIterator for Page<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Page<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}
