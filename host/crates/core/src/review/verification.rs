//! Checks what a deepening task decided.

use serde_json::{Map, Value};

use super::finding::check_enum;
use super::members::Marks;
use super::problem::shown;
use crate::result::{Confidence, Severity, Verdict, VerdictKind, Verification};
use crate::task::{Deepening, Task};

/// Verdicts of one result.
const VERDICTS: usize = 500;

/// The decision of a deepening task's result; `None` for ordinary tasks, whatever they say.
pub(super) fn check_verification(object: &Map<String, Value>, task: &Task, marks: &mut Marks) -> Option<Verification> {
    let value = object.get("verification").filter(|value| !value.is_null());
    let Some(deepening) = &task.deepening else {
        if value.is_some() {
            marks.warn("verification-unasked", "/verification", "the task asks for no verification; it was dropped");
        }
        return None;
    };
    match value {
        None if deepening.findings.is_empty() => None,
        // Workers of the older contract look again without judging. Their look counts; the findings stay as they are.
        None => {
            let message = "the task asks for a verdict on each finding and got none; the findings stay as they are";
            marks.warn("verification-missing", "/verification", message);
            None
        }
        Some(Value::Object(object)) => Some(read_verification(object, deepening, marks)),
        Some(_) => {
            marks.error("wrong-type", "/verification", "`verification` must be an object");
            None
        }
    }
}

fn read_verification(object: &Map<String, Value>, deepening: &Deepening, marks: &mut Marks) -> Verification {
    const PLACE: &str = "/verification";
    let verdicts = match object.get("verdicts") {
        None | Some(Value::Null) => Vec::new(),
        Some(_) => read_verdicts(object, deepening, marks),
    };
    let verified = marks.flag(object, "verified", PLACE);
    if verified.is_none() && verdicts.is_empty() && object.get("verified").is_none_or(Value::is_null) {
        marks.error("verification-empty", PLACE, "neither `verified` nor `verdicts` is given");
    }
    Verification {
        verified: verified.unwrap_or(false),
        needs_followup: marks.flag(object, "needs_followup", PLACE).unwrap_or(false),
        concerns: marks.texts(object, "concerns", PLACE),
        coverage_concerns: marks.texts(object, "coverage_concerns", PLACE),
        confidence_concerns: marks.texts(object, "confidence_concerns", PLACE),
        verdicts,
    }
}

fn read_verdicts(object: &Map<String, Value>, deepening: &Deepening, marks: &mut Marks) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> = Vec::new();
    for (at, entry) in marks.list(object, "verdicts", "/verification", VERDICTS).iter().enumerate() {
        let place = format!("/verification/verdicts/{at}");
        let Some(entry) = entry.as_object() else {
            marks.error("not-an-object", place, "a verdict must be an object");
            continue;
        };
        let id = marks.text(entry, "finding_id", &place);
        let kind = check_enum(entry, "verdict", &place, parse_verdict, marks);
        let severity = optional_word(entry, "severity", &place, Severity::parse, marks);
        let confidence = optional_word(entry, "confidence", &place, Confidence::parse, marks);
        let (Some(id), Some(kind)) = (id, kind) else { continue };
        let reason = if kind == VerdictKind::Confirm {
            marks.optional_text(entry, "reason", &place)
        } else {
            marks.text(entry, "reason", &place)
        };
        let id = id.trim().to_owned();
        if !deepening.findings.iter().any(|asked| asked.as_str() == id) {
            marks.warn("verdict-unasked", place, format!("{} was not asked about; dropped", shown(&id)));
        } else if verdicts.iter().any(|verdict| verdict.finding_id == id) {
            marks.error("verdict-repeated", place, "the finding has an earlier verdict in this result");
        } else {
            let reason = reason.unwrap_or_default();
            verdicts.push(Verdict { finding_id: id, verdict: kind, severity, confidence, reason });
        }
    }
    let open = deepening.findings.iter().filter(|id| !verdicts.iter().any(|v| v.finding_id == id.as_str()));
    let open = open.count();
    if open > 0 && !verdicts.is_empty() {
        marks.warn("verdict-missing", "/verification/verdicts", format!("{open} findings got no verdict"));
    }
    verdicts
}

fn optional_word<T>(
    entry: &Map<String, Value>,
    key: &str,
    place: &str,
    parse: fn(&str) -> Option<T>,
    marks: &mut Marks,
) -> Option<T> {
    entry.get(key).filter(|value| !value.is_null())?;
    check_enum(entry, key, place, parse, marks)
}

fn parse_verdict(word: &str) -> Option<VerdictKind> {
    match word.trim().to_ascii_lowercase().as_str() {
        "confirm" => Some(VerdictKind::Confirm),
        "raise" => Some(VerdictKind::Raise),
        "lower" => Some(VerdictKind::Lower),
        "refute" => Some(VerdictKind::Refute),
        _ => None,
    }
}
