//! The keys of cloud.conf: one table, from which reading, validation, suggestions and the reference page come.
//!
//! A row names its section, its key, the field it fills (which is also its kind), its default and its meaning. Nothing
//! else in this crate knows the name of a key but for messages.

mod page;
mod rows;
#[cfg(test)]
mod tests;

use jiff::SignedDuration;
use secrecy::SecretString;

pub use self::page::reference_markdown;
pub use self::rows::KEYS;
use super::gcfg::equal_fold;
use super::model::{CloudConf, LoadBalancerClass};
use super::tenancy::{Allowed, TenancySection};

/// The sections of cloud.conf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// `[Global]`
    Global,
    /// `[LoadBalancer]`
    LoadBalancer,
    /// `[LoadBalancerClass "name"]`
    LoadBalancerClass,
    /// `[Tenancy "namespace"]`
    Tenancy,
    /// `[Networking]`
    Networking,
    /// `[Route]`
    Route,
    /// `[Metadata]`
    Metadata,
    /// `[BlockStorage]`, of the provider that was part of Kubernetes.
    BlockStorage,
}

impl Section {
    /// All, in the order of the reference page.
    pub const ALL: [Self; 8] = [
        Self::Global,
        Self::LoadBalancer,
        Self::LoadBalancerClass,
        Self::Tenancy,
        Self::Networking,
        Self::Route,
        Self::Metadata,
        Self::BlockStorage,
    ];

    /// Its name as OCCM's documentation writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Global => "Global",
            Self::LoadBalancer => "LoadBalancer",
            Self::LoadBalancerClass => "LoadBalancerClass",
            Self::Tenancy => "Tenancy",
            Self::Networking => "Networking",
            Self::Route => "Route",
            Self::Metadata => "Metadata",
            Self::BlockStorage => "BlockStorage",
        }
    }

    /// The section of this name, in any case.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|section| equal_fold(name, section.name()))
    }
}

/// The field that a key fills, which says how its value is read.
#[derive(Debug, Clone, Copy)]
pub enum Field {
    /// Any text.
    Text(fn(&mut CloudConf) -> &mut String),
    /// Any text, of a class.
    ClassText(fn(&mut LoadBalancerClass) -> &mut String),
    /// Yes or no, of the rules for a namespace.
    RuleFlag(fn(&mut TenancySection) -> &mut Option<bool>),
    /// What the rules for a namespace allow, one text for each time that the key is there.
    RuleList(fn(&mut TenancySection) -> &mut Allowed),
    /// One word.
    Word(fn(&mut CloudConf) -> &mut String),
    /// A text that is never shown.
    Secret(fn(&mut CloudConf) -> &mut Option<SecretString>),
    /// Yes or no.
    Flag(fn(&mut CloudConf) -> &mut bool),
    /// A whole number.
    Integer(fn(&mut CloudConf) -> &mut i64),
    /// A whole number without a sign.
    Unsigned(fn(&mut CloudConf) -> &mut u64),
    /// A time with its unit.
    Duration(fn(&mut CloudConf) -> &mut SignedDuration),
    /// One text for each time that the key is there.
    List(fn(&mut CloudConf) -> &mut Vec<String>),
    /// Known, and without effect.
    Ignored,
}

/// Where a key stands in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// OCCM reads it and documents it.
    Current,
    /// OCCM reads it, its documentation does not tell.
    Undocumented,
    /// Kubernetes' own provider had it, OCCM ignores it, and it works here.
    Legacy,
    /// Kubernetes' own provider had it; without effect.
    Obsolete,
    /// Bowline alone has it; OCCM ignores it.
    Bowline,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its section.
    pub section: Section,
    /// Its name.
    pub name: &'static str,
    /// What it fills.
    pub field: Field,
    /// What it is if it is not there, as one would write it.
    pub default: &'static str,
    /// The field of clouds.yaml that stands in for it when it is empty and `use-clouds` is on.
    pub clouds_yaml: &'static str,
    /// Where it stands in its life.
    pub mark: Mark,
    /// Whether it makes the process read files or variables of the machine that it runs on. Such a key is ignored in a text that comes
    /// from a cluster and is read on a person's machine.
    pub machine: bool,
    /// What it means.
    pub doc: &'static str,
}

impl Key {
    const fn new(section: Section, name: &'static str, field: Field) -> Self {
        Self {
            section,
            name,
            field,
            default: "",
            clouds_yaml: "",
            mark: Mark::Current,
            machine: false,
            doc: "",
        }
    }

    const fn default(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }

    const fn clouds_yaml(mut self, field: &'static str) -> Self {
        self.clouds_yaml = field;
        self
    }

    const fn mark(mut self, mark: Mark) -> Self {
        self.mark = mark;
        self
    }

    const fn of_machine(mut self) -> Self {
        self.machine = true;
        self
    }

    const fn doc(mut self, doc: &'static str) -> Self {
        self.doc = doc;
        self
    }

    /// Whether its value is never shown.
    #[must_use]
    pub const fn is_secret(&self) -> bool {
        matches!(self.field, Field::Secret(_))
    }

    /// The kind of its value, in a word or two.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self.field {
            Field::Text(_) | Field::ClassText(_) => "text",
            Field::Word(_) => "word",
            Field::Secret(_) => "secret text",
            Field::Flag(_) | Field::RuleFlag(_) => "yes or no",
            Field::Integer(_) => "whole number",
            Field::Unsigned(_) => "whole number, not negative",
            Field::Duration(_) => "time with unit",
            Field::List(_) | Field::RuleList(_) => "list, one value per line",
            Field::Ignored => "ignored",
        }
    }
}

/// The key of this name in a section, in any case.
#[must_use]
pub fn find(section: Section, name: &str) -> Option<&'static Key> {
    of(section).find(|key| equal_fold(name, key.name))
}

/// The keys of a section.
pub fn of(section: Section) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.section == section)
}
