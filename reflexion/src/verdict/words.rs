//! A line as words, with what follows each.

/// Words that may precede the verdict, as in "Final verdict: SUCCESS".
const LEAD: &str = "the my final verdict evaluation result status answer";
/// Words that say no more than a verdict does.
const VERDICT_LIKE: &str = "success pass failure fail successful passed failed unsuccessful";
/// Words that may stand around a bare verdict, as in "It is not a success".
const FRAME: &str = "it this was is not no a an true false yes task";

pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    /// The next character after markup and spaces.
    pub(super) then: Option<char>,
    /// The offset of the word's end in its line.
    pub(super) end: usize,
}

impl Word<'_> {
    /// Whether the word is in a list of words separated by spaces, in any case.
    pub(super) fn is_one_of(&self, known: &str) -> bool {
        known
            .split(' ')
            .any(|known| self.text.eq_ignore_ascii_case(known))
    }

    /// The verdict that the word states: SUCCESS, PASS, FAILURE or FAIL, in any case.
    pub(super) fn verdict(&self) -> Option<bool> {
        if self.is_one_of("success pass") {
            Some(true)
        } else if self.is_one_of("failure fail") {
            Some(false)
        } else {
            None
        }
    }

    pub(super) fn leads(&self) -> bool {
        self.is_one_of(LEAD)
    }

    pub(super) fn is_verdict_like(&self) -> bool {
        self.is_one_of(VERDICT_LIKE)
    }

    pub(super) fn may_frame_verdict(&self) -> bool {
        self.is_verdict_like() || self.leads() || self.is_one_of(FRAME)
    }

    /// Whether another word follows without punctuation in between.
    pub(super) fn runs_on(&self) -> bool {
        self.then.is_some_and(char::is_alphanumeric)
    }

    pub(super) fn is_in_capitals(&self) -> bool {
        self.text.chars().all(char::is_uppercase)
    }

    /// Whether a sentence may start with the word: "The", "I", "42", but not "NOT".
    pub(super) fn opens_sentence(&self) -> bool {
        let mut chars = self.text.chars();
        let opens = chars
            .next()
            .is_some_and(|c| c.is_uppercase() || c.is_numeric());
        opens && chars.all(|c| !c.is_uppercase())
    }
}

/// The words in the first `max` characters of a line. A brace ends the line, so that JSON has no
/// words.
pub(super) fn words(line: &str, max: usize) -> Vec<Word<'_>> {
    let end = line
        .char_indices()
        .nth(max)
        .map_or(line.len(), |(at, _)| at);
    let line = line[..end].split(['{', '}']).next().unwrap_or_default();
    let mut words = Vec::new();
    let mut from = 0;
    while let Some(start) = line[from..].find(char::is_alphanumeric) {
        let start = from + start;
        let end = start + word_length(&line[start..]);
        words.push(Word {
            text: &line[start..end],
            then: line[end..].chars().find(|c| !is_markup(*c)),
            end,
        });
        from = end;
    }
    words
}

pub(super) fn is_markup(c: char) -> bool {
    c.is_whitespace() || "*_`#>\"'“”()[]~".contains(c)
}

/// The length of the word at the start of the text. Hyphens and apostrophes inside a word, and
/// points inside a number, belong to it.
fn word_length(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    let mut previous = ' ';
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map_or(' ', |(_, next)| *next);
        let joins = "-'’_".contains(c) && next.is_alphanumeric();
        let is_point = ".,".contains(c) && previous.is_numeric() && next.is_numeric();
        if !(c.is_alphanumeric() || joins || is_point) {
            return at;
        }
        previous = c;
    }
    text.len()
}
