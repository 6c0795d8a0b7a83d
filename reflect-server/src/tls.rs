//! HTTPS with a certificate and a private key in PEM files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

/// A certificate chain and its private key. Clones share it, also after a reload.
#[derive(Clone)]
pub struct Tls {
    files: Arc<Files>,
    loaded: Arc<RwLock<Loaded>>,
}

struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

#[derive(Clone)]
struct Loaded {
    config: Arc<ServerConfig>,
    /// When the files were last written.
    written: [Option<SystemTime>; 2],
}

impl Tls {
    /// Loads the certificate chain, the server's own certificate first, and the private key.
    ///
    /// This blocks: in async code, call it through `spawn_blocking`.
    pub fn load(
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Result<Self, TlsError> {
        let files = Files {
            certificate: certificate.into(),
            key: key.into(),
        };
        let loaded = files.load()?;
        Ok(Self {
            files: Arc::new(files),
            loaded: Arc::new(RwLock::new(loaded)),
        })
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.current().config.into()
    }

    /// Loads the files again if they have been written. Files that cannot be used are logged, and the
    /// earlier certificate stays.
    pub(crate) async fn reload_if_changed(&self) {
        let tls = self.clone();
        let reloaded = tokio::task::spawn_blocking(move || tls.reload()).await;
        match reloaded {
            Ok(Ok(true)) => tracing::info!("the certificate was reloaded"),
            Ok(Ok(false)) => {}
            Ok(Err(error)) => {
                tracing::error!(%error, "the new certificate cannot be used; the earlier one stays");
            }
            Err(error) => tracing::error!(%error, "the certificate was not reloaded"),
        }
    }

    /// Whether the files had changed.
    fn reload(&self) -> Result<bool, TlsError> {
        if self.files.written() == self.current().written {
            return Ok(false);
        }
        let loaded = self.files.load()?;
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = loaded;
        Ok(true)
    }

    fn current(&self) -> Loaded {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        loaded.clone()
    }
}

impl Files {
    fn load(&self) -> Result<Loaded, TlsError> {
        // Before the files are read, so that a write meanwhile is noticed later.
        let written = self.written();
        let certificates = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| unreadable(&self.certificate, error))?;
        if certificates.is_empty() {
            return Err(TlsError::NoCertificate(self.certificate.clone()));
        }
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| unreadable(&self.key, error))?;
        let provider = Arc::new(ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| {
                let config = config.with_no_client_auth();
                config.with_single_cert(certificates, key)
            })
            .map_err(|error| match error {
                rustls::Error::InconsistentKeys(_) => TlsError::Mismatch {
                    certificate: self.certificate.clone(),
                    key: self.key.clone(),
                },
                error => TlsError::Unusable(error),
            })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Loaded {
            config: Arc::new(config),
            written,
        })
    }

    fn written(&self) -> [Option<SystemTime>; 2] {
        [&self.certificate, &self.key].map(|path| {
            std::fs::metadata(path)
                .and_then(|data| data.modified())
                .ok()
        })
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls")
            .field("certificate", &self.files.certificate)
            .finish_non_exhaustive()
    }
}

/// Why a certificate or key cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum TlsError {
    /// The file is missing, or must not be read.
    Io(PathBuf, std::io::Error),
    /// The file is not PEM.
    Malformed(PathBuf, pem::Error),
    /// The file has no certificate.
    NoCertificate(PathBuf),
    /// The file has no private key.
    NoKey(PathBuf),
    /// The key belongs to another certificate.
    Mismatch {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// The library refuses the certificate or the key.
    Unusable(rustls::Error),
}

fn unreadable(path: &Path, error: pem::Error) -> TlsError {
    let path = path.to_owned();
    match error {
        pem::Error::Io(error) => TlsError::Io(path, error),
        pem::Error::NoItemsFound => TlsError::NoKey(path),
        error => TlsError::Malformed(path, error),
    }
}

impl std::fmt::Display for TlsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(path, error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                let path = path.display();
                write!(
                    f,
                    "{path}: {error}: the user who runs the server must be able to read it"
                )
            }
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Malformed(path, error) => {
                write!(f, "{} is not a PEM file: {error}", path.display())
            }
            Self::NoCertificate(path) => {
                write!(f, "{} has no `BEGIN CERTIFICATE` section", path.display())
            }
            Self::NoKey(path) => write!(
                f,
                "{} has no unencrypted `BEGIN PRIVATE KEY` section",
                path.display()
            ),
            Self::Mismatch { certificate, key } => write!(
                f,
                "the key {} does not belong to the certificate {}: the server's own certificate must \
                 be the first of its file",
                key.display(),
                certificate.display()
            ),
            Self::Unusable(error) => write!(f, "the certificate or key cannot be used: {error}"),
        }
    }
}

impl std::error::Error for TlsError {}
