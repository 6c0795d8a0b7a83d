use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use reflect_engine::clock::Manual;
use reflect_engine::model::{Embedder, ReflectionWriter};
use reflect_engine::store::{Sqlite, Store};
use reflect_engine::{Builder, Engine};

use super::{FlakyEmbedder, ScriptedReflector};

/// Runs each test on a database in memory and on a file.
#[macro_export]
macro_rules! on_every_store {
    ($($name:ident),+ $(,)?) => {
        mod in_memory {
            $( #[tokio::test] async fn $name() { super::$name(&$crate::common::Home::in_memory()).await; } )+
        }
        mod on_sqlite {
            $( #[tokio::test] async fn $name() { super::$name(&$crate::common::Home::on_sqlite()).await; } )+
        }
    };
}

/// A store, the models that work on it, and a clock.
pub(crate) struct Home {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Manual,
    pub(crate) reflector: Arc<ScriptedReflector>,
    pub(crate) embedder: Arc<FlakyEmbedder>,
    folder: Option<Arc<tempfile::TempDir>>,
}

impl Home {
    pub(crate) fn in_memory() -> Self {
        Self::on(Arc::new(Sqlite::in_memory().unwrap()), None)
    }

    pub(crate) fn on_sqlite() -> Self {
        Self::in_folder(Arc::new(tempfile::tempdir().unwrap()))
    }

    /// The same store and clock, with models of its own.
    pub(crate) fn beside(&self) -> Self {
        Self {
            clock: self.clock.clone(),
            ..Self::on(Arc::clone(&self.store), self.folder.clone())
        }
    }

    /// The same file and clock after the store was closed, with models of its own.
    pub(crate) fn reopened(&self) -> Self {
        let folder = self.folder.as_ref().expect("a home on a file");
        Self {
            clock: self.clock.clone(),
            ..Self::in_folder(Arc::clone(folder))
        }
    }

    fn in_folder(folder: Arc<tempfile::TempDir>) -> Self {
        let store = Sqlite::open(folder.path().join("reflect.db")).unwrap();
        Self::on(Arc::new(store), Some(folder))
    }

    fn on(store: Arc<dyn Store>, folder: Option<Arc<tempfile::TempDir>>) -> Self {
        Self {
            store,
            clock: Manual::at(Timestamp::from_second(1_700_000_000).unwrap()),
            reflector: Arc::default(),
            embedder: Arc::default(),
            folder,
        }
    }

    /// The file of the store.
    pub(crate) fn file(&self) -> PathBuf {
        let folder = self.folder.as_ref().expect("a home on a file");
        folder.path().join("reflect.db")
    }

    pub(crate) fn builder(&self) -> Builder {
        let Self {
            store,
            clock,
            reflector,
            embedder,
            ..
        } = self;
        Engine::builder()
            .store(Arc::clone(store))
            .clock(Arc::new(clock.clone()))
            .reflector(Arc::clone(reflector) as Arc<dyn ReflectionWriter>)
            .embedder(Arc::clone(embedder) as Arc<dyn Embedder>)
    }

    pub(crate) fn engine(&self) -> Engine {
        self.builder().start().unwrap()
    }
}
