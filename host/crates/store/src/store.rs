//! The store itself: opening it, and the frame in which every operation reads or writes.

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assize_core::id::Digest;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::error::{Fault, StoreError};
use crate::files::StateDir;
use crate::schema;
use crate::sql::{FaultPoint, Sql};

/// How long an operation waits for another process's transaction. Every transaction of ours takes milliseconds; only a
/// stopped process holds one longer.
const BUSY_WAIT: Duration = Duration::from_secs(10);

/// Prepared statements that are kept: more than the crate has, so that none is prepared twice.
const STATEMENTS_KEPT: usize = 128;

/// What an opener wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Makes, migrates and writes. Whoever writes for longer than one command takes [`crate::StoreLock`] first.
    ReadWrite,
    /// Reads beside a living writer; makes nothing.
    ReadOnly,
}

/// One open store. Each method is one transaction: it happens as a whole or not at all.
///
/// The database is in WAL mode with `synchronous = NORMAL`: a killed process loses nothing that a method returned from;
/// a power cut may take back the last transactions, as a whole and in order, and never damages what is before them.
pub struct Store {
    conn: Connection,
    dir: Option<StateDir>,
    database: PathBuf,
    faults: FaultPoint,
    /// Facts that this process asked for: they are in use, whatever their age in the table.
    pub(crate) wanted_facts: RefCell<HashSet<Digest>>,
}

impl Store {
    /// Opens the store in `dir`. With [`Mode::ReadWrite`] the directory is made (mode 0700, with a `.gitignore` that
    /// hides it) and the schema is brought to this program's version; the lock is not taken here.
    ///
    /// # Errors
    /// [`StoreError::Missing`] and [`StoreError::Older`] for readers; [`StoreError::Newer`], [`StoreError::Damaged`],
    /// [`StoreError::NotOurs`] where a name of the store is a symbolic link, and what SQLite and the disk say.
    pub fn open(dir: &Path, mode: Mode) -> Result<Self, StoreError> {
        let state = match mode {
            Mode::ReadWrite => StateDir::make(dir)?,
            Mode::ReadOnly => StateDir::existing(dir)?,
        };
        let database = state.database();
        let named = |fault: Fault| fault.named("open the store", database.clone());
        let mut conn = connect(&state, mode).map_err(named)?;
        schema::check_ours(&conn, &database).map_err(named)?;
        prepare(&conn, mode).map_err(|error| named(error.into()))?;
        match mode {
            Mode::ReadWrite => schema::migrate(&mut conn, &database).map_err(named)?,
            Mode::ReadOnly => schema::check_version(&conn, &database).map_err(named)?,
        }
        schema::check_objects(&conn, &database).map_err(named)?;
        Ok(Self::around(conn, Some(state), database))
    }

