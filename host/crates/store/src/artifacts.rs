//! Artifacts, imported reports and finished audits: JSON kept once by its digest.

use std::io::Read;

use assize_core::id::Digest;
use serde_json::json;

use crate::error::{Fault, StoreError};
use crate::sql::{self, Sql};
use crate::store::Store;

/// Effort of compression: the fastest of zstd; bodies are written in the middle of planning.
const LEVEL: i32 = 1;

/// A recorded output of an obligation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Digest of everything that it was made from.
    pub inputs: Digest,
    /// Digest of the body.
    pub digest: Digest,
    /// JSON.
    pub body: Vec<u8>,
    /// When it was recorded, milliseconds since the Unix epoch.
    pub at_ms: u64,
}

/// An artifact without its body: what staleness needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArtifactStamp {
    /// Digest of everything that it was made from.
    pub inputs: Digest,
    /// Digest of the body.
    pub digest: Digest,
    /// When it was recorded, milliseconds since the Unix epoch.
    pub at_ms: u64,
}

/// A report of another tool, as it was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Its name; importing under the same name again replaces it.
    pub source: String,
    /// Digest of the file that was imported.
    pub digest: Digest,
    /// JSON.
    pub body: Vec<u8>,
    /// When, milliseconds since the Unix epoch.
    pub at_ms: u64,
}

/// A finished audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedAudit {
    /// From 1.
    pub number: u64,
    /// JSON.
    pub summary: Vec<u8>,
    /// When, milliseconds since the Unix epoch.
    pub at_ms: u64,
}

impl Store {
    /// Records an artifact and gives the digest of its body. Writes nothing when body and inputs are as recorded, and
    /// no body that is there already.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn put_artifact(&mut self, name: &str, inputs: Digest, body: &[u8], at_ms: u64) -> Result<Digest, StoreError> {
        let digest = Digest::of(body);
        self.write("record an artifact", |sql| {
            let before = stamp(sql, name)?;
            if before.is_some_and(|before| before.inputs == inputs && before.digest == digest) {
                return Ok(digest);
            }
            keep_body(sql, digest, body)?;
            let upsert = "INSERT INTO artifacts (name, inputs, body, at_ms) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (name) DO UPDATE SET inputs = ?2, body = ?3, at_ms = ?4";
            sql.execute(upsert, (name, inputs.as_bytes(), digest.as_bytes(), sql::to_sql(at_ms)))?;
            if let Some(before) = before {
                drop_unused_body(sql, before.digest)?;
            }
            let subject = json!({ "artifact": name, "inputs": inputs, "digest": digest });
            sql.note(at_ms, "artifact-recorded", &subject)?;
            Ok(digest)
        })
    }

    /// The artifact of that name.
    ///
    /// # Errors
    /// What SQLite says; [`StoreError::Damaged`] where the body is not what was recorded.
    pub fn artifact(&self, name: &str) -> Result<Option<Artifact>, StoreError> {
        self.read("read an artifact", |sql| {
            let Some(ArtifactStamp { inputs, digest, at_ms }) = stamp(sql, name)? else { return Ok(None) };
            Ok(Some(Artifact { inputs, digest, body: read_body(sql, digest)?, at_ms }))
        })
    }

    /// What the artifact of that name was made from.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn artifact_stamp(&self, name: &str) -> Result<Option<ArtifactStamp>, StoreError> {
        self.read("look for an artifact", |sql| stamp(sql, name))
    }

    /// Keeps what was understood of a report, replacing what came from the same source before.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn put_import(&mut self, source: &str, digest: Digest, body: &[u8], at_ms: u64) -> Result<(), StoreError> {
        let body_digest = Digest::of(body);
        self.write("keep an import", |sql| {
            let before =
                sql.first("SELECT body FROM imports WHERE source = ?1", [source], |row| sql::digest(row, 0))?;
            keep_body(sql, body_digest, body)?;
            let upsert = "INSERT INTO imports (source, digest, body, at_ms) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (source) DO UPDATE SET digest = ?2, body = ?3, at_ms = ?4";
            sql.execute(upsert, (source, digest.as_bytes(), body_digest.as_bytes(), sql::to_sql(at_ms)))?;
            if let Some(before) = before {
                drop_unused_body(sql, before)?;
            }
            sql.note(at_ms, "import-kept", &json!({ "source": source, "digest": digest, "body": body_digest }))
        })
    }

    /// Forgets an import; whether there was one.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn remove_import(&mut self, source: &str, at_ms: u64) -> Result<bool, StoreError> {
        self.write("remove an import", |sql| {
            let before =
                sql.first("SELECT body FROM imports WHERE source = ?1", [source], |row| sql::digest(row, 0))?;
            let Some(before) = before else { return Ok(false) };
            sql.execute("DELETE FROM imports WHERE source = ?1", [source])?;
            drop_unused_body(sql, before)?;
            sql.note(at_ms, "import-removed", &json!({ "source": source }))?;
            Ok(true)
        })
    }

    /// Every import, by source.
    ///
    /// # Errors
    /// What SQLite says; [`StoreError::Damaged`] where a body is not what was kept.
    pub fn imports(&self) -> Result<Vec<Import>, StoreError> {
        self.read("read imports", |sql| {
            let statement = "SELECT source, digest, at_ms, body FROM imports ORDER BY source";
            sql.every(statement, [], |row| {
                Ok(Import {
                    source: row.get(0)?,
                    digest: sql::digest(row, 1)?,
                    at_ms: sql::unsigned(row, 2)?,
                    body: read_body(sql, sql::digest(row, 3)?)?,
                })
            })
        })
    }

    /// Adds a finished audit to the history and gives its number.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn archive_audit(&mut self, summary: &[u8], at_ms: u64) -> Result<u64, StoreError> {
        let digest = Digest::of(summary);
        self.write("archive the audit", |sql| {
            keep_body(sql, digest, summary)?;
            let last = sql.first("SELECT coalesce(max(number), 0) FROM audits", [], |row| sql::unsigned(row, 0))?;
            let number = last.unwrap_or(0) + 1;
            let insert = "INSERT INTO audits (number, body, at_ms) VALUES (?1, ?2, ?3)";
            sql.execute(insert, (sql::to_sql(number), digest.as_bytes(), sql::to_sql(at_ms)))?;
            sql.note(at_ms, "audit-archived", &json!({ "number": number, "digest": digest }))?;
            Ok(number)
        })
    }

    /// Finished audits, oldest first.
    ///
    /// # Errors
    /// What SQLite says; [`StoreError::Damaged`] where a summary is not what was archived.
    pub fn audits(&self) -> Result<Vec<ArchivedAudit>, StoreError> {
        self.read("read past audits", |sql| {
            sql.every("SELECT number, at_ms, body FROM audits ORDER BY number", [], |row| {
                Ok(ArchivedAudit {
                    number: sql::unsigned(row, 0)?,
                    at_ms: sql::unsigned(row, 1)?,
                    summary: read_body(sql, sql::digest(row, 2)?)?,
                })
            })
        })
    }
}

