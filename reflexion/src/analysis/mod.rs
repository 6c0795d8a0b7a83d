//! The analysis pipeline: why a run went as it did, and what to do next time.
//!
//! A [`Reflector`] works in three steps, *analyze → insight → suggest*, and returns a
//! [`ReflectionResult`]. [`GeneralReflector`] asks a model, the judge; a custom reflector is one
//! `async fn`. [`ReflectionHistory`] keeps and counts results, [`ReflectorReflection`] makes any
//! reflector the self-reflection of a [`Reflexion`](crate::Reflexion) loop, and
//! `ReflectionResult::create_memory` stores a result as a memory (feature `memory`).
//!
//! ```
//! use reflexion::analysis::{
//!     GeneralReflector, ReflectError, ReflectionContext, ReflectionHistory, ReflectionType, Reflector,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), ReflectError> {
//! // A scripted model; any `Fn(String) -> Future` will do.
//! let judge = |_prompt: String| async {
//!     "<think>{\"summary\": \"a draft\"}</think>
//!      {\"summary\": \"The filter {x} was never applied\", \"suggestions\": [\"Apply it first\"]}"
//! };
//! let reflector = GeneralReflector::builder()
//!     .judge(judge)
//!     .reflection_type(ReflectionType::Failure)
//!     .build();
//! let context = ReflectionContext::new().input("Filter the rows").error("all rows returned");
//!
//! let mut history = ReflectionHistory::new();
//! history.add(reflector.reflect(&context).await?);
//! assert_eq!(history.get_recent(1)[0].summary, "The filter {x} was never applied");
//! assert_eq!(history.summarize().failure, 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Differences from `orbiter.eval.reflection`
//!
//! The pipeline follows that Python module, except that
//! - a JSON parser reads the judge's reply from each brace on, so that braces in strings are no
//!   problem; objects without a known key and drafts in `<think>` tags are skipped;
//! - the work on a reply is bounded;
//! - a string in place of a list becomes a list of one, `null` an empty list;
//! - the flags `parse_error` and `error` reach the result's metadata, if true;
//! - unknown fields reach the result's `extra`;
//! - `suggest` sees the insights; `null` in a context is not a value; the latest 0 of a history are
//!   none; and a history can be bounded.

#[expect(
    clippy::module_inception,
    reason = "the file is named after the type it holds"
)]
mod analysis;
mod bridge;
mod context;
mod general;
mod history;
mod kind;
mod reflector;
mod result;

pub use self::analysis::{Analysis, Points, ReflectError};
pub use self::bridge::ReflectorReflection;
pub use self::context::ReflectionContext;
pub use self::general::{GeneralReflector, GeneralReflectorBuilder};
pub use self::history::{ReflectionHistory, ReflectionSummary};
pub use self::kind::{ReflectionLevel, ReflectionType};
pub use self::reflector::{Reflector, SharedReflector};
pub use self::result::ReflectionResult;
