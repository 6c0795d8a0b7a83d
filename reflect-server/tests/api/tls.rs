//! HTTPS.

use std::path::{Path, PathBuf};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use reflect_server::{Settings, Tls, TlsError};
use tokio::io::AsyncReadExt as _;

use super::support::{Service, at};

/// A certificate for 127.0.0.1, its key, and their files.
struct Files {
    made: CertifiedKey<rcgen::KeyPair>,
    certificate: PathBuf,
    key: PathBuf,
}

impl Files {
    fn write(folder: &Path, name: &str) -> Self {
        let made = generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let (certificate, key) = (folder.join(name), folder.join(format!("{name}.key")));
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        Self {
            made,
            certificate,
            key,
        }
    }

    /// A client that trusts only this certificate.
    fn client(&self) -> reqwest::Client {
        let root = reqwest::Certificate::from_pem(self.made.cert.pem().as_bytes()).unwrap();
        let builder = reqwest::Client::builder().tls_certs_only([root]);
        builder.build().unwrap()
    }
}

async fn serving(tls: Tls) -> Service {
    let settings = Settings {
        tls: Some(tls),
        ..Settings::default()
    };
    Service::with(settings).await
}

#[tokio::test]
async fn clients_that_trust_the_certificate_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::write(folder.path(), "a.pem");
    let service = serving(Tls::load(&files.certificate, &files.key).unwrap()).await;
    let live = service.listen().await;
    let url = format!("{}{}", live.url, at("/traces"));
    assert!(url.starts_with("https://"));
    let listed = files.client().get(&url).bearer_auth(&service.master);
    assert_eq!(listed.send().await.unwrap().status(), 200);

    let other = Files::write(folder.path(), "b.pem");
    assert!(other.client().get(&url).send().await.is_err());
    let plain = url.replace("https://", "http://");
    assert!(files.client().get(plain).send().await.is_err());
}

#[tokio::test]
async fn client_that_is_silent_during_the_handshake_delays_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::write(folder.path(), "a.pem");
    let service = serving(Tls::load(&files.certificate, &files.key).unwrap()).await;
    let live = service.listen().await;
    let address = live.url.strip_prefix("https://").unwrap();
    let mut silent = tokio::net::TcpStream::connect(address).await.unwrap();
    let health = files.client().get(format!("{}/health", live.url));
    assert_eq!(health.send().await.unwrap().status(), 200);
    // It is disconnected, without waiting for it here.
    tokio::time::pause();
    let mut received = Vec::new();
    let _ = silent.read_to_end(&mut received).await;
    assert!(received.is_empty());
}

#[tokio::test]
async fn renewed_certificate_is_served_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::write(folder.path(), "a.pem");
    let service = serving(Tls::load(&files.certificate, &files.key).unwrap()).await;
    let live = service.listen().await;
    let health = format!("{}/health", live.url);
    assert_eq!(
        files.client().get(&health).send().await.unwrap().status(),
        200
    );

    let renewed = Files::write(folder.path(), "a.pem");
    // A later time, whatever the resolution of the file system.
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(10);
    for path in [&renewed.certificate, &renewed.key] {
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(later).unwrap();
    }
    // The clock runs on by itself until the server looks again.
    let begun = tokio::time::Instant::now();
    tokio::time::pause();
    while begun.elapsed() < std::time::Duration::from_secs(61) {
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
    }
    tokio::time::resume();
    while renewed.client().get(&health).send().await.is_err() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(120));
    }
    assert!(files.client().get(&health).send().await.is_err());
}

#[test]
fn unusable_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a.pem", "b.pem"].map(|name| Files::write(folder.path(), name));
    let missing = Tls::load(folder.path().join("none"), &a.key).unwrap_err();
    assert!(
        missing.to_string().contains("none: No such file"),
        "{missing}"
    );
    let mismatch = Tls::load(&a.certificate, &b.key).unwrap_err();
    assert!(matches!(mismatch, TlsError::Mismatch { .. }), "{mismatch}");
    assert!(mismatch.to_string().contains("b.pem.key"), "{mismatch}");
    let swapped = Tls::load(&a.key, &a.certificate).unwrap_err();
    assert!(matches!(swapped, TlsError::NoCertificate(_)), "{swapped}");
    let keyless = Tls::load(&a.certificate, &a.certificate).unwrap_err();
    assert!(matches!(keyless, TlsError::NoKey(_)), "{keyless}");
}