fn stamp(sql: &Sql<'_>, name: &str) -> Result<Option<ArtifactStamp>, Fault> {
    sql.first("SELECT inputs, body, at_ms FROM artifacts WHERE name = ?1", [name], |row| {
        Ok(ArtifactStamp { inputs: sql::digest(row, 0)?, digest: sql::digest(row, 1)?, at_ms: sql::unsigned(row, 2)? })
    })
}

fn keep_body(sql: &Sql<'_>, digest: Digest, body: &[u8]) -> Result<(), Fault> {
    let known = sql.first("SELECT 1 FROM bodies WHERE digest = ?1", [digest.as_bytes()], |_| Ok(()))?;
    if known.is_some() {
        return Ok(());
    }
    let packed = zstd::bulk::compress(body, LEVEL).map_err(|error| Fault::Row(error.to_string()))?;
    let insert = "INSERT INTO bodies (digest, length, packed) VALUES (?1, ?2, ?3)";
    sql.execute(insert, (digest.as_bytes(), sql::to_sql(body.len() as u64), packed)).map(drop)
}

/// Unpacks a body. The recorded length bounds it, and its digest is checked: a file that lies in a repository may be
/// anything by now.
fn read_body(sql: &Sql<'_>, digest: Digest) -> Result<Vec<u8>, Fault> {
    let wrong = |why: &str| Fault::Row(format!("body {}: {why}", digest.short(12)));
    let statement = "SELECT length, packed FROM bodies WHERE digest = ?1";
    let body = sql.first(statement, [digest.as_bytes()], |row| {
        let length = sql::unsigned(row, 0)?;
        let packed = row.get_ref(1)?.as_blob().map_err(|error| wrong(&error.to_string()))?;
        let unpacked = zstd::Decoder::with_buffer(packed).and_then(|decoder| {
            let mut body = Vec::new();
            decoder.take(length.saturating_add(1)).read_to_end(&mut body).map(|_| body)
        });
        unpacked.map_err(|error| wrong(&error.to_string()))
    })?;
    let body = body.ok_or_else(|| wrong("it is missing"))?;
    if Digest::of(&body) == digest { Ok(body) } else { Err(wrong("it is not what was recorded")) }
}

fn drop_unused_body(sql: &Sql<'_>, digest: Digest) -> Result<(), Fault> {
    let statement = "DELETE FROM bodies WHERE digest = ?1
         AND NOT EXISTS (SELECT 1 FROM artifacts WHERE body = ?1)
         AND NOT EXISTS (SELECT 1 FROM imports WHERE body = ?1)
         AND NOT EXISTS (SELECT 1 FROM audits WHERE body = ?1)";
    sql.execute(statement, [digest.as_bytes()]).map(drop)
}
