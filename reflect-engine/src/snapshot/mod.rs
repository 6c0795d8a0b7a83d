//! What was saved of the state of learning. Nothing is: the macro goes with its last uses in `credit/` and `hygiene/`.

macro_rules! saved {
    ($($saved:tt)*) => {};
}
pub(crate) use saved;
