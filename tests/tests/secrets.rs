//! Secrets: wherever their value comes from and whoever uses it, it is sent where it belongs and kept nowhere.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assize_loopback::LoopbackApi;
use assize_tests::{Assize, Ended, Machine, cache_dir, processes_of, program, until};

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Variable,
    File,
    Command,
}

const SOURCES: [Source; 3] = [Source::Variable, Source::File, Source::Command];

/// Who uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    /// A component's request.
    Request,
    /// A program's requests, by way of the gateway.
    Gateway,
    /// The program itself.
    Program,
}

/// The variable of the user's that holds it; another name than the secret's.
const VARIABLE: &str = "CANARY_IN_THE_USERS_SHELL";

struct Desk {
    machine: Machine,
    api: LoopbackApi,
    canary: String,
    source: Source,
    user: User,
}

impl Desk {
    /// The canary differs from test to test, because all processes of the machine are looked at.
    fn new(source: Source, user: User, tag: &str) -> Self {
        let canary = format!("cnry-7Jq2/Zk+9Wv=Xr4LmT8b-{tag}-{source:?}-{user:?}");
        let machine = Machine::new();
        machine.write("app/second.py", "import os\n\n\ndef go(value):\n    os.system(value)\n    return value\n");
        fs::create_dir_all(machine.at("keys")).unwrap();
        if source != Source::Variable {
            fs::write(machine.at("keys/key"), format!("{canary}\n")).unwrap();
        }
        Self { machine, api: LoopbackApi::start(0).unwrap(), canary, source, user }
    }

    /// Configures the provider against a scenario, and a spy in the place of its program.
    fn play(&self, scenario: &str, table: &str) {
        let base = self.api.scenario(scenario);
        let key = self.machine.at("keys/key");
        let source = match self.source {
            Source::Variable => format!("env = \"{VARIABLE}\""),
            Source::File => format!("file = {key:?}"),
            Source::Command => format!("command = [\"cat\", {key:?}]"),
        };
        let section = match self.user {
            User::Request => format!("[providers.openai]\nbase_url = \"{base}/v1\"\napi = \"chat\"\nmodel = \"m-1\""),
            User::Gateway => format!("[providers.codex]\nbase_url = \"{base}/v1\""),
            User::Program => format!("[providers.codex]\nbase_url = \"{base}/v1\"\ngateway = false"),
        };
        self.machine.configure(&format!("{section}\n[secrets.OPENAI_API_KEY]\n{source}\n{table}\n"));
        if self.user != User::Request {
            self.install_spy();
        }
    }

    /// A `codex` that writes down what it sees, waits until it may go on, and then is the scripted one.
    fn install_spy(&self) {
        self.machine.install(&program("fake-codex"), "real-codex");
        let (seen, real) = (self.machine.at("seen"), self.machine.at("bin/real-codex"));
        fs::create_dir_all(&seen).unwrap();
        let text = format!(
            "#!/bin/sh\nenv > '{seen}/env'\nfor arg in \"$@\"; do printf '%s\\n' \"$arg\"; done > '{seen}/args'\n\
             : > '{seen}/up'\nwhile [ ! -e '{seen}/go' ]; do sleep 0.02; done\nexec '{real}' \"$@\"\n",
            seen = seen.display(),
            real = real.display()
        );
        self.machine.script(&self.machine.at("bin/codex"), &text);
    }

    fn call(&self) -> Assize {
        let (provider, model) = match self.user {
            User::Request => ("openai", "m-1"),
            User::Gateway | User::Program => ("codex", "scenario-traffic"),
        };
        let args = ["run", "--json", "--no-deepening", "--workers", "1", "--provider", provider, "--model", model];
        let call = self.machine.assize(&args).limit(Duration::from_secs(100));
        if self.source == Source::Variable { call.env(VARIABLE, &self.canary) } else { call }
    }

    /// Runs to the end, with a look at all processes while a request or the program is under way.
    fn run(&self) -> Ended {
        let running = self.call().start();
        let seen = self.machine.at("seen");
        until("the secret is in use", Duration::from_secs(60), || match self.user {
            User::Request => !self.api.requests().is_empty(),
            User::Gateway | User::Program => seen.join("up").exists(),
        });
        self.look_at_processes(running.pid());
        if self.user != User::Request {
            fs::write(seen.join("go"), "").unwrap();
        }
        running.wait()
    }

    /// No command line holds it; of the environments, the user's own and that of a program that is to have it.
    fn look_at_processes(&self, host: u32) {
        let about = format!("{:?} {:?}", self.source, self.user);
        let processes = processes_of(&self.machine.at(""));
        let all = self.user == User::Request || processes.len() > 1;
        assert!(all, "{about}: the host and the program run: {processes:?}");
        for (pid, command) in processes {
            assert!(!command.contains(&self.canary), "{about}: {command}");
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let may_have = pid == host && self.source == Source::Variable
                || self.user == User::Program && (command.contains("codex") || command.starts_with("sleep"));
            assert!(may_have || !holds(&environment, &self.canary), "{about}: {pid} has it: {command}");
        }
    }

