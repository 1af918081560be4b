//! The README and the examples are held to what they say: commands are run, outputs compared, names looked up.
//!
//! Fences that are run have a second word: `sh tour` is run by a shell, `toml user` becomes the user's configuration,
//! `toml repository` the repository's for one call, and `console tour` is played line by line, all in the order of the
//! page and on one machine. A `…` stands for lines that are left out. `$ echo $?` shows an exit code; without it a
//! command must end with 0.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "the lines of the page are run by a shell, as their readers do")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assize_tests::{Ended, Machine};
use serde_json::Value;

/// Commands that have others below them.
const GROUPS: [&str; 4] = ["plugin", "provider", "quota", "ledger"];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A fenced block: what stands behind the fence, and the text.
struct Fence {
    info: String,
    text: String,
}

fn fences(page: &str) -> Vec<Fence> {
    let mut fences: Vec<Fence> = Vec::new();
    let mut open = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(info) if !open => fences.push(Fence { info: info.to_owned(), text: String::new() }),
            Some(_) => {}
            None => {
                if let Some(fence) = fences.last_mut().filter(|_| open) {
                    fence.text.push_str(line);
                    fence.text.push('\n');
                }
                continue;
            }
        }
        open = !open;
    }
    assert!(!open, "a fence is not closed");
    fences
}

/// The text of a section, from its heading to the next one of the same level.
fn section<'p>(page: &'p str, heading: &str) -> &'p str {
    let (_, rest) = page.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no section {heading}"));
    rest.split("\n## ").next().unwrap()
}

/// Runs a line that is not ours.
fn shell(machine: &Machine, script: &str) {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-e", "-c", script]).current_dir(machine.at("")).env_clear().env("PATH", "/usr/bin:/bin");
    assert!(shell.status().unwrap().success(), "{script}");
}

/// The words of a call without quotation.
fn call(machine: &Machine, words: &[&str]) -> Ended {
    machine.bare().args(words).run()
}

/// What differs from run to run, made the same: the machine's folder, and names that are moments.
fn normal(line: &str, root: &str) -> String {
    let line = line.replace(root.trim_end_matches('/'), "/home/me");
    let is_moment = |word: &str| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        word.starts_with("20") && word.contains('T') && word.contains('Z') && digits >= 14
    };
    let words = line.split(' ').map(|word| if is_moment(word) { "MOMENT" } else { word });
    words.collect::<Vec<_>>().join(" ").trim_end().to_owned()
}

/// Plays a `console` block.
fn play(machine: &Machine, block: &str) {
    let root = machine.at("").to_str().unwrap().to_owned();
    let mut last: Option<(String, Ended)> = None;
    let mut commands = block.lines().filter(|line| line.starts_with("$ ")).skip(1);
    for line in block.lines() {
        if line == "$ echo $?" {
            commands.next();
            continue;
        }
        let Some(command) = line.strip_prefix("$ ") else {
            let Some((command, ended)) = &last else { continue };
            if line == "…" {
                continue;
            }
            let told = format!("{}\n{}", ended.stdout, ended.stderr);
            // A bare number is what `echo $?` printed.
            if line.parse::<i32>().is_ok() {
                assert_eq!(ended.code, line.parse().ok(), "{command}\n{told}");
                continue;
            }
            let wanted = normal(line, &root);
            assert!(
                told.lines().any(|told| normal(told, &root) == wanted),
                "{command}\ndoes not say\n{line}\nbut\n{told}"
            );
            continue;
        };
        let code_is_shown = commands.next() == Some("$ echo $?");
        last = match command.strip_prefix("assize ") {
            Some(words) => {
                let ended = call(machine, &words.split_whitespace().collect::<Vec<_>>());
                assert_eq!(ended.code == Some(0), !code_is_shown, "{command}\n{}", ended.stderr);
                Some((command.to_owned(), ended))
            }
            None => {
                shell(machine, command);
                None
            }
        };
    }
}

fn with_paths(toml: &str) -> String {
    toml.replace("/path/to/assize", workspace().to_str().unwrap())
}

/// A machine with the tour's repository.
fn tour() -> Machine {
    let machine = Machine::named("tour");
    let page = read("README.md");
    let made = fences(&page).into_iter().find(|fence| fence.info == "sh tour").expect("the page makes the tour");
    shell(&machine, &made.text);
    machine
}

