//! Values that their form, or the noun before them, gives away.

/// The nouns before the number of a case: `order #W5918442` becomes `order order_id`.
const NUMBERED: &[&str] = &[
    "account",
    "application",
    "appointment",
    "booking",
    "case",
    "certificate",
    "claim",
    "complaint",
    "confirmation",
    "contract",
    "customer",
    "employee",
    "invoice",
    "loan",
    "member",
    "membership",
    "order",
    "passenger",
    "passport",
    "patient",
    "payment",
    "policy",
    "receipt",
    "reference",
    "refund",
    "reservation",
    "return",
    "shipment",
    "subscription",
    "ticket",
    "tracking",
    "transaction",
    "user",
    "voucher",
];

/// The text with roles for mail addresses, card and phone numbers, and identifiers.
pub(super) fn replace(text: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let outside = !replaced.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'));
        let found = || number(rest).or_else(|| word(rest));
        if let Some((length, role)) = outside.then(found).flatten() {
            replaced.push_str(role);
            rest = &rest[length..];
        } else if let Some(case) = outside.then(|| numbered(rest)).flatten() {
            replaced.push_str(&rest[..case.value]);
            replaced.push_str(&rest[..case.noun].to_ascii_lowercase());
            replaced.push_str("_id");
            rest = &rest[case.end..];
        } else {
            replaced.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    replaced
}

/// A mail address or an identifier at the beginning of the text: its length and role.
fn word(text: &str) -> Option<(usize, &'static str)> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '@' | '.' | '+' | '-');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let word = text[..end].trim_end_matches(['.', '-', '+']);
    if let Some((who, host)) = word.split_once('@') {
        let host_fits = host.split('.').count() > 1 && !host.contains('@');
        return (!who.is_empty() && host_fits).then_some((word.len(), "email"));
    }
    let end = word.find(['@', '.', '+', '-']).unwrap_or(word.len());
    let (_, digits) = word[..end].rsplit_once('_')?;
    let is_id = digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_id.then_some((end, "id"))
}

/// A noun and the number of a case: where the noun ends, where the number begins and where it ends.
struct Case {
    noun: usize,
    value: usize,
    end: usize,
}

/// A noun with its number at the beginning of the text, as `order number: 5918442` and `Case #A-12-77`.
fn numbered(text: &str) -> Option<Case> {
    let noun = text.find(|c: char| !c.is_ascii_alphabetic())?;
    let is_noun = |known: &str| known.eq_ignore_ascii_case(&text[..noun]);
    if !NUMBERED.iter().copied().any(is_noun) {
        return None;
    }
    let mut rest = text[noun..].trim_start_matches([' ', ':']);
    for label in ["number", "no.", "no", "id", "ID", "Id", "code"] {
        let after = rest.strip_prefix(label);
        if let Some(after) = after.filter(|after| after.starts_with([' ', ':', '#'])) {
            rest = after.trim_start_matches([' ', ':']);
            break;
        }
    }
    if rest.len() == text.len() - noun {
        return None;
    }
    let value = text.len() - rest.len();
    let bare = rest.strip_prefix('#').unwrap_or(rest);
    let length = bare
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')))
        .unwrap_or(bare.len());
    let code = bare[..length].trim_end_matches('-');
    let end = text.len() - bare.len() + code.len();
    let digits = code.bytes().filter(u8::is_ascii_digit).count();
    let letters = code.bytes().filter(u8::is_ascii_alphabetic).count();
    let is_decimal = bare[code.len()..].starts_with(['.', ',', ':'])
        && bare[code.len() + 1..].starts_with(|c: char| c.is_ascii_digit());
    // A date and a count are no number of a case.
    let parts: Vec<usize> = code.split('-').map(str::len).collect();
    let is_date = letters == 0 && matches!(parts[..], [4, 1..=2, 1..=2] | [1..=2, 1..=2, 4]);
    let is_code = code.len() >= 4 && digits > 0 && (letters > 0 || digits >= 5);
    let marked = bare.len() < rest.len() && digits > 0;
    ((is_code || marked) && !is_date && !is_decimal).then_some(Case { noun, value, end })
}

/// A card, phone or other long number at the beginning of the text: its length and role.
fn number(text: &str) -> Option<(usize, &'static str)> {
    const LONGEST: usize = 32;
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '(')) {
        return None;
    }
    let mut groups: Vec<String> = vec![String::new()];
    let mut end = 0;
    let mut first_end = 0;
    for (at, c) in text.char_indices().take(LONGEST) {
        match c {
            '0'..='9' => {
                if let Some(group) = groups.last_mut() {
                    group.push(c);
                }
                end = at + 1;
                if groups.len() == 1 {
                    first_end = end;
                }
            }
            '+' | '(' if at == 0 => {}
            ' ' | '-' | '.' | '(' | ')' if groups.last().is_some_and(|group| !group.is_empty()) => {
                groups.push(String::new());
            }
            ' ' | '(' if groups.len() > 1 => {}
            _ => break,
        }
    }
    let next = text[end..].chars().next();
    if end == 0 || next.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    groups.retain(|group| !group.is_empty());
    let lengths: Vec<usize> = groups.iter().map(String::len).collect();
    let digits = groups.concat();
    let spaced = text[..end].contains(['-', '.', '(']);
    if (13..=19).contains(&digits.len()) && is_card(&digits) {
        Some((end, "card_number"))
    } else if text.starts_with('+') && (7..=15).contains(&digits.len())
        || (lengths == [3, 3, 4] && spaced)
    {
        Some((end, "phone"))
    } else if lengths.first().is_some_and(|length| *length >= 7) && !text.starts_with(['+', '(']) {
        Some((first_end, "number"))
    } else {
        None
    }
}