    /// Every request carried the secret, and no other.
    fn was_sent(&self) {
        let digest = self.api.digest(&self.canary);
        let requests = self.api.requests();
        assert!(!requests.is_empty(), "{:?} {:?}", self.source, self.user);
        assert!(requests.iter().all(|entry| entry.credential_digest == digest), "{:?} {:?}", self.source, self.user);
    }

    /// Nothing that was written or said holds it, in any usual form.
    fn is_kept_nowhere(&self, end: &Ended) {
        let about = format!("{:?} {:?}", self.source, self.user);
        let mut said = vec![format!("{}{}", end.stdout, end.stderr)];
        for args in [
            &["ledger", "show", "--json", "--limit", "1000000"][..],
            &["report"],
            &["report", "--format", "findings"],
            &["report", "--format", "sarif"],
            &["status", "--json"],
            &["quota", "why", "--json"],
        ] {
            let ended = self.machine.assize(args).run();
            said.push(format!("{}{}", ended.stdout, ended.stderr));
        }
        let ended = self.machine.bare().args(["quota", "show", "--json"]).run();
        said.push(format!("{}{}", ended.stdout, ended.stderr));
        let forms = forms(&self.canary);
        for form in &forms {
            assert!(!said.iter().any(|said| said.contains(form)), "{about}: {form} was said");
        }
        // What the user wrote, and what the spy saw, which is looked at by itself.
        let own = [self.machine.at("keys"), self.machine.at("seen")];
        let mut files = files_of(&self.machine.at(""));
        files.retain(|file| !own.iter().any(|own| file.starts_with(own)));
        for needed in ["store.db", "quota.db"] {
            assert!(files.iter().any(|file| file.ends_with(needed)), "{about}: there is no {needed}");
        }
        files.extend(files_of(&cache_dir()));
        for file in files {
            let text = fs::read(&file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
            for form in &forms {
                assert!(!text.contains(form), "{about}: {} holds {form}", file.display());
            }
        }
    }

    /// What the program saw.
    fn seen(&self, name: &str) -> String {
        fs::read_to_string(self.machine.at("seen").join(name)).unwrap()
    }
}

fn holds(bytes: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(bytes).contains(text)
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        // Tests at the same time remove what is theirs.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files
}

/// A value as it is, in base64 at each place where it can begin, with percent signs, and in hexadecimal.
fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    for before in 0..3 {
        let whole = [&b"xyz"[..before], value.as_bytes()].concat();
        let digits = base64(&whole);
        // The digits that depend on this value alone.
        let (first, last) = ((before * 8).div_ceil(6), whole.len() * 8 / 6);
        forms.push(digits[first..last].to_owned());
        forms.push(digits[first..last].replace('+', "-").replace('/', "_"));
    }
    let escaped = |digits: fn(u8) -> String| -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        value.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { digits(byte) }).collect()
    };
    forms.push(escaped(|byte| format!("%{byte:02X}")));
    forms.push(escaped(|byte| format!("%{byte:02x}")));
    forms.push(value.bytes().map(|byte| format!("{byte:02x}")).collect());
    forms
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let chunk = |chunk: &[u8]| {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        let digit = move |at: usize| char::from(DIGITS[(bits >> (18 - 6 * at) & 63) as usize]);
        (0..=chunk.len()).map(digit).collect::<String>()
    };
    bytes.chunks(3).map(chunk).collect()
}

#[test]
fn the_forms_that_are_looked_for_are_the_usual_ones() {
    assert_eq!(base64(b"Man"), "TWFu");
    assert_eq!(base64(b"Ma"), "TWE");
    let forms = forms("a/b+c");
    assert!(forms.contains(&"a%2Fb%2Bc".to_owned()) && forms.contains(&"612f622b63".to_owned()));
}

#[test]
fn a_request_carries_the_secret_and_nothing_keeps_it() {
    for source in SOURCES {
        let desk = Desk::new(source, User::Request, "request");
        desk.play("ok-findings+slow-200", "");
        let end = desk.run().exits(0);
        desk.was_sent();
        desk.is_kept_nowhere(&end);
    }
}

#[test]
fn behind_the_gateway_a_program_never_has_the_secret() {
    for source in SOURCES {
        let desk = Desk::new(source, User::Gateway, "gateway");
        desk.play("ok", "");
        let end = desk.run().exits(0);
        desk.was_sent();
        for name in ["env", "args"] {
            let seen = desk.seen(name);
            assert!(!forms(&desk.canary).iter().any(|form| seen.contains(form)), "{source:?}: {seen}");
        }
        desk.is_kept_nowhere(&end);
    }
}

