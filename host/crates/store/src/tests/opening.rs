//! Opening, versions, the lock, and what does not belong to the store.

use std::fs;
use std::path::Path;

use assize_core::id::LaunchId;
use rusqlite::Connection;

use super::{holder, tasks};
use crate::schema::{SCHEMA_VERSION, migrate_through};
use crate::{LockError, Mode, StateDir, Store, StoreError, StoreLock, write_atomic};

fn open(dir: &Path, mode: Mode) -> Result<Store, StoreError> {
    Store::open(dir, mode)
}

fn refusal(dir: &Path, mode: Mode) -> StoreError {
    open(dir, mode).err().expect("it is refused")
}

#[test]
fn a_new_store_hides_itself_from_git_and_from_others() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("deep/.assize");
    let store = open(&dir, Mode::ReadWrite).unwrap();
    assert_eq!(fs::read_to_string(dir.join(".gitignore")).unwrap(), "*\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    }
    let mode: String = store.connection().query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn a_reader_makes_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    assert!(matches!(refusal(&scratch.path().join("x"), Mode::ReadOnly), StoreError::Missing { .. }));
    assert!(matches!(refusal(scratch.path(), Mode::ReadOnly), StoreError::Missing { .. }));
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn readers_see_committed_work_while_a_writer_lives_and_cannot_write() {
    let scratch = tempfile::tempdir().unwrap();
    let mut writer = open(scratch.path(), Mode::ReadWrite).unwrap();
    let _lock = StoreLock::acquire(scratch.path(), &holder()).unwrap();
    writer.replace_base_tasks(&tasks(&["a", "b"]), 1).unwrap();
    let mut reader = open(scratch.path(), Mode::ReadOnly).unwrap();
    assert_eq!(reader.tasks().unwrap().len(), 2);
    writer.add_tasks(&tasks(&["c"]), 2).unwrap();
    assert_eq!(reader.tasks().unwrap().len(), 3);
    let error = reader.set_meta("x", "y").unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
}

#[test]
fn a_newer_store_is_refused_in_one_line_with_both_versions() {
    let scratch = tempfile::tempdir().unwrap();
    drop(open(scratch.path(), Mode::ReadWrite).unwrap());
    let raw = Connection::open(scratch.path().join("store.db")).unwrap();
    raw.pragma_update(None, "user_version", SCHEMA_VERSION + 41).unwrap();
    drop(raw);
    for mode in [Mode::ReadWrite, Mode::ReadOnly] {
        let line = refusal(scratch.path(), mode).to_string();
        assert!(line.contains(&(SCHEMA_VERSION + 41).to_string()) && line.contains("store.db"), "{line}");
        assert!(line.contains(&format!("up to {SCHEMA_VERSION}")) && !line.contains('\n'), "{line}");
    }
}

#[test]
fn an_older_schema_is_brought_forward_step_by_step_and_a_broken_step_changes_nothing() {
    let path = Path::new("store.db");
    let mut conn = Connection::open_in_memory().unwrap();
    let one = "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (7);";
    let two = "ALTER TABLE t ADD COLUMN b INTEGER NOT NULL DEFAULT 8;";
    migrate_through(&mut conn, path, &[one]).unwrap();
    let broken = "INSERT INTO t VALUES (9); THIS IS NO SQL;";
    assert!(migrate_through(&mut conn, path, &[one, broken]).is_err());
    let count: i64 = conn.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 1);
    migrate_through(&mut conn, path, &[one, two]).unwrap();
    migrate_through(&mut conn, path, &[one, two]).unwrap();
    let row: (i64, i64) = conn.query_row("SELECT a, b FROM t", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!(row, (7, 8));
    assert!(migrate_through(&mut conn, path, &[one]).is_err(), "and back it does not go");
}

#[test]
fn a_reader_refuses_an_older_store_and_says_what_to_do() {
    let scratch = tempfile::tempdir().unwrap();
    drop(open(scratch.path(), Mode::ReadWrite).unwrap());
    let raw = Connection::open(scratch.path().join("store.db")).unwrap();
    raw.pragma_update(None, "user_version", 0).unwrap();
    drop(raw);
    let error = refusal(scratch.path(), Mode::ReadOnly);
    assert!(matches!(error, StoreError::Older { found: 0, .. }) && error.hint().is_some(), "{error}");
}

#[test]
fn a_damaged_or_foreign_database_is_refused_with_its_name_and_left_as_it_is() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("store.db");
    let garbage = b"this is not a database at all".repeat(300);
    fs::write(&path, &garbage).unwrap();
    for mode in [Mode::ReadWrite, Mode::ReadOnly] {
        let error = refusal(scratch.path(), mode);
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains("store.db"));
        assert!(error.hint().unwrap().contains("store.db"));
    }
    assert_eq!(fs::read(&path).unwrap(), garbage);
    fs::remove_file(&path).unwrap();
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
    drop(raw);
    let before = fs::read(&path).unwrap();
    assert!(matches!(refusal(scratch.path(), Mode::ReadWrite), StoreError::Damaged { .. }));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_page_that_is_overwritten_is_reported_as_damage() {
    let scratch = tempfile::tempdir().unwrap();
    let mut store = open(scratch.path(), Mode::ReadWrite).unwrap();
    let names: Vec<String> = (0..300).map(|n| n.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    store.replace_base_tasks(&tasks(&names), 1).unwrap();
    drop(store);
    let path = scratch.path().join("store.db");
    let mut bytes = fs::read(&path).unwrap();
    let from = bytes.len() / 4 * 3;
    bytes[from..].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let store = open(scratch.path(), Mode::ReadOnly).unwrap();
    let found = store.check_integrity();
    assert!(found.as_ref().map_or(true, |found| !found.is_empty()), "{found:?}");
    assert!(matches!(store.tasks().unwrap_err(), StoreError::Damaged { .. }));
}

#[test]
fn a_second_run_is_refused_with_the_pid_of_the_first_until_that_one_ends() {
    let scratch = tempfile::tempdir().unwrap();
    let lock = StoreLock::acquire(scratch.path(), &holder()).unwrap();
    let error = StoreLock::acquire(scratch.path(), &holder()).unwrap_err();
    assert!(error.to_string().contains("4242"), "{error}");
    let LockError::Held(held) = error else { panic!("{error}") };
    assert_eq!((held.pid, held.holder), (Some(4242), Some(holder())));
    drop(lock);
    let lock = StoreLock::acquire(scratch.path(), &holder()).unwrap();
    drop(lock);
    assert_eq!(fs::read(scratch.path().join("lock")).unwrap(), b"", "a free lock names nobody");
}

#[test]
fn a_lock_file_without_a_holder_means_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    fs::write(scratch.path().join("lock"), "{\"pid\":1,\"started\":\"x\",\"host\":\"y\"}").unwrap();
    StoreLock::acquire(scratch.path(), &holder()).unwrap();
}

