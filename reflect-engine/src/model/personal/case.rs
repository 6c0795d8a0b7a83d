//! The numbers of cases, by the noun or the key before them: `order #W591` and `order_id=55555`.

use super::keys::{self, is_id};
use super::mail::address;
use super::names::{is_among, is_word};
use super::number::number;

/// The nouns before the number of a case: `order #W5918442` becomes `order order_id`.
const NUMBERED: &str = "account application appointment booking case certificate claim complaint \
    confirmation contract customer employee invoice loan member membership order passenger \
    passport patient payment policy receipt reference refund reservation return shipment \
    subscription ticket tracking transaction user voucher";

/// Nouns before which bare digits are an amount, or a value that is returned.
const OF_AMOUNTS: &str = "payment refund return";

/// Nouns that are also words of a program: a word with few digits after them is none of a case, as in `return JSON5`.
const OF_PROGRAMS: &str = "case return";

/// Words between a noun and its number.
const LABELS: &str = "number no nr id code";

/// What is counted, after its number.
const UNITS: &str = "bytes cents chars characters days dollars entries euros eur files gbp hours \
    items kb lines mb meters miles minutes ms orders people percent pieces points pounds \
    requests rows seconds sec steps times tokens units usd users weeks words years";

/// Units after digits in the same word, in capitals.
const CAPITAL_UNITS: &str = "AUD CAD CHF CNY EUR GB GBP INR JPY KB KM MB TB USD";

/// Words with a number that name a thing of technology.
const TECHNICAL: &str = "aes base covid es float http https int ipv iso md mp oauth python rfc \
    rs rsa sha sha1 sha2 sha3 tls type uint utf uuid version";

/// The number of a case.
pub(super) struct Case<'a> {
    /// Its length, with a `#` before it.
    pub length: usize,
    pub role: String,
    /// Whether a key and `=` precede it, as in `order_id=55555`.
    pub is_argument: bool,
    /// The number without a `#`.
    pub code: &'a str,
}

impl Case<'_> {
    /// Whether the number shows as one wherever it stands: with letters and digits, or five digits and more.
    pub(super) fn is_serial(&self) -> bool {
        let digits = self.code.bytes().filter(u8::is_ascii_digit).count();
        let letters = self.code.bytes().any(|byte| byte.is_ascii_alphabetic());
        self.code.len() >= 4 && (digits >= 5 || (letters && digits > 0))
    }
}

/// The number of a case at the beginning of the text, if a noun or a key ends what is `before`.
pub(super) fn case<'a>(before: &str, text: &'a str) -> Option<Case<'a>> {
    if !before.ends_with(is_separator) {
        return None;
    }
    let bare = text.strip_prefix('#').unwrap_or(text);
    let is_marked = bare.len() < text.len();
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let end = bare.find(|c| !is_part(c)).unwrap_or(bare.len());
    let code = bare[..end].trim_end_matches('-');
    let goes_on = bare[end..].starts_with(char::is_alphanumeric);
    if goes_on || !code.bytes().any(|byte| byte.is_ascii_digit()) || has_role(code) {
        return None;
    }
    let after = &bare[code.len()..];
    let digits = code.bytes().filter(u8::is_ascii_digit).count();
    let has_letters = code.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_number = if has_letters {
        is_marked || (code.len() >= 4 && !is_ordinary(code))
    } else {
        (is_marked || digits >= 5) && !is_date(code) && !is_amount(after)
    };
    if !is_number {
        return None;
    }
    let announced = announced(before)?;
    let is_something_else = !is_marked
        && if has_letters {
            digits < 5 && is_among(announced.noun, OF_PROGRAMS)
        } else {
            is_among(announced.noun, OF_AMOUNTS)
        };
    (!is_something_else).then(|| Case {
        length: text.len() - after.len(),
        role: announced.role,
        is_argument: announced.is_argument,
        code,
    })
}

/// What the words before a number say.
struct Announced<'a> {
    role: String,
    is_argument: bool,
    /// The noun, if it is the last word.
    noun: &'a str,
}

fn announced(before: &str) -> Option<Announced<'_>> {
    let (rest, word, separators) = last_word(before);
    let announced = |role: String| Announced {
        role,
        is_argument: false,
        noun: "",
    };
    // "order number is 5", "order no. 5".
    let (label_rest, label) = match word {
        "is" => {
            let (rest, label, _) = last_word(rest);
            (rest, label)
        }
        _ => (rest, word),
    };
    if is_among(label, LABELS) {
        let (_, noun, _) = last_word(label_rest);
        if let Some(role) = role_of_noun(noun) {
            return Some(announced(role));
        }
    }
    if separators.contains([':', '=']) && is_id(word) {
        return Some(Announced {
            // Without the `=`, the key may not end what becomes a mail address.
            is_argument: separators == "=" && !rest.ends_with(['@', '.', '-']),
            ..announced(keys::role(word))
        });
    }
    Some(Announced {
        noun: word,
        ..announced(role_of_noun(word)?)
    })
}

