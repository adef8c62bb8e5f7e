//! From texts to a [`CloudConf`]: every key through its row of the table. Pure.
//!
//! Several texts are read into one configuration in their order, as gcfg does: a later value wins, lists grow. All errors
//! are collected. What nobody knows is a warning, for OCCM reads such files.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use bowline_cloud::suggest::hint;
use secrecy::SecretString;
use zeroize::Zeroizing;

use super::check;
use super::gcfg::{self, Entry, ItemKind, Position};
use super::keys::{self, Field, KEYS, Key, Mark, Section};
use super::kinds;
use super::model::{CloudConf, Global, LoadBalancer, Metadata, Networking, Route};
use super::problem::{Problem, Problems};
use super::tenancy::{self, Tenancy};

/// A text with the name that messages call it by.
#[derive(Clone)]
pub struct Source {
    /// The path of the file, or what else it came from.
    pub name: String,
    /// The text. May hold secrets.
    pub text: Zeroizing<String>,
}

impl Source {
    /// A text of this name.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: Zeroizing::new(text.into()) }
    }

    /// The text that bytes are.
    ///
    /// # Errors
    ///
    /// The place where they stop to be UTF-8.
    pub fn from_bytes(name: impl Into<String>, bytes: &[u8]) -> Result<Self, Problems> {
        let name = name.into();
        match gcfg::text_of(bytes) {
            Ok(text) => Ok(Self::new(name, text)),
            Err(error) => Err(Problems(vec![Problem::syntax(&name, &error)])),
        }
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A configuration that was read, with what is doubtful in it.
#[derive(Debug, Clone, Default)]
pub struct Decoded {
    /// What it says.
    pub conf: CloudConf,
    /// What a person should look at.
    pub warnings: Vec<Problem>,
}

/// Reads texts, the later ones over the earlier.
///
/// # Errors
///
/// All that is wrong in all of them.
pub fn decode(sources: &[Source]) -> Result<Decoded, Problems> {
    let mut decoder = Decoder {
        conf: defaults(),
        file: String::new(),
        section: None,
        places: BTreeMap::new(),
        errors: Vec::new(),
        warnings: Vec::new(),
    };
    sources.iter().for_each(|source| decoder.read(source));
    let Decoder { mut conf, places, mut errors, mut warnings, .. } = decoder;
    let found = check::check(&mut conf);
    let place = |finding: check::Finding| {
        let (file, position) = places
            .get(&(finding.section, finding.key))
            .cloned()
            .map_or((String::new(), None), |(file, position)| (file, Some(position)));
        let file = if file.is_empty() {
            sources.last().map(|source| source.name.clone()).unwrap_or_default()
        } else {
            file
        };
        Problem { file, position, key: Some(label(finding.section, finding.key)), what: finding.what }
    };
    errors.extend(found.errors.into_iter().map(place));
    warnings.extend(found.warnings.into_iter().map(place));
    if errors.is_empty() { Ok(Decoded { conf, warnings }) } else { Err(Problems(errors)) }
}

/// What an empty file says.
pub(super) fn defaults() -> CloudConf {
    let mut conf = CloudConf {
        global: Global::default(),
        load_balancer: LoadBalancer::default(),
        classes: BTreeMap::new(),
        tenancy: Tenancy::default(),
        networking: Networking::default(),
        route: Route::default(),
        metadata: Metadata::default(),
    };
    for key in KEYS.iter().filter(|key| !key.default.is_empty()) {
        // A test reads every default; one that cannot be read leaves the empty value.
        if fill(&mut conf, "", key, Some(key.default)).is_err() {
            continue;
        }
    }
    conf
}

/// The section that lines belong to.
#[derive(Clone)]
enum Home {
    Known(Section, String),
    /// Told already; its keys are not looked at.
    Unknown,
}

struct Decoder {
    conf: CloudConf,
    file: String,
    section: Option<Home>,
    /// Where each key was last given, for what is found out about the whole.
    places: BTreeMap<(Section, &'static str), (String, Position)>,
    errors: Vec<Problem>,
    warnings: Vec<Problem>,
}

impl Decoder {
    fn read(&mut self, source: &Source) {
        let document = gcfg::parse(&source.text);
        self.file.clone_from(&source.name);
        self.section = None;
        self.errors.extend(document.errors().iter().map(|error| Problem::syntax(&source.name, error)));
        for item in document.items() {
            match &item.kind {
                ItemKind::Section(section) => self.enter(section),
                ItemKind::Entry(entry) => self.entry(entry),
                ItemKind::Blank | ItemKind::Homeless(_) | ItemKind::Broken => {}
            }
        }
    }

    fn enter(&mut self, header: &gcfg::Section) {
        let subsection = header.subsection.clone().unwrap_or_default();
        let home = match Section::find(&header.name) {
            None => {
                let hint = hint(&header.name, "", Section::ALL.map(Section::name));
                let what = format!("it is not used: no section is called [{}]{hint}", header.name);
                // A rule that is misspelled must not be without effect.
                if tenancy::is_meant_by(&header.name) {
                    self.error(header.position, None, what);
                } else {
                    self.warn(header.position, None, what);
                }
                Home::Unknown
            }
            Some(Section::LoadBalancerClass) => {
                if subsection.is_empty() {
                    let what = "a class without a name; its networks are those of every Service that names no class. Write [LoadBalancerClass \"name\"] if that is not meant";
                    self.warn(header.position, None, what.to_owned());
                }
                self.conf.classes.entry(subsection.clone()).or_default();
                Home::Known(Section::LoadBalancerClass, subsection)
            }
            Some(Section::Tenancy) => {
                if let Some(what) = tenancy::wrong_section(&subsection) {
                    self.error(header.position, None, what);
                }
                self.conf.tenancy.0.entry(subsection.clone()).or_default();
                Home::Known(Section::Tenancy, subsection)
            }
            Some(section) if !subsection.is_empty() => {
                let what = format!("it is not used: [{}] has no sub-sections", section.name());
                self.warn(header.position, None, what);
                Home::Unknown
            }
            Some(section) => Home::Known(section, subsection),
        };
        self.section = Some(home);
    }

    fn entry(&mut self, entry: &Entry) {
        let Some(Home::Known(section, class)) = self.section.clone() else { return };
        let Some(key) = keys::find(section, &entry.key) else { return self.unknown(section, entry) };
        let label = if class.is_empty() {
            label(section, key.name)
        } else {
            format!("[{} {class:?}] {}", section.name(), key.name)
        };
        if key.mark == Mark::Obsolete {
            let what = format!("it has no effect. {}", key.doc);
            return self.warn(entry.position, Some(label), what);
        }
        self.places.insert((section, key.name), (self.file.clone(), entry.position));
        let text = entry.value.as_ref().map(|value| value.text.as_str());
        if let Err(what) = fill(&mut self.conf, &class, key, text) {
            let position = entry.value.as_ref().map_or(entry.position, |value| value.position);
            self.error(position, Some(label.clone()), what);
        }
        if let Some(value) = entry.value.as_ref().filter(|value| value.touches_comment) {
            let what = "a comment begins right behind the value; if it belongs to the value, put all of it into double quotes";
            self.warn(value.position, Some(label), what.to_owned());
        }
    }

    fn unknown(&mut self, section: Section, entry: &Entry) {
        let hint = hint(&entry.key, "", keys::of(section).map(|key| key.name));
        let elsewhere = KEYS.iter().find(|key| gcfg::equal_fold(&entry.key, key.name));
        let elsewhere = elsewhere.filter(|_| hint.is_empty());
        let elsewhere = elsewhere.map(|key| format!("; [{}] has it", key.section.name())).unwrap_or_default();
        // A word without '=' that resembles nothing may be the second line of a secret.
        let secret = entry.value.is_none() && hint.is_empty() && elsewhere.is_empty();
        let name = if secret { "of this name (not shown)".to_owned() } else { format!("{:?}", entry.key) };
        let what = format!("it is not used: [{}] has no key {name}{hint}{elsewhere}", section.name());
        // A rule that is misspelled must not be without effect.
        if section == Section::Tenancy {
            return self.error(entry.position, None, what);
        }
        self.warn(entry.position, None, what);
    }

    fn error(&mut self, position: Position, key: Option<String>, what: String) {
        self.errors.push(Problem { file: self.file.clone(), position: Some(position), key, what });
    }

    fn warn(&mut self, position: Position, key: Option<String>, what: String) {
        self.warnings.push(Problem { file: self.file.clone(), position: Some(position), key, what });
    }
}

fn label(section: Section, key: &str) -> String {
    format!("[{}] {key}", section.name())
}

/// Puts a value into its field; `None` is the key alone. The error says what was wanted.
fn fill(conf: &mut CloudConf, class: &str, key: &Key, text: Option<&str>) -> Result<(), String> {
    let needed = || text.ok_or_else(|| "it needs a value: write `key = value`".to_owned());
    let wrong = |wanted: &str| {
        let found = text.filter(|text| text.len() <= 64).map(|text| format!(", found {text:?}"));
        format!("wanted {wanted}{}", found.unwrap_or_default())
    };
    match key.field {
        Field::Text(field) => needed()?.clone_into(field(conf)),
        Field::ClassText(field) => {
            needed()?.clone_into(field(conf.classes.entry(class.to_owned()).or_default()));
        }
        Field::RuleFlag(field) => {
            let rules = conf.tenancy.0.entry(class.to_owned()).or_default();
            *field(rules) = Some(text.map_or(Ok(true), kinds::flag).map_err(wrong)?);
        }
        Field::RuleList(field) => {
            let allowed = field(conf.tenancy.0.entry(class.to_owned()).or_default()).get_or_insert_default();
            match text {
                Some(text) => match tenancy::wrong_value(key.name, text) {
                    Some(wanted) => return Err(wrong(wanted)),
                    None => allowed.push(text.to_owned()),
                },
                None => allowed.clear(),
            }
        }
        Field::Word(field) => kinds::word(needed()?).map_err(wrong)?.clone_into(field(conf)),
        Field::Secret(field) => {
            *field(conf) = Some(needed()?).filter(|text| !text.is_empty()).map(SecretString::from);
        }
        Field::Flag(field) => *field(conf) = text.map_or(Ok(true), kinds::flag).map_err(wrong)?,
        Field::Integer(field) => *field(conf) = kinds::integer(needed()?).map_err(wrong)?,
        Field::Unsigned(field) => *field(conf) = kinds::unsigned(needed()?).map_err(wrong)?,
        Field::Duration(field) => *field(conf) = kinds::duration(needed()?).map_err(wrong)?,
        Field::List(field) => match text {
            Some(text) => field(conf).push(text.to_owned()),
            None => field(conf).clear(),
        },
        Field::Ignored => {}
    }
    Ok(())
}