#[test]
fn a_lock_file_of_another_program_is_left_as_it_is() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("lock");
    fs::write(&path, "somebody else's").unwrap();
    assert!(matches!(StoreLock::acquire(scratch.path(), &holder()), Err(LockError::Store(StoreError::NotOurs { .. }))));
    assert_eq!(fs::read_to_string(&path).unwrap(), "somebody else's");
}

#[test]
fn a_run_directory_is_named_by_its_launch_and_lies_in_the_store() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = StateDir::make(&scratch.path().join("s")).unwrap();
    let made = dir.make_run_dir(&LaunchId::new("20260101-1")).unwrap();
    assert_eq!(made, dir.path().join("runs/20260101-1"));
    assert!(made.is_dir());
    dir.make_run_dir(&LaunchId::new("20260101-1")).unwrap();
    for bad in ["..", "a/../../b", "/etc", ""] {
        assert!(matches!(dir.make_run_dir(&LaunchId::new(bad)), Err(StoreError::BadLaunchId { .. })), "{bad}");
    }
}

#[test]
fn a_file_is_replaced_whole_and_leaves_no_remnant() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("prompt.md");
    write_atomic(&path, b"one").unwrap();
    write_atomic(&path, b"two").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two");
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
    let blocked = scratch.path().join("folder");
    fs::create_dir(&blocked).unwrap();
    assert!(write_atomic(&blocked, b"three").is_err());
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 2);
}

#[cfg(unix)]
#[test]
fn no_name_of_the_store_may_be_a_symbolic_link() {
    use std::os::unix::fs::symlink;
    let scratch = tempfile::tempdir().unwrap();
    let target = scratch.path().join("outside");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("file"), "precious").unwrap();
    let link = scratch.path().join("link");
    symlink(&target, &link).unwrap();
    for mode in [Mode::ReadWrite, Mode::ReadOnly] {
        assert!(matches!(refusal(&link, mode), StoreError::NotOurs { .. }));
    }
    for name in ["store.db", "store.db-wal", "store.db-shm", "store.db-journal", ".gitignore"] {
        let dir = scratch.path().join(format!("with-{name}"));
        fs::create_dir(&dir).unwrap();
        symlink(target.join("file"), dir.join(name)).unwrap();
        let error = refusal(&dir, Mode::ReadWrite);
        assert!(matches!(error, StoreError::NotOurs { .. }), "{name}: {error}");
    }
    let dir = scratch.path().join("locked");
    fs::create_dir(&dir).unwrap();
    symlink(target.join("file"), dir.join("lock")).unwrap();
    assert!(StoreLock::acquire(&dir, &holder()).is_err());
    let dir = StateDir::make(&scratch.path().join("run")).unwrap();
    symlink(&target, dir.path().join("runs")).unwrap();
    assert!(matches!(dir.make_run_dir(&LaunchId::new("l1")), Err(StoreError::NotOurs { .. })));
    assert_eq!(fs::read_to_string(target.join("file")).unwrap(), "precious");
    assert_eq!(fs::read_dir(&target).unwrap().count(), 1);
}

#[test]
fn a_store_moves_between_threads() {
    fn is_send<T: Send>() {}
    is_send::<Store>();
}
