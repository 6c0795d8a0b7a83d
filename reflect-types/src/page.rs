use serde::{Deserialize, Serialize};

/// A page of a list. On the wire it is a JSON array; a `Link: rel="next"` header tells that more
/// follow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<T>")]
#[serde(into = "Vec<T>")]
#[serde(bound(serialize = "T: Serialize + Clone"))]
pub struct Page<T> {
    /// The items of this page, in the order of the list.
    pub items: Vec<T>,
    /// Whether more follow. The last item's id is where the next page starts.
    pub more: bool,
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

impl<T> IntoIterator for Page<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}