    /// A store that lives as long as the value, for tests and for audits that leave nothing behind.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn in_memory() -> Result<Self, StoreError> {
        let database = PathBuf::from(":memory:");
        let open = || -> Result<Connection, Fault> {
            let mut conn = Connection::open_in_memory()?;
            prepare(&conn, Mode::ReadWrite)?;
            schema::migrate(&mut conn, &database)?;
            Ok(conn)
        };
        let conn = open().map_err(|fault| fault.named("open the store", database.clone()))?;
        Ok(Self::around(conn, None, database))
    }

    /// The directory; absent for a store in memory.
    pub fn dir(&self) -> Option<&StateDir> {
        self.dir.as_ref()
    }

    /// Looks through the whole database for damage, and gives what it found; empty means sound. Reads every page.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn check_integrity(&self) -> Result<Vec<String>, StoreError> {
        self.read("check the store", |sql| {
            let mut found = sql.every("PRAGMA integrity_check(50)", [], |row| Ok(row.get::<_, String>(0)?))?;
            found.retain(|line| line != "ok");
            let broken = sql.every("PRAGMA foreign_key_check", [], |row| Ok(row.get::<_, String>(0)?))?;
            found.extend(broken.into_iter().map(|table| format!("a row of {table} refers to nothing")));
            Ok(found)
        })
    }

    /// Keeps a value under a name of the caller's.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn set_meta(&mut self, name: &str, value: &str) -> Result<(), StoreError> {
        self.write("keep a value", |sql| {
            let upsert = "INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2";
            sql.execute(upsert, (name, value)).map(drop)
        })
    }

    /// The value under a name.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn meta(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.read("read a value", |sql| {
            sql.first("SELECT value FROM meta WHERE name = ?1", [name], |row| Ok(row.get(0)?))
        })
    }

    /// Runs a reading operation on one snapshot.
    pub(crate) fn read<T>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&Sql<'_>) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let snapshot = || -> Result<T, Fault> {
            let tx = Transaction::new_unchecked(&self.conn, TransactionBehavior::Deferred)?;
            let out = work(&Sql { conn: &tx, faults: &self.faults })?;
            tx.commit()?;
            Ok(out)
        };
        snapshot().map_err(|fault| fault.named(operation, self.database.clone()))
    }

    /// Runs a writing operation in one transaction; whatever fails, nothing of it stays.
    pub(crate) fn write<T>(
        &mut self,
        operation: &'static str,
        work: impl FnOnce(&Sql<'_>) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let faults = &self.faults;
        let conn = &mut self.conn;
        let transact = || -> Result<T, Fault> {
            let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let out = work(&Sql { conn: &tx, faults })?;
            faults.pass("COMMIT")?;
            tx.commit()?;
            Ok(out)
        };
        transact().map_err(|fault| fault.named(operation, self.database.clone()))
    }

    #[cfg(test)]
    pub(crate) fn interrupt(&self, before: Option<crate::sql::Interruption>) {
        *self.faults.before.borrow_mut() = before;
    }

    #[cfg(test)]
    pub(crate) fn connection(&self) -> &Connection {
        &self.conn
    }

    fn around(conn: Connection, dir: Option<StateDir>, database: PathBuf) -> Self {
        Self { conn, dir, database, faults: FaultPoint::default(), wanted_facts: RefCell::default() }
    }
}

/// Opens the database file without following symbolic links.
fn connect(state: &StateDir, mode: Mode) -> Result<Connection, Fault> {
    state.check_database_names()?;
    let access = match mode {
        Mode::ReadWrite => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        Mode::ReadOnly => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    // One thread uses a connection at a time (`Store` is not `Sync`), so that SQLite needs no mutex of its own.
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let database = state.database();
    if mode == Mode::ReadOnly && !database.exists() {
        return Err(StoreError::Missing { path: database }.into());
    }
    Ok(Connection::open_with_flags(database, flags)?)
}

/// Settings of every connection.
fn prepare(conn: &Connection, mode: Mode) -> rusqlite::Result<()> {
    conn.busy_timeout(BUSY_WAIT)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    // A file that came with a repository may be crafted: its schema may call nothing and SQL may not rewrite it.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    conn.pragma_update(None, "cell_size_check", true)?;
    conn.pragma_update(None, "foreign_keys", true)?;
    if mode == Mode::ReadWrite {
        // Before WAL: the mark must be in the file itself, where `clean` looks for it after a crash.
        if conn.pragma_query_value(None, "application_id", |row| row.get(0)) != Ok(schema::APPLICATION_ID) {
            conn.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
        }
        conn.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        conn.pragma_update(None, "synchronous", "NORMAL")?;
        // A burst of facts must not leave a log of its size behind for ever.
        conn.pragma_update_and_check(None, "journal_size_limit", 64 << 20, |_| Ok(()))?;
        // A checkpoint waits for the disk; the default of 1,000 pages would make an audit wait for it all the time.
        conn.pragma_update_and_check(None, "wal_autocheckpoint", 8_000, |_| Ok(()))?;
    }
    Ok(())
}
