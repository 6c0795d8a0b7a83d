//! Reading replies of models and writing prompts for them.

mod clip;
mod json;
mod template;
mod think;

pub(crate) use self::clip::clip;
pub(crate) use self::json::find_object;
pub(crate) use self::template::fill;
pub(crate) use self::think::without_thoughts;