#[test]
fn the_page_can_be_followed_from_top_to_bottom() {
    let machine = Machine::named("tour");
    let page = read("README.md");
    let mut played = 0;
    for fence in fences(&page) {
        match fence.info.as_str() {
            "sh tour" => shell(&machine, &fence.text),
            "toml user" => {
                machine.configure(&with_paths(&fence.text));
                call(&machine, &["provider", "list", "tour"]).exits(0);
            }
            "toml repository" => {
                machine.write("assize.toml", &fence.text);
                call(&machine, &["plan", "--state-dir", "other", "tour"]).exits(0);
                fs::remove_file(machine.repo().join("assize.toml")).unwrap();
            }
            "console tour" => {
                play(&machine, &fence.text);
                played += 1;
            }
            _ => {}
        }
    }
    assert!(played >= 4, "{played} blocks were played");
    machine.nothing_is_left();
}

#[test]
fn the_table_of_exit_codes_is_the_programs() {
    let source = read("host/src/cli/exit.rs");
    let (_, table) = source.split_once("pub const EXIT_CODES").unwrap();
    let (table, _) = table.split_once("];").unwrap();
    let rows: Vec<String> = table
        .lines()
        .filter_map(|line| line.trim().strip_prefix('(')?.strip_suffix("\"),")?.split_once(", \""))
        .map(|(code, meaning)| format!("| {code} | {meaning} |"))
        .collect();
    assert!(rows.len() >= 7, "{rows:?}");
    let page = read("README.md");
    let printed: Vec<&str> = page
        .lines()
        .filter(|line| line.strip_prefix("| ").and_then(|rest| rest.split(' ').next()?.parse::<u8>().ok()).is_some())
        .collect();
    assert_eq!(printed, rows);
}

#[test]
fn every_test_of_the_security_table_exists() {
    let mut sources = String::new();
    let mut folders: Vec<PathBuf> = ["tests/tests", "host", "plugins"].map(|part| workspace().join(part)).into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests/tests/readme.rs") {
                sources.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    let page = read("README.md");
    let mut names = 0;
    for row in section(&page, "Security").lines().filter(|line| line.starts_with("| ") && line.contains('`')) {
        let cell = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        for name in cell.split('`').skip(1).step_by(2) {
            // A function of its own, or a row of a macro that makes one for each fault.
            let is_there = sources.contains(&format!("fn {name}()")) || sources.contains(&format!(" {name}: \""));
            assert!(is_there, "no test is called {name}");
            names += 1;
        }
    }
    assert!(names > 20, "{names} tests are named");
}

/// The flags that `--help` of a command lists.
fn flags_of(machine: &Machine, words: &[&str]) -> BTreeSet<String> {
    let help = machine.bare().args(words).args(["--help"]).run().exits(0).stdout;
    let word = |line: &str| {
        let at = line.find("--")?;
        line.trim_start().starts_with('-').then(|| flag_at(&line[at..]).to_owned())
    };
    help.lines().filter_map(word).collect()
}

/// The flag that a text begins with.
fn flag_at(text: &str) -> &str {
    let end = text.find(|letter: char| letter != '-' && !letter.is_ascii_alphanumeric()).unwrap_or(text.len());
    &text[..end]
}

/// Texts of a page that are ours: code within lines, lines of blocks, and commands of other files.
fn calls_and_flags(text: &str) -> Vec<&str> {
    let spans = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let spans = spans.filter(|span| span.starts_with("assize ") || span.starts_with("--"));
    let lines = text.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = ["$ ", "- run: ", "run: "].iter().find_map(|start| line.strip_prefix(start)).unwrap_or(line);
        line.starts_with("assize ").then_some(line)
    });
    spans.chain(lines).collect()
}

#[test]
fn every_command_and_flag_of_page_and_examples_exists() {
    let machine = Machine::new();
    let run = flags_of(&machine, &["run"]);
    assert!(run.contains("--provider") && run.contains("--fail-on"), "{run:?}");
    let mut checked = 0;
    for text in [read("README.md"), read("examples/ci/github-actions.yml"), read("examples/config/config.toml")] {
        for call in calls_and_flags(&text) {
            let words: Vec<&str> = call.split_whitespace().skip(1).collect();
            let depth = if words.first().is_some_and(|word| GROUPS.contains(word)) { 2 } else { 1 };
            let known = match call.strip_prefix("assize ") {
                Some(_) => flags_of(&machine, &words[..depth]),
                // Without a command, one of `run` or of some other.
                None => run.iter().cloned().chain(flags_of(&machine, &["report"])).collect(),
            };
            for flag in call.split_whitespace().map(flag_at).filter(|word| word.starts_with("--")) {
                assert!(known.contains(flag), "{flag} of `{call}` does not exist; there are {known:?}");
                checked += 1;
            }
        }
    }
    assert!(checked > 12, "{checked} flags were checked");
}

