//! A plugin's description of itself, checked before anybody is shown it or chooses by it.

use assize_core::plugin::{Description, PluginKind, Request, Service};

use crate::bindings::types;

/// What is wrong, and with which field.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) field: &'static str,
    pub(crate) problem: String,
}

/// The longest name and version.
const SHORT: usize = 64;
/// The longest line.
const LINE: usize = 512;
/// The most services and extra values.
const MANY: usize = 256;
/// The most wishes for grants; a person has to judge each.
const WISHES: usize = 32;
/// The longest schema. A hundred keys with their documentation fit.
const SCHEMA: usize = 256 << 10;

/// The description, if it is one for a component of the kind.
///
/// # Errors
///
/// The first fault.
pub(crate) fn check_description(raw: types::Description, kind: PluginKind) -> Result<Description, Fault> {
    check_line("name", &raw.name, SHORT)?;
    ensure(is_kebab(&raw.name), "name", || format!("`{}` is not kebab-case", raw.name))?;
    check_line("version", &raw.version, SHORT)?;
    ensure(is_semver(&raw.version), "version", || format!("`{}` is not a SemVer version", raw.version))?;
    check_line("summary", &raw.summary, LINE)?;
    check_line("license", &raw.license, LINE)?;
    check_line("kind", &raw.kind, SHORT)?;
    ensure(raw.kind == kind.as_str(), "kind", || {
        format!("says `{}`, but the component exports the interface of the kind `{}`", raw.kind, kind.as_str())
    })?;
    check_services(&raw.serves)?;
    check_schema(&raw.config_schema)?;
    check_requests(&raw.requests)?;
    ensure(raw.extra.len() <= MANY, "extra", || format!("has more than {MANY} values"))?;
    for (name, value) in &raw.extra {
        ensure(name.len() <= LINE && value.len() <= SCHEMA, "extra", || "has a value that is too long".to_owned())?;
    }
    Ok(Description {
        name: raw.name,
        version: raw.version,
        summary: raw.summary,
        license: raw.license,
        kind,
        serves: raw.serves.into_iter().map(|s| Service { kind: s.kind, value: s.value }).collect(),
        config_schema: raw.config_schema,
        requests: raw.requests.into_iter().map(|r| Request { kind: r.kind, name: r.name, reason: r.reason }).collect(),
        extra: raw.extra,
    })
}

fn ensure(holds: bool, field: &'static str, problem: impl FnOnce() -> String) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(Fault { field, problem: problem() }) }
}

/// Length and characters come first, so that later messages may quote the text on a terminal.
fn check_line(field: &'static str, text: &str, longest: usize) -> Result<(), Fault> {
    ensure(!text.trim().is_empty(), field, || "is empty".to_owned())?;
    ensure(text.len() <= longest, field, || format!("has more than {longest} bytes"))?;
    ensure(!text.chars().any(char::is_control), field, || "has a control character".to_owned())
}

/// Kinds of services may be added by later versions, so an unknown one is kept.
fn check_services(services: &[types::Service]) -> Result<(), Fault> {
    ensure(services.len() <= MANY, "serves", || format!("has more than {MANY} entries"))?;
    services.iter().try_for_each(|service| {
        check_line("serves", &service.kind, SHORT)?;
        check_line("serves", &service.value, LINE)
    })
}

fn check_schema(schema: &str) -> Result<(), Fault> {
    ensure(schema.len() <= SCHEMA, "config-schema", || format!("has more than {SCHEMA} bytes"))?;
    match serde_json::from_str::<serde_json::Value>(schema) {
        Ok(serde_json::Value::Object(_)) => Ok(()),
        Ok(_) => Err(Fault { field: "config-schema", problem: "is JSON, but not an object".to_owned() }),
        Err(error) => Err(Fault { field: "config-schema", problem: format!("is not JSON: {error}") }),
    }
}

