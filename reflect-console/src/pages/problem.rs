use askama::Template;

/// The page of an error.
#[derive(Debug, Template)]
#[template(path = "problem.html")]
pub struct ProblemPage {
    /// The status, such as 404.
    pub status: u16,
    /// What is wrong, and what to do.
    pub detail: String,
}

/// A part of a page that says what is wrong, where a part was asked for.
#[derive(Debug, Template)]
#[template(path = "parts/problem.html")]
pub struct ProblemPart {
    /// What is wrong, and what to do.
    pub detail: String,
}
