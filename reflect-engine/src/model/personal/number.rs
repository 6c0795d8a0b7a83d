//! Cards, phones and other long numbers.

use super::names::is_among;

/// Words before a phone number.
const HINTS: &str =
    "call cell contact dial fax mobile number phone reach ring tel telephone whatsapp";

/// More groups than a phone number has are not looked at.
const MAX_GROUPS: usize = 7;

const MIN_DIGITS: usize = 7;

/// A number at the beginning of the text: its first groups of digits, as many as make one. Yields its length and
/// role. A phone number that only spaces divide has to be `announced`.
pub(super) fn number(
    text: &str,
    announced: impl Fn() -> bool,
    mut may_end: impl FnMut(usize) -> bool,
) -> Option<(usize, &'static str)> {
    let mut groups = [(0, 0); MAX_GROUPS];
    let count = read_groups(text, &mut groups);
    if digits_in(&groups[..count]) < MIN_DIGITS {
        return None;
    }
    (1..=count).rev().find_map(|count| {
        let end = groups[count - 1].1;
        let role = role(text, &groups[..count], &announced)?;
        let next = text[end..].chars().next();
        let is_whole = !next.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '@'));
        (is_whole && may_end(end)).then_some((end, role))
    })
}

fn digits_in(groups: &[(usize, usize)]) -> usize {
    groups.iter().map(|(start, end)| end - start).sum()
}

/// Whether one of the last three words of the text announces a phone number.
pub(super) fn announces_phone(before: &str) -> bool {
    let words = before.rsplit(|c: char| !c.is_alphanumeric());
    // There are empty ones between two separators.
    let mut words = words.take(6).filter(|word| !word.is_empty()).take(3);
    words.any(|word| is_among(word, HINTS))
}

/// Reads the groups of digits at the beginning of the text, each with its start and end, and counts them.
fn read_groups(text: &str, groups: &mut [(usize, usize); MAX_GROUPS]) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let separators = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        let is_one = |byte: &&u8| matches!(byte, b' ' | b'-' | b'.' | b'(' | b')');
        from + rest.iter().take(4).take_while(is_one).count()
    };
    let mut start = match bytes {
        [b'+', b'(', ..] => 2,
        [b'+' | b'(', ..] => 1,
        _ => 0,
    };
    for count in 0..MAX_GROUPS {
        let end = digits(start);
        if end == start {
            return count;
        }
        groups[count] = (start, end);
        // No number begins with so few digits, but for an international one.
        if count == 1 && bytes[0] != b'+' && digits_in(&groups[..2]) < 4 {
            return count;
        }
        start = separators(end);
        // A sentence, rather than a group, ends with a dot and a space.
        if start == end || start - end > 3 || bytes[end..].starts_with(b". ") {
            return count + 1;
        }
    }
    MAX_GROUPS
}

fn role(
    text: &str,
    groups: &[(usize, usize)],
    announced: impl Fn() -> bool,
) -> Option<&'static str> {
    let count = digits_in(groups);
    if count < MIN_DIGITS {
        return None;
    }
    let mut lengths = [0; MAX_GROUPS];
    for (length, (start, end)) in lengths.iter_mut().zip(groups) {
        *length = end - start;
    }
    let lengths = &lengths[..groups.len()];
    let is_international = text.starts_with('+');
    let digits = || -> String {
        let parts = groups.iter().map(|(start, end)| &text[*start..*end]);
        parts.collect()
    };
    if is_international {
        // In one with the code 1 there are ten digits after it, and in no other a last group of one.
        let fits = if text[1..].trim_start_matches('(').starts_with('1') {
            count == 11
        } else {
            count <= 15 && lengths.last() != Some(&1)
        };
        return fits.then_some("phone");
    }
    let is_card_shape = matches!(
        lengths,
        [13..=19] | [4, 4, 4, 2..=4] | [4, 4, 4, 4, 1..=3] | [4, 6, 4 | 5]
    );
    if is_card_shape && is_card(&digits()) {
        return Some("card_number");
    }
    let is_marked = || {
        let end = groups.last().map_or(0, |(_, end)| *end);
        text[..end].contains(['-', '.', '('])
    };
    match lengths {
        [3, 3, 4] if is_marked() || (!text.starts_with(['0', '1']) && announced()) => Some("phone"),
        [1, 3, 3, 4] if text.starts_with('1') && (is_marked() || announced()) => Some("phone"),
        [_] if !text.starts_with('(') => Some("number"),
        _ => None,
    }
}

/// Whether the digits begin as those of an issuer of cards do, and end in the check digit of a card.
fn is_card(digits: &str) -> bool {
    let begin = digits[..4].parse::<u16>().unwrap_or_default();
    let is_issued = match digits.len() {
        14 => matches!(begin, 3000..=3099 | 3600..=3699 | 3800..=3999),
        15 => matches!(begin, 3400..=3499 | 3700..=3799),
        16 => matches!(
            begin,
            2200..=2204 | 2221..=2720 | 3500..=3599 | 4000..=6999 | 8100..=8299 | 8600 | 9792 | 9860
        ),
        _ => matches!(begin, 4000..=6999),
    };
    let doubled = |at: usize, digit: u32| match digit * 2 {
        _ if at.is_multiple_of(2) => digit,
        twice if twice > 9 => twice - 9,
        twice => twice,
    };
    let digits = digits.bytes().rev().enumerate();
    let sum: u32 = digits
        .map(|(at, byte)| doubled(at, u32::from(byte.saturating_sub(b'0'))))
        .sum();
    is_issued && sum.is_multiple_of(10)
}
