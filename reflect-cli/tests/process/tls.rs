//! HTTPS with the flags of `serve`.

use std::path::{Path, PathBuf};

use super::support::{KEY, Server, errors, reflect};

/// The files of a certificate for 127.0.0.1 and of its key.
fn certificate(folder: &Path, name: &str) -> [PathBuf; 2] {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let paths = [folder.join(name), folder.join(format!("{name}.key"))];
    std::fs::write(&paths[0], made.cert.pem()).unwrap();
    std::fs::write(&paths[1], made.signing_key.serialize_pem()).unwrap();
    paths
}

#[test]
fn command_trusts_a_private_certificate_by_ssl_cert_file() {
    let folder = tempfile::tempdir().unwrap();
    let [certificate, key] = certificate(folder.path(), "a.pem");
    let arguments = [
        "--master-key",
        KEY,
        "--tls-cert",
        certificate.to_str().unwrap(),
        "--tls-key",
        key.to_str().unwrap(),
    ];
    let server = Server::start(&folder.path().join("reflect.db"), &arguments);
    assert!(
        server.url.starts_with("https://127.0.0.1:"),
        "{}",
        server.url
    );
    let list = || {
        let mut command = reflect();
        command.args(["traces", "--url", &server.url]);
        command.env("REFLECT_API_KEY", KEY);
        command
    };
    let trusting = list().env("SSL_CERT_FILE", &certificate).output().unwrap();
    assert!(trusting.status.success(), "{}", errors(&trusting));
    let strict = list().env_remove("SSL_CERT_FILE").output().unwrap();
    assert_eq!(strict.status.code(), Some(5), "{strict:?}");
    assert!(
        errors(&strict).contains("SSL_CERT_FILE"),
        "{}",
        errors(&strict)
    );
}

#[test]
fn unusable_certificates_are_usage_errors() {
    let folder = tempfile::tempdir().unwrap();
    let [a, a_key] = certificate(folder.path(), "a.pem");
    let [_, b_key] = certificate(folder.path(), "b.pem");
    let none = folder.path().join("none.pem");
    let (cert, key) = ("--tls-cert", "--tls-key");
    for (arguments, named) in [
        (vec![(cert, &a)], "--tls-key"),
        (vec![(key, &a_key)], "--tls-cert"),
        (vec![(cert, &none), (key, &a_key)], "none.pem"),
        (vec![(cert, &a), (key, &b_key)], "does not belong"),
        (vec![(cert, &a), (key, &a)], "PRIVATE KEY"),
    ] {
        let mut command = reflect();
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(folder.path().join("reflect.db"));
        for (flag, path) in arguments {
            command.arg(flag).arg(path);
        }
        let refused = command.output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(errors(&refused).contains(named), "{}", errors(&refused));
    }
    assert!(!folder.path().join("reflect.db").exists());
}

#[test]
fn plain_http_for_other_machines_is_warned_about() {
    let folder = tempfile::tempdir().unwrap();
    // A folder is no database: the server ends at once.
    let said = |listen: &str, more: &[&str]| {
        let mut command = reflect();
        command.args(["serve", "--listen", listen, "--data"]);
        let ended = command.arg(folder.path()).args(more).output().unwrap();
        assert!(!ended.status.success(), "{ended:?}");
        errors(&ended)
    };
    let warned = said("0.0.0.0:0", &[]);
    assert!(
        warned.contains("unencrypted") && warned.contains("--tls-cert"),
        "{warned}"
    );
    for quiet in [
        said("127.0.0.1:0", &[]),
        said("0.0.0.0:0", &["--trusted-proxy", "10.0.0.1"]),
    ] {
        assert!(!quiet.contains("unencrypted"), "{quiet}");
    }
}
