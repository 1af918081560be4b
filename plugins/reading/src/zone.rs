//! Time zones by the names that programs print. A name that is not known, or that stands for several zones, gives no
//! zone, so that no instant is ever told wrongly.

use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

/// Bytes of a zone's name at most.
const NAME_BYTES: usize = 48;

/// Abbreviations that mean one offset or place only, as programs use them. `CST`, `IST`, `BST` and their like are
/// missing because they mean several.
const ABBREVIATIONS: [(&str, i32); 11] = [
    ("UTC", 0),
    ("GMT", 0),
    ("Z", 0),
    ("PST", -8),
    ("PDT", -7),
    ("MDT", -6),
    ("EST", -5),
    ("EDT", -4),
    ("CET", 1),
    ("CEST", 2),
    ("JST", 9),
];

/// What stands after a time of day.
#[derive(Clone, Debug, PartialEq)]
pub enum ToldZone {
    /// Nothing that looks like a zone.
    Absent,
    /// A zone.
    Known(TimeZone),
    /// Something that looks like a zone and is not known.
    Unknown,
}

/// The zone at the beginning of a text: `(Europe/Berlin)`, `UTC`, `(GMT+2)`, `PST`, `America/New_York`.
pub fn parse_zone(text: &str) -> ToldZone {
    let text = text.trim_start();
    let told = match text.strip_prefix('(') {
        Some(inside) => inside.split([')', '\n']).next().unwrap_or_default().trim(),
        None => {
            let token = text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | ')' | ']' | '·')).next();
            let token = token.unwrap_or_default().trim_end_matches('.');
            let upper = token.chars().take_while(char::is_ascii_uppercase).count();
            let capitals = (1..=5).contains(&upper) && !token[upper..].starts_with(|c: char| c.is_alphabetic());
            if !(capitals || token.contains('/') || token.starts_with(['+', '\u{2212}'])) {
                return ToldZone::Absent;
            }
            token
        }
    };
    find_zone(told).map_or(ToldZone::Unknown, ToldZone::Known)
}

/// The zone of a name of the IANA database, an abbreviation or an offset such as `+02:00` or `UTC-5`.
pub fn find_zone(name: &str) -> Option<TimeZone> {
    if name.is_empty() || name.len() > NAME_BYTES {
        return None;
    }
    let upper = name.to_ascii_uppercase();
    match upper.as_str() {
        "PT" => return find_place("America/Los_Angeles"),
        "ET" => return find_place("America/New_York"),
        _ => {}
    }
    if let Some((_, hours)) = ABBREVIATIONS.iter().find(|(known, _)| *known == upper) {
        return Some(Offset::from_seconds(hours * 3600).ok()?.to_time_zone());
    }
    if name.contains('/') {
        return find_place(name);
    }
    let signed = upper.strip_prefix("UTC").or_else(|| upper.strip_prefix("GMT")).unwrap_or(&upper);
    parse_offset(signed).map(Offset::to_time_zone)
}

fn find_place(name: &str) -> Option<TimeZone> {
    TimeZoneDatabase::bundled().get(name).ok()
}

fn parse_offset(text: &str) -> Option<Offset> {
    let sign = match text.chars().next()? {
        '+' => 1,
        '-' | '\u{2212}' => -1,
        _ => return None,
    };
    let digits: String = text.chars().skip(1).filter(|c| *c != ':').collect();
    if digits.is_empty() || digits.len() > 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes) = if digits.len() <= 2 { (digits.as_str(), "0") } else { digits.split_at(digits.len() - 2) };
    let seconds = hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok()? * 60;
    Offset::from_seconds(sign * seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_several_zones_is_unknown() {
        for name in ["CST", "IST", "BST", "Atlantis/Capital", "+99:99", "+ü", "I"] {
            assert_eq!(parse_zone(name), ToldZone::Unknown, "{name}");
        }
    }

    #[test]
    fn words_after_a_time_are_no_zone() {
        for rest in ["", ". Upgrade", " or later", " · upgrade", "\nMore"] {
            assert_eq!(parse_zone(rest), ToldZone::Absent, "{rest}");
        }
    }

    #[test]
    fn places_abbreviations_and_offsets_are_zones() {
        for text in ["(Europe/Berlin)", "america/new_york", "(UTC)", "GMT+2", "PST.", "(+05:30)", "UTC-0330", "Z"] {
            assert!(matches!(parse_zone(text), ToldZone::Known(_)), "{text}");
        }
    }
}
