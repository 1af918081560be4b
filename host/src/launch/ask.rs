//! Asks a program for one short answer, such as its version or a secret. The answer stays in memory; no file is made.
#![allow(clippy::disallowed_methods, reason = "this folder is the place that the lint names")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use thiserror::Error;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

/// Bytes of an answer at most.
const ANSWER_CAP: u64 = 64 << 10;

/// Why there is no answer. The answer itself appears in no message.
#[derive(Debug, Error)]
pub enum AskError {
    /// It could not be started.
    #[error("program {} cannot be started: {source}", .program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It did not end in time.
    #[error("program {} did not answer within {seconds} s", .program.display())]
    Late {
        /// The program.
        program: PathBuf,
        /// How long it had.
        seconds: u64,
    },
    /// It ended badly.
    #[error("program {} ended with {status}", .program.display())]
    Failed {
        /// The program.
        program: PathBuf,
        /// Its exit status, in words.
        status: String,
    },
}

/// Runs a program with the environment given and takes what it prints, up to 64 KiB. It is killed when it takes too long.
pub async fn ask_program(
    program: &Path,
    args: &[String],
    env: &[(String, String)],
    limit: Duration,
) -> Result<Vec<u8>, AskError> {
    let start = |source| AskError::Start { program: program.to_owned(), source };
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true).process_group(0);
    let mut child = command.spawn().map_err(start)?;
    let mut answer = Vec::new();
    let pipe = child.stdout.take();
    let asked = async {
        if let Some(pipe) = pipe {
            pipe.take(ANSWER_CAP).read_to_end(&mut answer).await?;
        }
        child.wait().await
    };
    let status = timeout(limit, asked)
        .await
        .map_err(|_| AskError::Late { program: program.to_owned(), seconds: limit.as_secs() })?
        .map_err(start)?;
    if !status.success() {
        return Err(AskError::Failed { program: program.to_owned(), status: status.to_string() });
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(script: &str, limit: Duration) -> Result<String, AskError> {
        let args = ["-c".to_owned(), script.to_owned()];
        let answer = ask_program(Path::new("/bin/sh"), &args, &[("A".to_owned(), "b".to_owned())], limit).await?;
        Ok(String::from_utf8(answer).unwrap())
    }

    #[tokio::test]
    async fn the_answer_is_what_it_prints_with_the_given_environment_alone() {
        assert_eq!(ask("printf \"$A$HOME\"", Duration::from_secs(20)).await.unwrap(), "b");
    }

    #[tokio::test]
    async fn a_bad_end_and_a_late_one_are_told_without_the_output() {
        let failed = ask("echo hush; exit 3", Duration::from_secs(20)).await.unwrap_err().to_string();
        assert!(failed.contains("exit status: 3") && !failed.contains("hush"), "{failed}");
        let late = ask("exec sleep 30", Duration::from_millis(50)).await;
        assert!(matches!(late, Err(AskError::Late { .. } | AskError::Failed { .. })));
    }
}