#[test]
fn without_a_gateway_the_program_has_the_secret_in_its_variable_and_nothing_else_does() {
    for source in SOURCES {
        let desk = Desk::new(source, User::Program, "program");
        desk.play("ok", "");
        let end = desk.run().exits(0);
        desk.was_sent();
        let env = desk.seen("env");
        let with: Vec<&str> = env.lines().filter(|line| line.contains(&desk.canary)).collect();
        assert_eq!(with, [format!("OPENAI_API_KEY={}", desk.canary)], "{source:?}");
        assert!(!desk.seen("args").contains(&desk.canary), "{source:?}");
        desk.is_kept_nowhere(&end);
    }
}

#[test]
fn a_secret_that_a_service_repeats_is_taken_out_before_anything_sees_it() {
    for user in [User::Request, User::Gateway, User::Program] {
        for (scenario, code) in [("echo-key-ok", 0), ("echo-key", 3)] {
            let desk = Desk::new(Source::File, user, scenario);
            desk.play(scenario, "");
            let end = desk.run().exits(code);
            desk.was_sent();
            desk.is_kept_nowhere(&end);
        }
    }
}

#[test]
fn a_secret_that_is_bound_to_hosts_goes_nowhere_else() {
    for (user, place) in [(User::Request, "127.0.0.1"), (User::Gateway, "127.0.0.1"), (User::Program, "a program")] {
        let desk = Desk::new(Source::File, user, "bound");
        desk.play("ok", "hosts = [\"api.openai.com\"]");
        let end = desk.call().run().exits(3);
        let told = format!("{}{}", end.stdout, end.stderr);
        for word in ["[secrets.OPENAI_API_KEY]", "api.openai.com", place, "hosts"] {
            assert!(told.contains(word), "{user:?}: it does not say {word}:\n{told}");
        }
        assert!(desk.api.requests().is_empty(), "{user:?}");
        assert!(!desk.machine.at("seen/up").exists(), "{user:?}: the program was started");
        assert_eq!(desk.machine.status()["tasks"]["parked"], 0, "{user:?}: it costs no attempt");
    }
}

#[test]
fn a_secret_that_is_bound_to_its_own_host_is_sent_there() {
    for user in [User::Request, User::Gateway] {
        let desk = Desk::new(Source::File, user, "at-home");
        desk.play("ok", "hosts = [\"127.0.0.1\"]");
        desk.run().exits(0);
        desk.was_sent();
    }
}

#[test]
fn a_missing_secret_is_told_with_its_mend_and_sends_nothing() {
    let mut untold = Vec::new();
    for user in [User::Request, User::Gateway, User::Program] {
        let desk = Desk::new(Source::File, user, "missing");
        desk.play("ok", "");
        fs::remove_file(desk.machine.at("keys/key")).unwrap();
        let end = desk.call().run().exits(3);
        let told = format!("{}{}", end.stdout, end.stderr);
        // The secret, and the file that it was to come from.
        if !told.contains("OPENAI_API_KEY") || !told.contains("keys/key") {
            untold.push(format!("{user:?}: {}", end.json()["causes"]));
        }
        assert!(desk.api.requests().is_empty() && !desk.machine.at("seen/up").exists(), "{user:?}");
        assert_eq!(desk.machine.status()["tasks"]["parked"], 0, "{user:?}: it costs no attempt");
    }
    assert_eq!(untold, [""; 0]);
    let desk = Desk::new(Source::Variable, User::Request, "unset");
    desk.play("ok", "");
    let args = ["run", "--no-deepening", "--provider", "openai", "--model", "m-1"];
    desk.machine.assize(&args).run().exits(3).says(VARIABLE).says("[secrets.OPENAI_API_KEY]");
    assert!(desk.api.requests().is_empty());
}

#[test]
fn a_password_store_that_fails_is_named_without_what_it_said() {
    let desk = Desk::new(Source::File, User::Request, "store");
    let key = desk.machine.at("keys/key");
    let script = desk.machine.at("bin/store");
    desk.machine.script(&script, &format!("#!/bin/sh\ncat '{}'\ncat '{}' >&2\nexit 7\n", key.display(), key.display()));
    desk.play("ok", "");
    let base = desk.api.scenario("ok");
    desk.machine.configure(&format!(
        "[providers.openai]\nbase_url = \"{base}/v1\"\napi = \"chat\"\nmodel = \"m-1\"\n\
         [secrets.OPENAI_API_KEY]\ncommand = [{script:?}]\n"
    ));
    let end = desk.call().run().exits(3);
    let told = format!("{}{}", end.stdout, end.stderr);
    assert!(told.contains("bin/store") && told.contains('7'), "{told}");
    assert!(desk.api.requests().is_empty());
    assert!(!forms(&desk.canary).iter().any(|form| told.contains(form)), "{told}");
}

#[test]
fn a_secret_has_one_source() {
    let desk = Desk::new(Source::File, User::Request, "two");
    desk.play("ok", "env = \"ANOTHER\"");
    let end = desk.call().run().exits(2);
    assert!(end.stderr.contains("more than one source"), "{}", end.stderr);
}
