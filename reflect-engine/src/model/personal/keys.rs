//! What the keys of JSON say about the values under them.

/// Whether a key names an identifier.
pub(super) fn is_id(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let is_camel = key.ends_with("Id")
        || key
            .strip_suffix("ID")
            .is_some_and(|rest| rest.ends_with(|c: char| c.is_ascii_lowercase()));
    lower == "id" || lower.ends_with("_id") || lower.ends_with("_ids") || is_camel
}

/// The role of a value under a key: the key as one word, unless its text may do harm in a memory.
pub(super) fn role(key: &str) -> String {
    const LONGEST: usize = 64;
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let fits = !key.is_empty() && key.len() <= LONGEST && key.chars().all(is_part);
    if fits { key } else { "id" }.replace('-', "_")
}

/// Whether an identifier is that of a person.
pub(super) fn names_a_person(key: &str) -> bool {
    const PEOPLE: &str =
        "user customer account member guest patient employee passenger contact person client";
    let lower = key.to_ascii_lowercase();
    PEOPLE.split(' ').any(|who| lower.starts_with(who))
}

/// Whether a key names a person, or several.
pub(super) fn is_person(key: &str) -> bool {
    const PEOPLE: &str = "user customer member guest patient employee passenger contact person \
        client recipient sender attendee traveler traveller";
    let lower = key.to_ascii_lowercase();
    let one = lower.strip_suffix('s').unwrap_or(&lower);
    PEOPLE.split_whitespace().any(|who| who == one)
}

/// Whether people have what this key names, and things do not, as they have a phone and an address.
pub(super) fn is_of_people(key: &str) -> bool {
    is_among(
        key,
        "email dob dateofbirth birthdate birthday ssn passport passportnumber",
    )
}

/// Whether a key names something about a person, in snake case or camel case.
pub(super) fn is_personal(key: &str) -> bool {
    const KEYS: &str = "firstname lastname middlename fullname givenname familyname surname \
        username customername passengername guestname patientname contactname cardholder \
        cardholdername holdername recipientname sendername employeename email emailaddress phone \
        phonenumber mobile telephone address address1 address2 street streetaddress zip zipcode \
        postalcode dob dateofbirth birthdate birthday ssn passport passportnumber iban cardnumber \
        creditcard creditcardnumber lastfour last4 accountnumber";
    is_among(key, KEYS)
}

/// Whether a key is one of these, in snake case or camel case.
fn is_among(key: &str, keys: &str) -> bool {
    let bare: String = key.chars().filter(|c| *c != '_' && *c != '-').collect();
    let bare = bare.to_ascii_lowercase();
    keys.split_whitespace().any(|known| known == bare)
}

/// The role of the members of a list: `reservation_id` for `reservations`.
pub(super) fn member_id(key: &str) -> String {
    match key.strip_suffix('s').unwrap_or(key) {
        "" => "id".to_owned(),
        one => role(&format!("{one}_id")),
    }
}