#[test]
fn every_placeholder_is_listed_and_no_other() {
    let source = read("plugins/provider-command/src/template.rs");
    let (_, list) = source.split_once("pub const PLACEHOLDERS").unwrap();
    let (_, list) = list.split_once("= [").unwrap();
    let (list, _) = list.split_once("];").unwrap();
    let known: BTreeSet<String> = list.split('"').skip(1).step_by(2).map(|name| format!("{{{name}}}")).collect();
    let page = read("README.md");
    let rows = section(&page, "Providers").lines().filter(|line| line.starts_with("| `{"));
    let cells = rows.map(|row| row.split(" | ").next().unwrap());
    let listed: BTreeSet<String> =
        cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect();
    assert_eq!(listed, known);
}

#[test]
fn limits_are_those_of_the_sandbox() {
    let source = read("host/crates/sandbox/src/limits.rs");
    let page = read("README.md");
    let table = section(&page, "Limits");
    for (line, figure) in [
        ("provider_time: Duration::from_secs(5),", "5 s / 2 s / 2 s"),
        ("analyzer_time: Duration::from_secs(2),", "5 s / 2 s / 2 s"),
        ("rate_limit_time: Duration::from_secs(2),", "5 s / 2 s / 2 s"),
        ("memory_bytes: 256 << 20,", "| 256 MiB |"),
        ("table_elements: 10_000,", "16 / 10,000 / 16 / 4"),
        ("instances: 16,", "16 / 10,000 / 16 / 4"),
        ("memories: 4,", "16 / 10,000 / 16 / 4"),
        ("handles: 10_000,", "| 10,000 |"),
        ("output_bytes: 32 << 20,", "| 32 MiB |"),
        ("log_bytes: 64 << 10,", "| 64 KiB |"),
        ("steps: 64,", "| 64 |"),
        ("component_bytes: 64 << 20,", "| 64 MiB |"),
    ] {
        assert!(source.contains(line), "the sandbox has another limit than {line}");
        assert!(table.contains(figure), "the page does not say {figure}");
    }
}

#[test]
fn limits_of_network_and_lanes_are_those_of_the_code() {
    let page = read("README.md");
    let table = section(&page, "Limits");
    for (file, line, row) in [
        ("crates/wire/src/request.rs", "RESPONSE_CAP: u64 = 32 << 20;", "its headers | 32 MiB / 256 KiB |"),
        ("crates/wire/src/request.rs", "HEAD_CAP: usize = 256 << 10;", "its headers | 32 MiB / 256 KiB |"),
        ("crates/wire/src/request.rs", "REDIRECTS: usize = 3;", "| redirects, all within one origin | 3 |"),
        (
            "crates/wire/src/client.rs",
            "connect_timeout: Duration::from_secs(10),",
            "no provider bounds | 10 s / 60 s |",
        ),
        ("crates/wire/src/client.rs", "idle_timeout: Duration::from_secs(60),", "no provider bounds | 10 s / 60 s |"),
        ("crates/wire/src/gateway/take.rs", "REQUEST_CAP: usize = 32 << 20;", "at once | 32 MiB / 256 MiB |"),
        ("crates/wire/src/gateway/take.rs", "ROOM: u32 = 256 << 10;", "at once | 32 MiB / 256 MiB |"),
        ("crates/wire/src/gateway/open.rs", "CONNECTIONS: usize = 256;", "that wait | 256 / 256 |"),
        ("crates/core/src/dispatch/requests.rs", "MOST_HELD: usize = 256;", "that wait | 256 / 256 |"),
        ("src/driver/requests.rs", "GATEWAY_IDLE: Duration = Duration::from_secs(300);", "the gateway | 5 min |"),
        ("src/launch/secrets.rs", "LARGEST: u64 = 64 << 10;", "prints it | 64 KiB / 2 min |"),
        (
            "src/launch/secrets.rs",
            "COMMAND_LIMIT: Duration = Duration::from_secs(120);",
            "prints it | 64 KiB / 2 min |",
        ),
        (
            "crates/core/src/dispatch/window.rs",
            "LONGEST_HINT_MS: u64 = 32 * 24 * 60 * 60_000;",
            "is believed | 32 days |",
        ),
        ("crates/core/src/dispatch/cooldown.rs", "LONGEST_COOLDOWN_MS: u64 = 15 * 60_000;", "a lane | 15 min / 12 |"),
        ("crates/core/src/dispatch/lane.rs", "MOST_RATE_OUTCOMES: u32 = 12;", "a lane | 15 min / 12 |"),
        ("crates/core/src/dispatch/windows.rs", "MOST_WINDOWS: usize = 48;", "one reading | 48 / 32 |"),
        ("crates/core/src/dispatch/windows.rs", "MOST_LIMITS: usize = 32;", "one reading | 48 / 32 |"),
        ("src/driver/ping.rs", "PING_LIMIT_MS: u64 = 5 * 60_000;", "its version | 5 min / 60 s |"),
        ("src/cli/provider.rs", "VERSION_LIMIT: Duration = Duration::from_secs(60);", "its version | 5 min / 60 s |"),
        ("crates/store/src/admissions.rs", "KEPT: u64 = 100_000;", "can show | 100,000 |"),
    ] {
        assert!(read(&format!("host/{file}")).contains(line), "{file} has another limit than {line}");
        assert!(table.contains(row), "the page does not say {row}");
    }
}