/// The last word of the text: what stands before it, the word, and the separators after it, of which there has to be
/// one.
fn last_word(text: &str) -> (&str, &str, &str) {
    let bare = text.trim_end_matches(is_separator);
    let separators = &text[bare.len()..];
    if separators.is_empty() {
        return ("", "", "");
    }
    let whole = bare.strip_suffix('.').unwrap_or(bare);
    let start = whole.rfind(|c| !is_word(c)).map_or(0, |at| {
        at + whole[at..].chars().next().map_or(0, char::len_utf8)
    });
    let word = &whole[start..];
    if whole.len() < bare.len() && !is_among(word, "no nr") {
        return ("", "", "");
    }
    (&whole[..start], word, separators)
}

fn is_separator(c: char) -> bool {
    matches!(c, ' ' | ':' | '=' | '"' | '\'')
}

/// `order_id` for `Order`.
fn role_of_noun(noun: &str) -> Option<String> {
    is_among(noun, NUMBERED).then(|| format!("{}_id", noun.to_ascii_lowercase()))
}

/// Whether a key names the number of a case or of a person, as `reservation_id` and `orders`.
pub(super) fn is_of_a_case(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let noun = lower.trim_end_matches("ids").trim_end_matches("id");
    let noun = noun.trim_end_matches('_').trim_end_matches('s');
    role_of_noun(noun.rsplit('_').next().unwrap_or(noun)).is_some()
}

/// Whether a word with a digit is none of a case: a quantity as `30-day` and `100USD`, or a name as `utf8` and `SHA256`.
fn is_ordinary(code: &str) -> bool {
    let digits = code.bytes().filter(u8::is_ascii_digit).count();
    let has_capitals = code.bytes().any(|byte| byte.is_ascii_uppercase());
    let is_digit = |c: char| c.is_ascii_digit();
    let tail = code.trim_start_matches(is_digit).trim_start_matches('-');
    let is_quantity = code.starts_with(is_digit)
        && !tail.contains(is_digit)
        && (!tail.contains(|c: char| c.is_ascii_uppercase())
            || CAPITAL_UNITS.split(' ').any(|unit| unit == tail));
    let stem = code.trim_end_matches(is_digit).trim_end_matches(['-', '_']);
    let is_technical = is_among(stem, TECHNICAL);
    let is_size = code.split_once('x').is_some_and(|(width, height)| {
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number(width) && (is_number(height) || width == "0")
    });
    // `Float32Array`, `Neo4j`: a name of a thing, where a code has letters of one case.
    let is_name = code.starts_with(|c: char| c.is_ascii_alphabetic())
        && has_capitals
        && code.bytes().any(|byte| byte.is_ascii_lowercase());
    (!has_capitals && digits <= 3) || is_quantity || is_technical || is_size || is_name
}

/// Whether a part of a code is the role of a value that was replaced.
fn has_role(code: &str) -> bool {
    let is_role = |part: &str| {
        matches!(part, "card_number" | "email" | "id" | "number" | "phone") || part.ends_with("_id")
    };
    code.split('-').any(is_role)
}

fn is_date(code: &str) -> bool {
    let mut parts = [0; 3];
    let mut count = 0;
    for part in code.split('-') {
        if count == parts.len() {
            return false;
        }
        parts[count] = part.len();
        count += 1;
    }
    matches!(
        (parts, count),
        ([4, 1..=2, 0..=2], 2 | 3) | ([1..=2, 1..=2, 4], 3)
    )
}

/// Whether digits go on as a decimal number or a time, or are the number of what follows.
fn is_amount(after: &str) -> bool {
    if let Some(rest) = after.strip_prefix(['.', ',', ':']) {
        let more = rest.starts_with(|c: char| c.is_ascii_digit());
        return more && (after.starts_with('.') || !begins_value(rest));
    }
    if after.starts_with('%') {
        return true;
    }
    let Some(rest) = after.strip_prefix(' ') else {
        return false;
    };
    let end = rest
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(rest.len());
    let next = rest[end..].strip_prefix(['.', ',', ';', ':', '!', '?', ')']);
    let ends = next.unwrap_or(&rest[end..]);
    let ends = ends.is_empty() || ends.starts_with(char::is_whitespace);
    ends && is_among(&rest[..end], UNITS)
}

/// Whether a value that shows by its form begins here.
fn begins_value(text: &str) -> bool {
    number(text, || true, |_| true).is_some() || id(text).is_some() || address(text).is_ok()
}

/// The length of a word that ends in `_` and four digits or more.
pub(super) fn id(text: &str) -> Option<usize> {
    let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
    let (_, digits) = text[..end].rsplit_once('_')?;
    let is_id = digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_id.then_some(end)
}
