//! Skills: the memories of a project condensed into one guide.

mod advice;
mod guide;
mod source;
#[cfg(test)]
mod tests;

pub use guide::Guide;
pub use source::SourceMemory;
