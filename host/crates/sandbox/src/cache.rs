//! Compiled code and descriptions kept between runs, each file under a keyed digest.
//!
//! Compiled code is machine code: whoever can change it runs in the host. The engine does not notice a changed byte, so
//! nothing is handed to it before the digest, under a key that never leaves the host, has been verified. A file that
//! fails is as good as absent. Losing the cache costs time and nothing else.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use assize_core::plugin::Description;
use wasmtime::Engine;
use wasmtime::component::Component;

/// Version of the file's form and of the rules that its description has passed.
const FORM: &[u8] = b"assize compiled component, form 1";

/// The largest file that is read. Code has about three times the size of its component.
const LARGEST: u64 = 1 << 30;

/// Events that are kept until somebody takes them.
const MOST_EVENTS: usize = 256;

/// What the cache did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheEvent {
    /// Code was taken from the file.
    Loaded {
        /// File.
        path: PathBuf,
    },
    /// Code was compiled and written to the file.
    Stored {
        /// File.
        path: PathBuf,
    },
    /// The file was not used; the component is compiled anew.
    Ignored {
        /// File.
        path: PathBuf,
        /// One line.
        why: String,
    },
    /// The file was not written; the next run compiles again.
    NotWritten {
        /// File.
        path: PathBuf,
        /// One line.
        why: String,
    },
}

/// One directory of compiled components.
pub(crate) struct Cache {
    dir: PathBuf,
    key: [u8; 32],
    events: Mutex<VecDeque<CacheEvent>>,
    /// Tells files in the making of one process apart.
    written: AtomicU64,
}

/// Where one component's code is, for one engine.
pub(crate) struct Place {
    /// Digest of everything that the code depends on; part of what is authenticated, so that files cannot be swapped.
    name: blake3::Hash,
    path: PathBuf,
}

/// What a file holds.
pub(crate) struct Entry {
    pub(crate) component: Component,
    pub(crate) description: Description,
}

impl Cache {
    pub(crate) fn new(dir: PathBuf, key: [u8; 32]) -> Self {
        Self { dir, key, events: Mutex::default(), written: AtomicU64::new(0) }
    }

    /// The place for a component of the digest under the engine.
    pub(crate) fn place(&self, engine: &Engine, sha256: &[u8; 32]) -> Place {
        let mut name = Blake3(blake3::Hasher::new());
        name.write(FORM);
        name.write(sha256);
        engine.precompile_compatibility_hash().hash(&mut name);
        let name = name.0.finalize();
        Place { name, path: self.dir.join(format!("{name}.compiled")) }
    }

    /// What was stored there, if it is whole and ours.
    pub(crate) fn load(&self, engine: &Engine, place: &Place) -> Option<Entry> {
        let bytes = match read_file(&place.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return self.ignored(place, &error.to_string()),
        };
        let Some((digest, body)) = bytes.split_first_chunk::<32>() else {
            return self.ignored(place, "it is too short");
        };
        if self.digest(place, body) != *digest {
            return self.ignored(place, "its digest does not match: it was changed, or written under another key");
        }
        let Some((description, code)) = split_body(body) else {
            return self.ignored(place, "its form is unknown");
        };
        // SAFETY: `deserialize` needs bytes that `serialize` of the same engine version wrote. The digest over these
        // bytes was verified just now under a key that only the host has, and only `store` writes such a digest, over
        // what `serialize` returned. `place.name`, which is part of the digest, holds the engine's compatibility hash,
        // so that another version or configuration of the engine does not get here. The verified bytes are in memory
        // and not read a second time, so nobody can change them in between.
        #[allow(unsafe_code)]
        let component = unsafe { Component::deserialize(engine, code) };
        match component {
            Ok(component) => {
                self.record(CacheEvent::Loaded { path: place.path.clone() });
                Some(Entry { component, description })
            }
            Err(error) => self.ignored(place, &error.to_string()),
        }
    }

    /// Keeps the code; a failure is an event, not an error.
    pub(crate) fn store(&self, place: &Place, component: &Component, description: &Description) {
        let written = self.write(place, component, description);
        self.record(match written {
            Ok(()) => CacheEvent::Stored { path: place.path.clone() },
            Err(why) => CacheEvent::NotWritten { path: place.path.clone(), why },
        });
    }

    fn write(&self, place: &Place, component: &Component, description: &Description) -> Result<(), String> {
        let code = component.serialize().map_err(|error| error.to_string())?;
        let description = serde_json::to_vec(description).map_err(|error| error.to_string())?;
        let length = u32::try_from(description.len()).map_err(|error| error.to_string())?;
        let body = [&length.to_le_bytes()[..], &description, &code].concat();
        let digest = self.digest(place, &body);
        make_private_dir(&self.dir).map_err(|error| error.to_string())?;
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let draft = self.dir.join(format!(".{}.{}.{number}", place.name, std::process::id()));
        // No sync: a file that a crash cut short fails its digest.
        let result = write_private(&draft, &[digest.as_bytes(), &body]).and_then(|()| fs::rename(&draft, &place.path));
        result.map_err(|error| {
            // The draft may not exist; what cannot be removed is a hidden file that nobody reads.
            let _ = fs::remove_file(&draft);
            error.to_string()
        })
    }

    fn digest(&self, place: &Place, body: &[u8]) -> blake3::Hash {
        blake3::Hasher::new_keyed(&self.key).update(place.name.as_bytes()).update(body).finalize()
    }

    /// What happened since the last time, oldest first.
    pub(crate) fn take_events(&self) -> Vec<CacheEvent> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }

    fn record(&self, event: CacheEvent) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() == MOST_EVENTS {
            events.pop_front();
        }
        events.push_back(event);
    }

    fn ignored(&self, place: &Place, why: &str) -> Option<Entry> {
        self.record(CacheEvent::Ignored { path: place.path.clone(), why: why.to_owned() });
        None
    }
}

fn split_body(body: &[u8]) -> Option<(Description, &[u8])> {
    let (length, rest) = body.split_first_chunk::<4>()?;
    let (description, code) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some((serde_json::from_slice(description).ok()?, code))
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    if size > LARGEST {
        return Err(io::Error::other("it is too large"));
    }
    bytes.reserve_exact(size as usize);
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn make_private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

fn write_private(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    parts.iter().try_for_each(|part| file.write_all(part))
}

/// Lets whatever can be hashed be hashed into a long digest.
struct Blake3(blake3::Hasher);

impl Hasher for Blake3 {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest = self.0.finalize();
        digest.as_bytes().iter().take(8).fold(0, |value, byte| value << 8 | u64::from(*byte))
    }
}
