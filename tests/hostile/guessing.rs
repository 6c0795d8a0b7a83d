//! Guessed keys and tokens.

use std::process::Stdio;

use super::bank::Bank;
use super::support::{Server, errors, reflect};

#[test]
fn guesses_are_slowed_and_a_valid_key_is_not() {
    let bank = Bank::open(&[]);
    let http = reqwest::Client::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let url = format!("{}/v1/projects/support/traces", bank.server.url);
    let mut evaluated = 0;
    for n in 0..1_000 {
        let guess = format!("rf_live_guess{n}_{:032x}", n * 7_919);
        let answer = runtime.block_on(http.get(&url).bearer_auth(guess).send());
        match answer.unwrap().status().as_u16() {
            401 => evaluated += 1,
            429 => {}
            other => panic!("{other}"),
        }
    }
    assert!(evaluated < 50, "{evaluated} guesses were evaluated");
    assert!(bank.owner().list_traces().call().is_ok());
}

#[test]
fn a_secret_that_can_be_guessed_is_refused_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let repeated = "ab".repeat(30);
    for (flag, secret) in [
        ("--bootstrap-token", "x"),
        ("--master-key", "a"),
        ("--master-key", &repeated),
    ] {
        let refused = reflect()
            .args(["serve", "--listen", "127.0.0.1:0", flag, secret, "--data"])
            .arg(folder.path().join("reflect.db"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(refused.status.code(), Some(2), "{flag} {secret}");
        let advice = errors(&refused);
        assert!(advice.contains("reflect keys generate"), "{advice}");
        assert!(!advice.contains(&repeated), "{advice}");
    }
    let generated = reflect().args(["keys", "generate"]).output().unwrap();
    let token = String::from_utf8(generated.stdout).unwrap();
    let data = folder.path().join("reflect.db");
    Server::start(&data, &["--master-key", token.trim()]);
}
