//! Failures inside a transaction, which knows neither its driver nor its database.

use std::error::Error as StdError;

use crate::error::Error;

/// A failure inside a transaction.
#[derive(Debug)]
pub(in crate::store) enum Fault {
    /// The database failed or cannot be reached: an error of the driver, which knows what it means.
    Database(Box<dyn StdError + Send + Sync>),
    /// A stored value cannot be read.
    Data(String),
    /// Any other error.
    Plain(Error),
}

impl Fault {
    /// A failure of the database.
    pub(in crate::store) fn database(error: impl StdError + Send + Sync + 'static) -> Self {
        Self::Database(Box::new(error))
    }

    /// The driver's error, if it is one.
    #[cfg(feature = "postgres")]
    pub(in crate::store) fn driver<E: StdError + 'static>(&self) -> Option<&E> {
        match self {
            Self::Database(error) => error.downcast_ref(),
            _ => None,
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Plain(error)
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self::Data(format!("a stored value is not readable JSON: {error}"))
    }
}