#[test]
fn files_that_the_page_names_are_there() {
    let page = read("README.md");
    let linked = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let named =
        ["host/ARCHITECTURE.md", "host/LICENSE-APACHE", "host/LICENSE-MIT", "tests/bench/run", "tests/real-clis"];
    for path in linked.filter(|link| !link.contains("://")).chain(named).chain([".ci/run", "plugins/sdk", "wit/v0.1"]) {
        assert!(workspace().join(path).exists(), "{path}");
        assert!(page.contains(path), "{path} is not on the page");
    }
}

/// The example with every key switched on. Lines that are commented out are meant to be used, too; what names components of
/// the reader's own is not there.
fn example_with_every_key() -> String {
    let is_key = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let is_toml = |text: &str| text.starts_with('[') || text.split_once(" = ").is_some_and(|(name, _)| is_key(name));
    let uncomment = |line: &str| match line.strip_prefix("# ") {
        Some(rest) if is_toml(rest) && !rest.starts_with("plugins = ") => rest.to_owned(),
        _ => line.to_owned(),
    };
    read("examples/config/config.toml").lines().map(uncomment).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_example_configuration_spends_nothing_when_it_is_copied() {
    let machine = tour();
    machine.configure(&read("examples/config/config.toml"));
    let told = call(&machine, &["provider", "list", "tour"]).exits(0).stdout;
    assert!(told.contains("a run takes rules"), "{told}");
    call(&machine, &["run", "--provider", "rules", "tour"]).exits(0);
}

#[test]
fn the_example_configuration_is_accepted_with_every_key_switched_on() {
    let machine = tour();
    let example = example_with_every_key();
    machine.configure(&example);
    call(&machine, &["provider", "list", "tour"]).exits(0);
    call(&machine, &["plan", "--provider", "claude-code", "tour"]).exits(0);
    let headings = example.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
    let (mut checked, mut lanes) = (0, 0);
    for (kind, name) in headings.filter_map(|heading| heading.split_once('.')) {
        if !["providers", "lanes"].contains(&kind) || name.contains('.') {
            continue;
        }
        // A program that is not here makes it unusable, which is no fault of the section.
        let ended = call(&machine, &["provider", "check", name, "--no-launch", "tour"]);
        assert!(matches!(ended.code, Some(0 | 3)), "{kind}.{name}: {}", ended.stderr);
        checked += 1;
        lanes += usize::from(kind == "lanes");
    }
    assert!(checked > 12 && lanes > 0, "{checked} sections were checked");
}

/// The schema of a built-in provider's section, from its sources.
fn schema_of(folder: &str) -> Value {
    let named = ["config.rs", "task.rs", "review.rs"].map(|file| format!("plugins/{folder}/src/{file}"));
    let schema = named.iter().filter(|path| workspace().join(path).exists()).find_map(|path| {
        let source = read(path);
        let (_, rest) = source.split_once("_SCHEMA: &str = r#\"")?;
        serde_json::from_str(rest.split("\"#").next()?).ok()
    });
    schema.unwrap_or_else(|| panic!("{folder} has no schema"))
}

/// Words in backticks.
fn words(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The point of a list that begins with a word in bold.
fn point<'p>(text: &'p str, bold: &str) -> &'p str {
    let (_, rest) = text.split_once(&format!("\n- **{bold}**")).unwrap_or_else(|| panic!("no point {bold}"));
    rest.split("\n- ").next().unwrap()
}

