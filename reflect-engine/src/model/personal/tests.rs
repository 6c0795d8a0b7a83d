//! What shows by its form, in any text.

use proptest::prelude::*;

use super::roles_by_form;

#[test]
fn values_are_known_by_their_form() {
    for (text, expected) in [
        ("mail mia.li3818@example.com.", "mail email."),
        ("(mia+x@sub.163.com)", "(email)"),
        ("mia@x.org-please", "email-please"),
        (
            "pay(id=credit_card_4421486, by=mia_li_3668)",
            "pay(id, by=id)",
        ),
        (
            "card 4111 1111 1111 1111, or 4111-1111-1111-1111",
            "card card_number, or card_number",
        ),
        ("4111 1111 1111 1111 12/27", "card_number 12/27"),
        ("4111 1111 1111 1111 123", "card_number 123"),
        (
            "3782 8224 6310 005, 2200 1234 5678 9019",
            "card_number, card_number",
        ),
        ("4111111111111111 2nd try", "card_number 2nd try"),
        ("amex 3782 822463 10005 x", "amex card_number x"),
        (
            "call +1 (555) 123-4567 or (555) 123-4567",
            "call phone or phone",
        ),
        ("555-123-4567 5pm", "phone 5pm"),
        ("+1 555 123 4567 3pm", "phone 3pm"),
        ("+1 555 123 4567 20 times", "phone 20 times"),
        ("+44 20 7946 0958 2 times", "phone 2 times"),
        ("call 555-123-4567 2 times", "call phone 2 times"),
        ("1-555-123-4567", "phone"),
        ("call me at 555 123 4567", "call me at phone"),
        ("mobile: 555 123 4567 now", "mobile: phone now"),
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
        (
            "my account number is 55512, order #W591",
            "my account number is account_id, order order_id",
        ),
        ("pay(order_id=55555, amount=20)", "pay(order_id, amount=20)"),
        (
            "order_id: 55555, \"userId\": \"a1b2c3d4\"",
            "order_id: order_id, \"userId\": \"userId\"",
        ),
        ("Order ID: 55555", "Order ID: order_id"),
        (
            "refund #10000, refund W10000",
            "refund refund_id, refund refund_id",
        ),
    ] {
        assert_eq!(roles_by_form(text), expected, "{text}");
    }
}

#[test]
fn what_only_resembles_a_value_stays() {
    for text in [
        "total price is 305, but paid 255.50 on 2024-05-20 15:00:00",
        "error[E0382] in HAT136 at v1.2.3, utf_8, step_12, x@y, a_b_123",
        "0.12345678 or 100 200 3000 or 123456 or 555 123 4567",
        "call 100 200 3000 times, $10000000, 1000 2000 3000 4000, 3000 4000 5000 6000",
        "订单 12 个 é+1",
        "order 1000 units, in case 2024-05-20 fails, payment 12345.50, user story, order 5 of 6",
        "account type A1, ticket to HAT136, customer, return Ok(5), case X2: return x1 + 10",
        "lodash@4.17.21, actions/checkout@v4.1, react@18.3.0-canary.beta, y = a@b.T",
        "git@github.com:org/repo.git, me@host.org:project/x.git",
        "refund 100USD, refund 10000 dollars, refund 10000 to the card, payment 12345",
        "policy 30-day, subscription 12-month, appointment 10am, order 66th, ticket 500ms",
        "ticket utf8, account sha256, case SHA256, user i18n, return 0x1F2A, ticket 1920x1080",
        "return Float32Array, return Vec3::new, return JSON5, in case E0382, case \"H264\": application Neo4j",
        "order_id: u64, user_id: int32, id: 404, id = None, order.id == 5",
        "order 12000 items, order 12,500 units, order 15:30:00, order 10000%",
    ] {
        assert_eq!(roles_by_form(text), text);
    }
}

#[test]
fn repeated_pieces_of_values_grow_at_most_threefold() {
    for unit in [
        "-",
        "@",
        "a-a-a",
        "1 1 1 1 ",
        "1-",
        "a@",
        "+1 ",
        "order ",
        "order: ",
        "a@b.",
        "(1",
        "#",
        "a_",
        "order a-",
        "1.",
        "id=",
        "a.b+",
        "call 555 ",
        "a@b.co:",
        "number number ",
        "1234567-",
        "555 123 4567-",
        "a ",
        " ",
        "is ",
    ] {
        let text = unit.repeat(128 * 1024 / unit.len());
        let replaced = roles_by_form(&text);
        assert!(replaced.len() <= 3 * text.len(), "{unit}");
    }
}

/// Pieces that make values, and what joins them.
fn piece() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "order",
        "case",
        "refund",
        "user",
        "number",
        "no.",
        "id",
        "is",
        "order_id",
        "userId",
        "call",
        "phone",
        "git",
        "4111 1111 1111 1111",
        "555-123-4567",
        "555 123 4567",
        "(555) 123-4567",
        "+1 555 123 4567",
        "+49 30 123456",
        "12345",
        "7654321",
        "mia_li_3668",
        "W591",
        "mia@x.com",
        "x.org",
        "com",
        "de",
        "b",
        "v4",
        "30-day",
        "dollars",
        "@",
        "@",
        "@",
        ".",
        "-",
        "+",
        "#",
        "(",
        ")",
        ":",
        ": ",
        "=",
        ",",
        "/",
        "_",
        "\"",
        "$",
        " ",
        " ",
        " ",
        "\n",
        "é",
    ]);
    prop_oneof![9 => known.prop_map(str::to_owned), 1 => "[a-zA-Z0-9]{1,3}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn what_is_replaced_has_nothing_to_replace(pieces in prop::collection::vec(piece(), 1..14)) {
        let once = roles_by_form(&pieces.concat());
        prop_assert_eq!(roles_by_form(&once), once);
    }

    #[test]
    fn any_text_is_replaced_once(text in any::<String>()) {
        let once = roles_by_form(&text);
        prop_assert_eq!(roles_by_form(&once), once);
    }
}
