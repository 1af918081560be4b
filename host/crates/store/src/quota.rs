//! What all runs of a user on this machine know together of lanes: windows, cooldowns, widths, usage. One database in the
//! user's state directory, apart from any audit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assize_core::dispatch::{Dimension, LaneMemory, SharedState, Window, WindowKey};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::error::{Fault, StoreError};
use crate::sql::{FaultPoint, Sql, decode, encode, to_sql, unsigned};

/// Version of the tables. Another version is set aside: what is in them is learned again within minutes.
const VERSION: i64 = 1;
/// Marks the database as ours in its header: `aszQ`.
const APPLICATION_ID: i32 = 0x6173_7a51;
/// How long a run waits for another one's transaction, which takes microseconds.
const BUSY_WAIT: Duration = Duration::from_secs(10);

/// The shared state of lanes.
pub struct QuotaStore {
    conn: Connection,
    path: PathBuf,
    /// State as of `version`, so that a run that is alone never reads it again.
    known: Option<(i64, SharedState)>,
}

/// What one account was used for on one day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Account.
    pub account: String,
    /// Days since the Unix epoch.
    pub day: u64,
    /// Launches.
    pub launches: u64,
    /// Requests to a model, as far as they were counted.
    pub requests: u64,
    /// Tokens in, cached ones included.
    pub input_tokens: u64,
    /// Tokens out.
    pub output_tokens: u64,
    /// Millionths of a US dollar, as far as it was told or priced.
    pub micro_usd: u64,
}

impl QuotaStore {
    /// Opens or makes the database. One that is damaged or of another version is set aside under the name that is
    /// given beside the store, and the lanes start cold.
    ///
    /// # Errors
    /// What SQLite and the disk say of the place itself.
    pub fn open(path: &Path) -> Result<(Self, Option<PathBuf>), StoreError> {
        let named = |fault: Fault| fault.named("open the state of lanes", path.to_owned());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|source| StoreError::Io {
                operation: "make",
                path: folder.to_owned(),
                source,
            })?;
        }
        match connect(path) {
            Ok(conn) => Ok((Self::around(conn, path), None)),
            Err(Fault::Sql(error)) if is_busy(&error) => Err(named(Fault::Sql(error))),
            Err(_) if path.exists() => {
                let aside = set_aside(path)?;
                let conn = connect(path).map_err(named)?;
                Ok((Self::around(conn, path), Some(aside)))
            }
            Err(fault) => Err(named(fault)),
        }
    }

    /// One that lives as long as the value, for lanes that nobody shares.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let open = || -> Result<Connection, Fault> {
            let conn = Connection::open_in_memory()?;
            conn.execute_batch(include_str!("quota/schema.sql"))?;
            Ok(conn)
        };
        Ok(Self::around(open().map_err(|fault| fault.named("open the state of lanes", path.clone()))?, &path))
    }

    /// Hands the state to `work` and keeps what it gives back, while no other run can look. `work` must be quick.
    ///
    /// # Errors
    /// What SQLite says; then `work` has run, and what it gave back is not kept.
    pub fn transact<T>(&mut self, work: impl FnOnce(&SharedState) -> (SharedState, T)) -> Result<T, StoreError> {
        let Self { conn, path, known } = self;
        let transact = || -> Result<T, Fault> {
            let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let sql = Sql { conn: &tx, faults: &FaultPoint::default() };
            let version = data_version(&sql)?;
            let before = match known.take() {
                Some((of, state)) if of == version => state,
                _ => read_state(&sql)?,
            };
            let (after, out) = work(&before);
            write_state(&sql, &before, &after)?;
            tx.commit()?;
            *known = Some((version, after));
            Ok(out)
        };
        transact().map_err(|fault| fault.named("share the state of lanes", path.clone()))
    }

    /// The state as it is.
    ///
    /// # Errors
    /// What SQLite says; rows that do not read back are left out.
    pub fn state(&self) -> Result<SharedState, StoreError> {
        self.read(read_state)
    }

    /// Adds to what an account was used for.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn add_usage(&mut self, more: &Usage) -> Result<(), StoreError> {
        self.read(|sql| {
            let upsert = "INSERT INTO usage (account, day, launches, requests, input_tokens, output_tokens, micro_usd)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (account, day) DO UPDATE SET
                 launches = launches + ?3, requests = requests + ?4, input_tokens = input_tokens + ?5,
                 output_tokens = output_tokens + ?6, micro_usd = micro_usd + ?7";
            let numbers =
                [more.day, more.launches, more.requests, more.input_tokens, more.output_tokens, more.micro_usd];
            let [day, launches, requests, input, output, usd] = numbers.map(to_sql);
            sql.execute(upsert, (&more.account, day, launches, requests, input, output, usd)).map(drop)
        })
    }

    /// What accounts were used for from a day on, by account and day.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn usage_since(&self, day: u64) -> Result<Vec<Usage>, StoreError> {
        self.read(|sql| {
            let select = "SELECT account, day, launches, requests, input_tokens, output_tokens, micro_usd FROM usage
                 WHERE day >= ?1 ORDER BY account, day";
            sql.every(select, [to_sql(day)], |row| {
                Ok(Usage {
                    account: row.get(0)?,
                    day: unsigned(row, 1)?,
                    launches: unsigned(row, 2)?,
                    requests: unsigned(row, 3)?,
                    input_tokens: unsigned(row, 4)?,
                    output_tokens: unsigned(row, 5)?,
                    micro_usd: unsigned(row, 6)?,
                })
            })
        })
    }

    /// Forgets windows, cooldowns and widths: of what bears this name, or of all. Usage stays. Gives the rows that are gone.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn reset(&mut self, name: Option<&str>) -> Result<usize, StoreError> {
        self.known = None;
        self.read(|sql| {
            // A window of one model is held by `account/model`.
            let windows =
                "DELETE FROM windows WHERE ?1 IS NULL OR holder = ?1 OR substr(holder, 1, length(?1) + 1) = ?1 || '/'";
            // A lane is known as `name@account`.
            let lanes =
                "DELETE FROM lanes WHERE ?1 IS NULL OR lane = ?1 OR substr(lane, 1, length(?1) + 1) = ?1 || '@'";
            Ok(sql.execute(windows, [name])? + sql.execute(lanes, [name])?)
        })
    }

    fn read<T>(&self, work: impl FnOnce(&Sql<'_>) -> Result<T, Fault>) -> Result<T, StoreError> {
        let sql = Sql { conn: &self.conn, faults: &FaultPoint::default() };
        work(&sql).map_err(|fault| fault.named("read the state of lanes", self.path.clone()))
    }

    fn around(conn: Connection, path: &Path) -> Self {
        Self { conn, path: path.to_owned(), known: None }
    }
}

