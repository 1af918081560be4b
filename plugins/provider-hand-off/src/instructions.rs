//! What a person is told. Files are named and not placed: the instructions lie beside them, wherever that is.

use std::fmt::Write as _;

use assize_plugin_sdk::{LaunchRequest, Task};

/// Where the prompt lies.
pub(crate) const PROMPT_FILE: &str = "prompt.md";
/// Where the tasks lie as JSON.
const TASKS_FILE: &str = "pending-audit-tasks.json";
/// Where the answer goes.
pub(crate) const RESULTS_FILE: &str = "audit-results.json";
/// Where the host writes the instructions.
pub(crate) const INSTRUCTIONS_FILE: &str = "hand-off.md";
/// Tasks that are listed; all of them stand in the prompt.
const LISTED: usize = 100;
/// Longest name of a task that is shown, in characters.
const NAME_CHARS: usize = 200;

/// The instructions of a packet, Markdown.
pub fn render_instructions(request: &LaunchRequest, note: &str) -> String {
    let mut text = format!("# {} to review\n\n", count_tasks(request.tasks.len()));
    let note = clean(note);
    if !note.is_empty() {
        let _ = writeln!(text, "{note}\n");
    }
    let _ = write!(
        text,
        "No program was launched for this. A person reviews it, or an assistant in a conversation.\n\n\
         1. Read `{PROMPT_FILE}` in this directory, or give all of it to the assistant. It says what to look for, in which \
         files of the repository, and in what form to answer.\n\
         2. Write the answer, the JSON array, into `{RESULTS_FILE}` in this directory. `{TASKS_FILE}` has the tasks as JSON. \
         To have it checked first: `assize import-results --dry-run {RESULTS_FILE}`, with the repository's path behind it.\n\
         3. Run `assize run` again in the repository: it takes the answer and asks for nothing that was answered. An answer \
         that lies elsewhere is taken by `assize import-results FILE`.\n\n\
         Tasks that the answer leaves out keep waiting.\n\n## Tasks\n\n"
    );
    for task in request.tasks.iter().take(LISTED) {
        let _ = writeln!(text, "- {}", render_task(task));
    }
    if request.tasks.len() > LISTED {
        let _ = writeln!(text, "- and {} more, in `{PROMPT_FILE}`", request.tasks.len() - LISTED);
    }
    text
}

/// A number of tasks in words.
pub(crate) fn count_tasks(count: usize) -> String {
    if count == 1 { "1 task".to_owned() } else { format!("{count} tasks") }
}

/// A name of a task holds paths of the repository, which may hold anything.
fn render_task(task: &Task) -> String {
    let name: String = task.task_id.chars().take(NAME_CHARS).filter(|c| !c.is_control() && *c != '`').collect();
    let files = match task.files.len() {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    };
    format!("`{name}`: {files}")
}

/// The note without what terminals would obey.
fn clean(note: &str) -> String {
    note.trim().chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assize_plugin_sdk::TaskFile;

    fn request(names: &[&str]) -> LaunchRequest {
        let file = TaskFile { path: "a.rs".to_owned(), total_lines: 1, range: None };
        let task = |name: &&str| Task { task_id: (*name).to_owned(), files: vec![file.clone()], ..Task::default() };
        LaunchRequest {
            tasks: names.iter().map(task).collect(),
            prompt: "PROMPT-TEXT".into(),
            ..LaunchRequest::default()
        }
    }

    #[test]
    fn the_way_there_and_back_is_named() {
        let text = render_instructions(&request(&["src:security"]), "");
        for part in [
            "# 1 task to review",
            "`prompt.md`",
            "`audit-results.json`",
            "`assize run`",
            "`assize import-results FILE`",
            "- `src:security`: 1 file\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("PROMPT-TEXT"), "the prompt lies beside it");
    }

    #[test]
    fn a_note_stands_at_the_top_and_nothing_rings() {
        let text = render_instructions(&request(&["a\u{1b}[2J\n# b`c"]), " Ask Mo.\nSoon\u{7}. ");
        assert!(text.starts_with("# 1 task to review\n\nAsk Mo.\nSoon.\n\n"), "{text}");
        assert!(text.contains("- `a[2J# bc`: 1 file"), "{text}");
    }

    #[test]
    fn a_large_packet_is_listed_in_part() {
        let names: Vec<String> = (0..500).map(|n| "x".repeat(1000) + &n.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = render_instructions(&request(&names), "");
        assert!(text.ends_with("- and 400 more, in `prompt.md`\n"));
        assert!(text.len() < 30_000, "{}", text.len());
    }
}