#[test]
fn the_table_of_providers_names_all_of_them_with_their_grants_and_keys() {
    let page = read("README.md");
    let text = section(&page, "Providers").split("\n### ").next().unwrap();
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| `")).collect();
    let row_of = |name: &str| rows.iter().find(|row| row.starts_with(&format!("| `{name}` |"))).copied();
    let machine = Machine::new();
    let listed = call(&machine, &["provider", "list", "--json", "repo"]).exits(0).json();
    let listed: Vec<&str> = listed.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(rows.len(), listed.len(), "{listed:?}");
    let source = read("host/src/components/built_in.rs");
    let (_, table) = source.split_once("PROVIDERS: &[BuiltInProvider] = &[").unwrap();
    let (table, _) = table.split_once("\n];").unwrap();
    for entry in table.split("BuiltInProvider {").skip(1) {
        let quoted: Vec<&str> = entry.split('"').skip(1).step_by(2).collect();
        let (folder, rest) = quoted.split_first().unwrap();
        let (names, grants): (Vec<&str>, Vec<&str>) = rest.iter().partition(|word| listed.contains(*word));
        let own: Vec<&str> = names.iter().filter_map(|name| row_of(name)).collect();
        assert!(!own.is_empty(), "the table has no row for {folder}");
        let said = own.join("\n");
        for grant in grants {
            assert!(words(&said).contains(grant), "the table does not say that {folder} has the grant {grant}");
        }
        for row in own {
            check_keys(text, row, &schema_of(folder));
        }
    }
}

/// Holds the last cell of a row to a schema: all its keys, and no others.
fn check_keys(text: &str, row: &str, schema: &Value) {
    let cell = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
    let mut said: BTreeSet<String> = words(cell).into_iter().filter(|word| word != "false").collect();
    for (kind, bold) in [("those of programs", "Programs"), ("those of APIs", "APIs")] {
        if cell.contains(kind) {
            let (_, keys) = point(text, bold).split_once("keys:").unwrap();
            said.extend(words(keys.split(". ").next().unwrap()));
        }
    }
    let keys: BTreeSet<String> = schema["properties"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(said, keys, "{row}");
}

#[test]
fn the_example_worker_audits_the_tour_completely() {
    let machine = tour();
    let worker = workspace().join("examples/worker/review.py");
    machine.configure(&format!("[providers.command]\ncommand = [\"python3\", {worker:?}, \"{{taskPath}}\"]\n"));
    let outcome = machine.assize(&["run", "--json"]).run().exits(0).json();
    assert_eq!((&outcome["provider"], &outcome["end"]), (&"command".into(), &"complete".into()));
    machine.each_task_once();
    let status = machine.status();
    assert_eq!(status["coverage"]["by_kind"]["agent"], status["coverage"]["required"], "{status:#}");
    assert!(!machine.ledger().iter().any(|entry| entry["kind"] == "result-quarantined"));
    let report = machine.assize(&["report", "--json"]).run().exits(0).json();
    let quoted = |value: &Value| value.to_string().contains("shell=True");
    assert!(report["findings"].as_array().unwrap().iter().any(quoted), "{report:#}");
    machine.nothing_is_left();
}

#[test]
fn the_lines_of_the_example_for_ci_gate_and_report() {
    let machine = tour();
    let page = read("examples/ci/github-actions.yml");
    let dir = machine.at("data").to_str().unwrap().to_owned();
    let lines: Vec<String> = calls_and_flags(&page)
        .into_iter()
        .map(|line| line.replace("\"$RUNNER_TEMP/audit\"", &format!("{dir}/audit")).replace(" code", " tour"))
        .collect();
    let [run, report] = &lines[..] else { panic!("{lines:?}") };
    let words = |line: &str| line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>();
    machine.bare().args(words(run)).run().exits(1);
    let (report, file) = report.split_once(" > ").unwrap();
    let sarif = machine.bare().args(words(report)).run().exits(0).json();
    assert_eq!(sarif["version"], "2.1.0");
    assert!(page.contains(&format!("sarif_file: {file}")));
    assert!(!machine.repo().join(".assize").exists(), "the checkout is not written to");
}