/// Whether the digits end in the check digit of a card.
fn is_card(digits: &str) -> bool {
    let doubled = |at: usize, digit: u32| match digit * 2 {
        _ if at.is_multiple_of(2) => digit,
        twice if twice > 9 => twice - 9,
        twice => twice,
    };
    let digits = digits.bytes().rev().enumerate();
    let sum: u32 = digits
        .map(|(at, byte)| doubled(at, u32::from(byte.saturating_sub(b'0'))))
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_known_by_their_form() {
        for (text, expected) in [
            ("mail mia.li3818@example.com.", "mail email."),
            (
                "pay(id=credit_card_4421486, by=mia_li_3668)",
                "pay(id=id, by=id)",
            ),
            (
                "card 4111 1111 1111 1111, or 4111-1111-1111-1111",
                "card card_number, or card_number",
            ),
            (
                "call +1 (555) 123-4567 or (555) 123-4567",
                "call phone or phone",
            ),
            (
                "use certificate 7504069: $250",
                "use certificate certificate_id: $250",
            ),
            ("use code 7504069: $250", "use code number: $250"),
            (
                "Cancel order #W5918442, then reservation JMO1MG.",
                "Cancel order order_id, then reservation reservation_id.",
            ),
            (
                "Ticket no. 77215, Case #12 and account number: 00-4421-7",
                "Ticket no. ticket_id, Case case_id and account number: account_id",
            ),
        ] {
            assert_eq!(replace(text), expected, "{text}");
        }
    }

    #[test]
    fn amounts_dates_codes_and_names_stay() {
        for text in [
            "total price is 305, but paid 255.50 on 2024-05-20 15:00:00",
            "error[E0382] in HAT136 at v1.2.3, utf_8, step_12, x@y, a_b_123",
            "0.12345678 or 100 200 3000 or 123456",
            "订单 12 个 é+1",
            "order 1000 units, in case 2024-05-20 fails, payment 12345.50, user story, order 5 of 6",
            "account type A1, ticket to HAT136, customer, return Ok(5), case X2: return x1 + 10",
        ] {
            assert_eq!(replace(text), text);
        }
    }
}
