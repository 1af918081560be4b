//! Normal forms of what reviewers write, so that the same thing said twice is seen to be the same.

/// A category in lower case, its words joined by `-`: `Hard_Coded Secret` is `hard-coded-secret`.
pub(crate) fn normal_category(text: &str) -> String {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    words.join("-")
}

/// A symbol without white space, call brackets or differences between separators: `Foo::bar()` is `Foo.bar`.
pub(super) fn normal_symbol(text: &str) -> String {
    let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let bare = bare.split('(').next().unwrap_or_default();
    bare.replace("::", ".").replace("->", ".").replace('#', ".").trim_matches('.').to_owned()
}

/// Text without any white space: reformatting does not change it.
pub(super) fn without_space(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// The words of a title: lower case, sorted, once each. Numbers are left out, because they are mostly line numbers.
/// Scripts that put no spaces between words give one word a character.
pub(super) fn title_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.to_lowercase().chars() {
        let alone = has_no_spaces(c);
        if (alone || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if alone {
            words.push(c.to_string());
        } else if c.is_alphanumeric() {
            word.push(c);
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty() && !word.chars().all(char::is_numeric));
    words.sort();
    words.dedup();
    words
}

/// Whether the script of the character is written without spaces between words.
fn has_no_spaces(c: char) -> bool {
    matches!(u32::from(c), 0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3040..=0x30FF | 0x3400..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

/// How much two sorted word lists share: percent of the words that either has.
pub(super) fn likeness(left: &[String], right: &[String]) -> usize {
    let shared = left.iter().filter(|word| right.binary_search(word).is_ok()).count();
    let all = left.len() + right.len() - shared;
    (shared * 100).checked_div(all).unwrap_or(0)
}

/// One line without control characters, cut at `chars`.
pub(super) fn one_line(text: &str, chars: usize) -> String {
    let mut line = String::new();
    for part in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|part| !part.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(part);
    }
    match line.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_of_categories_and_symbols_does_not_count() {
        assert_eq!(normal_category(" Hard_Coded  Secret"), normal_category("hard-coded-secret"));
        assert_ne!(normal_category("race"), normal_category("trace"));
        assert_eq!(normal_symbol("Foo::bar( x )"), normal_symbol("Foo.bar"));
    }

    #[test]
    fn titles_in_any_script_have_words() {
        assert_eq!(title_words("Line 30: Bad bad Check"), ["bad", "check", "line"]);
        assert!(likeness(&title_words("密码硬编码在源码"), &title_words("密码硬编码")) >= 50);
        assert!(likeness(&title_words("Пароль в коде"), &title_words("пароль В коде")) == 100);
        assert_eq!(likeness(&[], &[]), 0);
    }

    #[test]
    fn a_line_is_cut_between_characters() {
        assert_eq!(one_line("a\n\u{7}b  é", 4), "a b …");
        assert_eq!(one_line("a\n\u{7}b  é", 9), "a b é");
    }
}
