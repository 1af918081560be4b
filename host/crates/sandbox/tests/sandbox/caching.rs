//! The cache: what it saves, and what it must never believe.

use std::fs;
use std::path::{Path, PathBuf};

use assize_sandbox::{CacheEvent, CallContext, Plugin, Sandbox, SandboxOptions};

use crate::guests::guest;

/// A directory of this test alone, empty.
fn fresh_dir(test: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache").join(test);
    if dir.exists() {
        fs::remove_dir_all(&dir).expect("removed");
    }
    dir
}

fn sandbox(dir: &Path, key: u8) -> Sandbox {
    let options = SandboxOptions { cache_dir: Some(dir.to_owned()), cache_key: [key; 32], ..SandboxOptions::default() };
    Sandbox::new(options).expect("a sandbox")
}

fn admit(sandbox: &Sandbox, name: &str) -> Plugin {
    sandbox.admit(&guest(name), name).expect("admitted")
}

/// The events of one admission by a sandbox of its own.
fn events(dir: &Path, key: u8, name: &str) -> Vec<CacheEvent> {
    let sandbox = sandbox(dir, key);
    assert_eq!(admit(&sandbox, name).name(), name.replace('_', "-"));
    sandbox.take_cache_events()
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

fn is_recompiled(events: &[CacheEvent]) -> bool {
    matches!(events, [CacheEvent::Ignored { .. }, CacheEvent::Stored { .. }])
}

#[tokio::test]
async fn the_second_admission_loads_what_the_first_compiled() {
    let dir = fresh_dir("second");
    assert!(matches!(events(&dir, 1, "honest_analyzer")[..], [CacheEvent::Stored { .. }]));
    let sandbox = sandbox(&dir, 1);
    let plugin = admit(&sandbox, "honest_analyzer");
    assert!(matches!(sandbox.take_cache_events()[..], [CacheEvent::Loaded { .. }]));
    assert_eq!(plugin.description().summary, "Finds one fact of each form.");
    assert_eq!(plugin.inspect("a", "", b"x", "{}", &CallContext::default()).await.expect("facts").len(), 7);
}

#[test]
fn a_changed_byte_anywhere_is_noticed_and_the_file_replaced() {
    let dir = fresh_dir("changed");
    events(&dir, 1, "trap");
    let file = files(&dir).remove(0);
    let whole = fs::read(&file).expect("the file");
    for at in [0, 31, 32, 36, 60, whole.len() / 3, whole.len() / 2, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&file, bytes).expect("written");
        let events = events(&dir, 1, "trap");
        assert!(is_recompiled(&events), "byte {at}: {events:?}");
        assert!(matches!(self::events(&dir, 1, "trap")[..], [CacheEvent::Loaded { .. }]), "it was replaced");
    }
}

#[test]
fn a_file_that_was_cut_or_lengthened_is_noticed() {
    let dir = fresh_dir("cut");
    events(&dir, 1, "trap");
    let file = files(&dir).remove(0);
    let whole = fs::read(&file).expect("the file");
    for length in [0, 1, 31, 32, 35, whole.len() / 2, whole.len() - 1] {
        fs::write(&file, &whole[..length]).expect("written");
        assert!(is_recompiled(&events(&dir, 1, "trap")), "{length} bytes");
    }
    fs::write(&file, [&whole[..], b"x"].concat()).expect("written");
    assert!(is_recompiled(&events(&dir, 1, "trap")));
}

#[test]
fn a_file_under_another_key_is_not_believed() {
    let dir = fresh_dir("key");
    events(&dir, 1, "trap");
    assert!(is_recompiled(&events(&dir, 2, "trap")));
}

#[test]
fn two_files_that_were_swapped_are_not_believed() {
    let dir = fresh_dir("swapped");
    events(&dir, 1, "trap");
    events(&dir, 1, "exit");
    let [one, two] = &files(&dir)[..] else { panic!("two files") };
    let spare = dir.join("spare");
    fs::rename(one, &spare).expect("moved");
    fs::rename(two, one).expect("moved");
    fs::rename(&spare, two).expect("moved");
    assert!(is_recompiled(&events(&dir, 1, "trap")));
    assert!(is_recompiled(&events(&dir, 1, "exit")));
}

#[test]
fn code_of_another_configuration_of_the_engine_is_not_believed() {
    let dir = fresh_dir("engine");
    let options = SandboxOptions {
        cache_dir: Some(dir.clone()),
        cache_key: [1; 32],
        memory_reservation: Some(16 << 20),
        ..SandboxOptions::default()
    };
    let stored = |events: Vec<CacheEvent>| match &events[..] {
        [CacheEvent::Stored { path }] => path.clone(),
        other => panic!("{other:?}"),
    };
    let ours = stored(events(&dir, 1, "trap"));
    let other = Sandbox::new(options).expect("a sandbox");
    admit(&other, "trap");
    let theirs = stored(other.take_cache_events());
    assert_ne!(ours, theirs, "each has a file of its own");
    fs::copy(&ours, &theirs).expect("copied");
    admit(&other, "trap");
    assert!(is_recompiled(&other.take_cache_events()));
}

#[test]
fn a_directory_that_cannot_be_written_only_costs_time() {
    let dir = fresh_dir("unwritable");
    fs::create_dir_all(dir.parent().expect("a parent")).expect("made");
    // A file where the directory should be: nobody can write there, not even the superuser.
    if !dir.exists() {
        fs::write(&dir, "").expect("written");
    }
    let events = events(&dir, 1, "trap");
    assert!(matches!(events.last(), Some(CacheEvent::NotWritten { .. })), "{events:?}");
    fs::remove_file(&dir).expect("removed");
}

#[test]
fn a_directory_in_the_place_of_the_file_only_costs_time() {
    let dir = fresh_dir("occupied");
    events(&dir, 1, "trap");
    let file = files(&dir).remove(0);
    fs::remove_file(&file).expect("removed");
    fs::create_dir(&file).expect("made");
    let events = events(&dir, 1, "trap");
    assert!(matches!(events[..], [CacheEvent::Ignored { .. }, CacheEvent::NotWritten { .. }]), "{events:?}");
    assert_eq!(files(&dir), [file], "no draft is left behind");
}

#[test]
fn many_at_once_leave_one_whole_file() {
    let dir = fresh_dir("many");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| events(&dir, 1, "trap"));
        }
    });
    assert_eq!(files(&dir).len(), 1);
    assert!(matches!(events(&dir, 1, "trap")[..], [CacheEvent::Loaded { .. }]));
}

#[cfg(unix)]
#[test]
fn files_are_private_to_the_user() {
    use std::os::unix::fs::PermissionsExt;
    let dir = fresh_dir("private");
    events(&dir, 1, "trap");
    let mode = |path: &Path| fs::metadata(path).expect("metadata").permissions().mode() & 0o777;
    assert_eq!((mode(&dir), mode(&files(&dir)[0])), (0o700, 0o600));
}

#[test]
fn what_was_refused_is_not_kept() {
    let dir = fresh_dir("refused");
    let sandbox = sandbox(&dir, 1);
    assert!(sandbox.admit(&guest("lie_about_kind"), "x").is_err());
    assert!(!dir.exists());
}
