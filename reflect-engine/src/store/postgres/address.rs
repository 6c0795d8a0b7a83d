//! Addresses of databases, and how to connect to them.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{self, CryptoProvider};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::error::{Error, Result};

/// The address of a database.
pub(super) struct Address {
    pub(super) config: Config,
    /// Without the password.
    shown: String,
    trust: Trust,
}

/// Which certificate of a server is accepted.
enum Trust {
    /// Any: the connection is encrypted where the server can.
    Any,
    /// One for the host that the system, or this file, vouches for.
    Verified(Option<String>),
}

impl Address {
    /// Parses `postgres://user:password@host:5432/database?sslmode=verify-full`.
    pub(super) fn parse(address: &str) -> Result<Self> {
        let refused = |problem: String| Error::Inaccessible {
            path: "the address of the database".into(),
            problem,
        };
        let form = "write postgres://user:password@host:5432/database";
        if !["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| address.starts_with(scheme))
        {
            return Err(refused(format!(
                "it does not begin with postgres://: {form}"
            )));
        }
        let (base, query) = address.split_once('?').unwrap_or((address, ""));
        let mut mode = "prefer";
        let mut root = None;
        let mut kept = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", value)) => mode = value,
                Some(("sslrootcert", value)) => root = Some(decoded(value)),
                _ => kept.push(parameter),
            }
        }
        let address = match kept.as_slice() {
            [] => base.to_owned(),
            kept => format!("{base}?{}", kept.join("&")),
        };
        // The parser's own message may show a part of the address, and so of the password.
        let mut config = Config::from_str(&address)
            .map_err(|_| refused(format!("it cannot be read: {form}")))?;
        let Some(database) = config.get_dbname().map(str::to_owned) else {
            return Err(refused(format!("it names no database: {form}")));
        };
        let (ssl, trust) = match mode {
            "disable" | "prefer" if root.is_some() => {
                let problem =
                    "sslrootcert checks nothing with this sslmode: add sslmode=verify-full";
                return Err(refused(problem.to_owned()));
            }
            "disable" => (SslMode::Disable, Trust::Any),
            "prefer" => (SslMode::Prefer, Trust::Any),
            "require" if root.is_none() => (SslMode::Require, Trust::Any),
            "require" | "verify-ca" | "verify-full" => (SslMode::Require, Trust::Verified(root)),
            _ => {
                let problem = "sslmode must be disable, prefer, require, verify-ca or verify-full";
                return Err(refused(problem.to_owned()));
            }
        };
        config
            .ssl_mode(ssl)
            .connect_timeout(Duration::from_secs(5))
            .tcp_user_timeout(Duration::from_secs(10))
            .keepalives_idle(Duration::from_secs(30));
        if config.get_application_name().is_none() {
            config.application_name("reflect");
        }
        let shown = shown(&config, &database);
        Ok(Self {
            config,
            shown,
            trust,
        })
    }

    /// The address without the password.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    pub(super) fn tls(&self) -> Result<MakeRustlsConnect> {
        let provider = Arc::new(crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::internal("TLS is not available", error))?;
        let config = match &self.trust {
            Trust::Any => config
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Unverified(provider)))
                .with_no_client_auth(),
            Trust::Verified(file) => config
                .with_root_certificates(self.roots(file.as_deref())?)
                .with_no_client_auth(),
        };
        Ok(MakeRustlsConnect::new(config))
    }

    fn roots(&self, file: Option<&str>) -> Result<RootCertStore> {
        let refused = |problem| Error::Inaccessible {
            path: self.shown.clone().into(),
            problem,
        };
        let found = match file {
            Some(file) => CertificateDer::pem_file_iter(file)
                .and_then(Iterator::collect)
                .map_err(|error| refused(format!("sslrootcert={file} cannot be read: {error}")))?,
            None => rustls_native_certs::load_native_certs().certs,
        };
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(found);
        if roots.is_empty() {
            let problem = "there is no root certificate to verify the server by: name a file with \
                 sslrootcert";
            return Err(refused(problem.to_owned()));
        }
        Ok(roots)
    }
}

fn shown(config: &Config, database: &str) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        #[cfg(unix)]
        Some(Host::Unix(path)) => path.display().to_string(),
        None => String::new(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    match config.get_user() {
        Some(user) => format!("postgres://{user}@{host}:{port}/{database}"),
        None => format!("postgres://{host}:{port}/{database}"),
    }
}

/// A value of a query string.
fn decoded(value: &str) -> String {
    let bytes = value.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = value.get(at + 1..at + 3).filter(|_| byte == b'%');
        if let Some(decoded) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            plain.push(decoded);
            at += 3;
        } else {
            plain.push(byte);
            at += 1;
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// Encrypts without knowing to whom, as `sslmode=require` does.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, tokio_rustls::rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, tokio_rustls::rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, tokio_rustls::rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(address: &str) -> String {
        match Address::parse(address) {
            Ok(_) => panic!("{address} is accepted"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        let address = Address::parse("postgres://me:secret@db.example/reflect").unwrap();
        assert_eq!(address.shown(), "postgres://me@db.example:5432/reflect");
    }

    #[test]
    fn an_unusable_address_is_refused_without_its_password() {
        for (address, problem) in [
            (
                "mysql://me:secret@host/db",
                "does not begin with postgres://",
            ),
            ("postgres://me:secret@host", "names no database"),
            ("postgres://me:secret@host:port/db", "cannot be read"),
            (
                "postgres://me:secret@host/db?sslmode=maybe",
                "sslmode must be",
            ),
            (
                "postgres://me:secret@host/db?sslrootcert=/ca.pem",
                "add sslmode=verify-full",
            ),
        ] {
            let refusal = refusal(address);
            assert!(refusal.contains(problem), "{refusal}");
            assert!(!refusal.contains("secret"), "{refusal}");
        }
    }

    #[test]
    fn a_file_of_roots_that_is_missing_is_named() {
        let address = "postgres://me@host/db?sslmode=verify-full&sslrootcert=/no%20such.pem";
        let refused = Address::parse(address).unwrap().tls().err().unwrap();
        assert!(refused.to_string().contains("/no such.pem"), "{refused}");
    }
}
