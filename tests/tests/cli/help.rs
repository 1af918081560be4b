//! Help: every command has it, it fits a terminal, and a wrong word leads to the right one.

use assize_tests::Machine;

/// Every command with its words.
pub(crate) const COMMANDS: [&[&str]; 16] = [
    &["run"],
    &["plan"],
    &["status"],
    &["next"],
    &["explain"],
    &["report"],
    &["import-results"],
    &["plugin"],
    &["plugin", "list"],
    &["plugin", "inspect"],
    &["provider", "list"],
    &["provider", "check"],
    &["ledger", "show"],
    &["ledger", "verify"],
    &["clean"],
    &["version"],
];

#[test]
fn every_command_explains_itself_and_each_of_its_flags() {
    let machine = Machine::new();
    for words in COMMANDS {
        for flag in ["--help", "-h"] {
            let end = machine.bare().args(words).args([flag]).run().exits(0);
            assert!(end.stderr.is_empty(), "{words:?}: help goes to stdout");
            assert!(end.stdout.contains(&format!("Usage: assize {}", words.join(" "))), "{words:?}:\n{}", end.stdout);
            let first = end.stdout.lines().next().unwrap();
            assert!(first.len() > 10 && !first.starts_with("Usage"), "{words:?} has no description");
            let wide = end.stdout.lines().find(|line| line.chars().count() > 100);
            assert_eq!(wide, None, "{words:?}");
            bare_flags(words, &end.stdout);
        }
    }
    machine.bare().args(["help", "run"]).run().exits(0);
}

/// No flag stands there without a word about it, on its own line or the next.
fn bare_flags(words: &[&str], help: &str) {
    let lines: Vec<&str> = help.lines().collect();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| is_flag(line)) {
        let beside = line.trim_start().split_once("  ").is_some_and(|(_, text)| !text.trim().is_empty());
        let below =
            lines.get(at + 1).is_some_and(|next| !next.trim().is_empty() && !next.trim_start().starts_with('-'));
        assert!(beside || below, "{words:?}: {line:?} is not explained");
    }
}

/// Values of a flag are a list with dashes, too.
fn is_flag(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with('-') && !line.starts_with("- ")
}

#[test]
fn the_program_alone_shows_its_commands_and_is_a_usage_error() {
    let end = Machine::new().bare().run().exits(2);
    for words in COMMANDS {
        assert!(end.stderr.contains(words[0]), "{words:?} is not listed:\n{}{}", end.stdout, end.stderr);
    }
}

#[test]
fn a_wrong_word_is_refused_with_the_right_one() {
    let machine = Machine::new();
    for (args, right) in [
        (&["rum"][..], "run"),
        (&["run", "--provder", "rules"], "--provider"),
        (&["run", "--max-launch", "1"], "--max-launches"),
        (&["plan", "--no-ignor"], "--no-ignore"),
        (&["report", "--format", "sarf"], "sarif"),
        (&["run", "--color", "alwys"], "always"),
        (&["ledger", "verfy"], "verify"),
        (&["import-results", "x", "--by", "persn"], "person"),
    ] {
        let end = machine.bare().args(args).run().exits(2);
        assert!(end.stdout.is_empty(), "{args:?}: {}", end.stdout);
        assert!(end.stderr.contains("similar") && end.stderr.contains(right), "{args:?}:\n{}", end.stderr);
    }
}
