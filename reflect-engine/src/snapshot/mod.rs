//! What was computed from a project's memories, as bytes, so that a restart does not compute it again.
//!
//! The bytes are of one version of Reflect, one embedder and certain settings of the project alone: any other
//! [refuses](Stamp) them. They are a cache. Whoever cannot use them reads the memories again.

mod parts;

use std::fmt::Debug;
use std::io::{self, Read, Write};

use borsh::{BorshDeserialize, BorshSerialize};

pub(crate) use parts::{Cutter, Joiner};

/// To raise with every change of what is saved, and of what the learned ranking or the index compute: a snapshot is
/// used only by what would have computed the same.
const FORMAT: u32 = 3;

/// What a snapshot depends on besides the memories: the program, the machine, and settings.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stamp(String);

impl Stamp {
    /// The stamp of this program with these settings.
    pub(crate) fn new(settings: &impl Debug) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let endian = if cfg!(target_endian = "big") {
            "big"
        } else {
            "little"
        };
        let bits = usize::BITS;
        Self(format!("{FORMAT} {version} {bits} {endian} {settings:?}"))
    }

    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        self.0.serialize(out)
    }

    /// Fails unless the snapshot has this stamp.
    pub(crate) fn check(&self, input: &mut impl Read) -> io::Result<()> {
        let found = String::deserialize_reader(input)?;
        if found == self.0 {
            return Ok(());
        }
        let message = format!("it was written for {found}, not for {}", self.0);
        Err(io::Error::new(io::ErrorKind::InvalidData, message))
    }
}

/// Saves and loads a struct field by field. Fields that are not saved get these values.
macro_rules! saved {
    ($type:ty { $($field:ident),+ $(,)? } $(unsaved { $($unsaved:ident: $value:expr),+ $(,)? })?) => {
        impl borsh::BorshSerialize for $type {
            fn serialize<W: std::io::Write>(&self, out: &mut W) -> std::io::Result<()> {
                $(borsh::BorshSerialize::serialize(&self.$field, out)?;)+
                Ok(())
            }
        }

        impl borsh::BorshDeserialize for $type {
            fn deserialize_reader<R: std::io::Read>(input: &mut R) -> std::io::Result<Self> {
                $(let $field = borsh::BorshDeserialize::deserialize_reader(input)?;)+
                Ok(Self { $($field,)+ $($($unsaved: $value,)+)? })
            }
        }
    };
}
pub(crate) use saved;