/// An unknown kind of wish is refused: nobody could judge it.
fn check_requests(requests: &[types::Request]) -> Result<(), Fault> {
    ensure(requests.len() <= WISHES, "requests", || format!("has more than {WISHES} entries"))?;
    requests.iter().try_for_each(|request| {
        check_line("requests", &request.kind, SHORT)?;
        let known = ["program", "host", "secret"].contains(&request.kind.as_str());
        ensure(known, "requests", || format!("asks for a `{}`, which nothing can grant", request.kind))?;
        check_line("requests", &request.name, LINE)?;
        check_line("requests", &request.reason, LINE)
    })
}

fn is_kebab(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text
            .split('-')
            .all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()))
}

/// The grammar of SemVer 2.0.
fn is_semver(text: &str) -> bool {
    let (text, build) = match text.split_once('+') {
        Some((text, build)) => (text, Some(build)),
        None => (text, None),
    };
    let (core, pre) = match text.split_once('-') {
        Some((core, pre)) => (core, Some(pre)),
        None => (text, None),
    };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let number = |part: &str| digits(part) && (part == "0" || !part.starts_with('0'));
    let word = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let numbers: Vec<&str> = core.split('.').collect();
    numbers.len() == 3
        && numbers.into_iter().all(number)
        && pre.is_none_or(|pre| pre.split('.').all(|part| word(part) && (!digits(part) || number(part))))
        && build.is_none_or(|build| build.split('.').all(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw() -> types::Description {
        types::Description {
            name: "my-analyzer2".to_owned(),
            version: "1.2.3".to_owned(),
            summary: "Finds things.".to_owned(),
            license: "MIT".to_owned(),
            kind: "analyzer".to_owned(),
            serves: vec![types::Service { kind: "language".to_owned(), value: "*".to_owned() }],
            config_schema: "{}".to_owned(),
            requests: Vec::new(),
            extra: Vec::new(),
        }
    }

    fn fault(change: impl FnOnce(&mut types::Description)) -> &'static str {
        let mut description = raw();
        change(&mut description);
        check_description(description, PluginKind::Analyzer).expect_err("a fault").field
    }

    #[test]
    fn a_good_description_is_taken_whole() {
        let description = check_description(raw(), PluginKind::Analyzer).expect("good");
        assert_eq!(description.name, "my-analyzer2");
        assert_eq!(description.serving("language").collect::<Vec<_>>(), ["*"]);
    }

    #[test]
    fn each_fault_names_its_field() {
        let request = |kind: &str, reason: &str| types::Request {
            kind: kind.to_owned(),
            name: "x".to_owned(),
            reason: reason.to_owned(),
        };
        assert_eq!(fault(|d| d.name = "My Analyzer".to_owned()), "name");
        assert_eq!(fault(|d| d.name = "a".repeat(65)), "name");
        assert_eq!(fault(|d| d.version = "1.2".to_owned()), "version");
        assert_eq!(fault(|d| d.summary = " ".to_owned()), "summary");
        assert_eq!(fault(|d| d.summary = "\x1b[2J".to_owned()), "summary");
        assert_eq!(fault(|d| d.license = String::new()), "license");
        assert_eq!(fault(|d| d.kind = "provider".to_owned()), "kind");
        assert_eq!(fault(|d| d.serves[0].value = String::new()), "serves");
        assert_eq!(fault(|d| d.config_schema = "[]".to_owned()), "config-schema");
        assert_eq!(fault(|d| d.config_schema = "[".repeat(100_000)), "config-schema");
        assert_eq!(fault(|d| d.requests = vec![request("socket", "why")]), "requests");
        assert_eq!(fault(|d| d.requests = vec![request("host", "")]), "requests");
        assert_eq!(fault(|d| d.requests = vec![request("host", "why"); 33]), "requests");
    }

    #[test]
    fn versions_follow_the_grammar() {
        for good in ["0.1.0", "10.20.30", "1.0.0-alpha.1", "1.0.0-0a", "1.0.0+build.01", "1.0.0-a-b+c-d"] {
            assert!(is_semver(good), "{good}");
        }
        for bad in ["", "1", "1.2", "01.2.3", "1.2.3.4", "1.2.x", "1.2.3-", "1.2.3-01", "1.2.3+", "v1.2.3"] {
            assert!(!is_semver(bad), "{bad}");
        }
    }
}