/// Opens the database and looks whether it is one of this version and sound.
fn connect(path: &Path) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(BUSY_WAIT)?;
    conn.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    // What a power cut takes back is learned again.
    conn.pragma_update(None, "synchronous", "OFF")?;
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let used: bool = tx.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))?;
    if !used {
        tx.execute_batch(include_str!("quota/schema.sql"))?;
        tx.pragma_update(None, "user_version", VERSION)?;
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    } else if version != VERSION {
        return Err(Fault::Row(format!("version {version}")));
    }
    tx.commit()?;
    let id: i32 = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let sound: String = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if id != APPLICATION_ID || sound != "ok" {
        return Err(Fault::Row(sound));
    }
    Ok(conn)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked))
}

/// Gives a damaged database another name, so that nothing of it is lost and nothing of it is used.
fn set_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let mut number = 1;
    let aside = loop {
        let aside = path.with_extension(format!("damaged-{number}"));
        if !aside.exists() {
            break aside;
        }
        number += 1;
    };
    std::fs::rename(path, &aside).map_err(|source| StoreError::Io {
        operation: "set aside",
        path: path.to_owned(),
        source,
    })?;
    for beside in ["-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(beside);
        let _ = std::fs::remove_file(PathBuf::from(name));
    }
    Ok(aside)
}

/// Changes when another connection has written.
fn data_version(sql: &Sql<'_>) -> Result<i64, Fault> {
    let version = sql.first("PRAGMA data_version", [], |row| Ok(row.get(0)?))?;
    Ok(version.unwrap_or_default())
}

/// A row that does not read back is passed over: it is learned again.
fn read_state(sql: &Sql<'_>) -> Result<SharedState, Fault> {
    let mut state = SharedState::default();
    let windows = sql.every("SELECT holder, dimension, period_ms, body FROM windows", [], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, unsigned(row, 2)?, row.get::<_, String>(3)?))
    })?;
    for (holder, dimension, period_ms, body) in windows {
        let key = Dimension::parse(&dimension).map(|dimension| WindowKey { holder, dimension, period_ms });
        if let (Some(key), Ok(window)) = (key, decode::<Window>(&body)) {
            state.windows.insert(key, window);
        }
    }
    let lanes = sql.every("SELECT lane, body FROM lanes", [], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
    let memories: BTreeMap<String, LaneMemory> =
        lanes.into_iter().filter_map(|(lane, body)| Some((lane, decode(&body).ok()?))).collect();
    state.lanes = memories;
    Ok(state)
}

fn write_state(sql: &Sql<'_>, before: &SharedState, after: &SharedState) -> Result<(), Fault> {
    for (key, window) in &after.windows {
        if before.windows.get(key) != Some(window) {
            let upsert = "INSERT INTO windows (holder, dimension, period_ms, body) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (holder, dimension, period_ms) DO UPDATE SET body = ?4";
            let values = (&key.holder, key.dimension.as_str(), to_sql(key.period_ms), encode(window)?);
            sql.execute(upsert, values)?;
        }
    }
    for (lane, memory) in &after.lanes {
        if before.lanes.get(lane) != Some(memory) {
            let upsert = "INSERT INTO lanes (lane, body) VALUES (?1, ?2) ON CONFLICT (lane) DO UPDATE SET body = ?2";
            sql.execute(upsert, (lane, encode(memory)?))?;
        }
    }
    Ok(())
}
