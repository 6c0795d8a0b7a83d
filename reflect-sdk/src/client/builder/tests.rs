use super::*;

fn build(variables: &[(&str, &str)]) -> Result<ReflectClient> {
    ReflectClient::builder().variables(|name| {
        let found = variables.iter().find(|(key, _)| *key == name);
        found
            .map(|(_, value)| (*value).to_owned())
            .ok_or(env::VarError::NotPresent)
    })
}

#[test]
fn a_missing_or_empty_variable_is_named_with_an_example() {
    let missing = build(&[("REFLECT_PROJECT_ID", "p")])
        .unwrap_err()
        .to_string();
    assert_eq!(
        missing,
        "REFLECT_API_KEY is not set: export REFLECT_API_KEY=rf_live_…"
    );
    let empty = build(&[("REFLECT_API_KEY", "k"), ("REFLECT_PROJECT_ID", " ")]).unwrap_err();
    assert!(
        empty
            .to_string()
            .starts_with("REFLECT_PROJECT_ID is not set"),
        "{empty}"
    );
}

#[test]
fn the_environment_makes_a_client() {
    let client = build(&[
        ("REFLECT_API_KEY", "k"),
        ("REFLECT_PROJECT_ID", "support"),
        ("REFLECT_BASE_URL", "http://localhost:8000/"),
    ]);
    assert_eq!(client.unwrap().project(), &ProjectId::from("support"));
}

#[test]
fn a_malformed_address_is_refused_with_an_example() {
    for address in [
        "",
        "localhost:8000",
        "ftp://host",
        "http://user:pw@host",
        "http://h/?a=b",
    ] {
        let error = ReflectClient::builder()
            .http(address, "k")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("http://localhost:8000"),
            "{address}: {error}"
        );
        assert!(!error.contains("pw"), "{error}");
    }
}

#[test]
fn a_key_that_no_header_can_carry_is_refused_without_being_shown() {
    for key in ["", "  ", "rf_live_a\nb", "rf_live_\u{1F511}"] {
        let error = ReflectClient::builder().http("http://h", key).unwrap_err();
        assert!(matches!(error, Error::Config(_)), "{error}");
        assert!(
            !format!("{error} {error:?}").contains("rf_live_"),
            "{error}"
        );
    }
}

#[test]
fn a_project_that_would_leave_its_path_is_refused() {
    let error = ReflectClient::builder()
        .project("..")
        .http("http://h", "k")
        .unwrap_err();
    assert!(error.to_string().contains("project_id"), "{error}");
}

#[test]
fn no_secret_is_ever_printed() {
    let builder = ReflectClient::builder().project("p");
    let client = builder
        .http("http://localhost:8000", "rf_live_abc_topsecret")
        .unwrap();
    let shown = format!(
        "{client:?} {:?} {:?}",
        client.blocking(),
        client.get_trace("x")
    );
    assert!(shown.contains("localhost:8000"), "{shown}");
    assert!(
        !shown.contains("topsecret") && !shown.contains("rf_live"),
        "{shown}"
    );
}
