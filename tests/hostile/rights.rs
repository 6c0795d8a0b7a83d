//! Keys that reach for more than they were given.

use reflect_sdk::types::Scope;

use super::bank::Bank;

#[test]
fn a_key_neither_makes_nor_revokes_a_stronger_one() {
    let bank = Bank::open(&[]);
    let strong = bank.key(Scope::KNOWN);
    let weak = bank.key(&[Scope::KeyAdmin, Scope::TraceRead]);
    let admin = bank.client(&weak.text).admin();
    let revoked = admin.revoke_api_key(strong.id.as_str()).call();
    assert_eq!(revoked.unwrap_err().status(), Some(403));
    let made = admin.create_api_key("more").scopes([Scope::ProjectAdmin]);
    assert_eq!(made.call().unwrap_err().status(), Some(403));
    assert!(bank.client(&strong.text).list_traces().call().is_ok());
}

#[test]
fn only_an_administrator_undoes() {
    let bank = Bank::open(&[]);
    bank.good(1);
    let before = bank.taught();
    let scopes = [Scope::TraceWrite, Scope::ReviewWrite, Scope::TraceAdmin];
    let key = bank.key(&scopes);
    let admin = bank.client(&key.text).admin();
    let undone = admin.undo().since("2000-01-01T00:00:00Z").call();
    assert_eq!(undone.unwrap_err().status(), Some(403));
    assert_eq!(bank.taught(), before);
}
