//! The definition of a flag, and a validated set of flags. The rows are in [`super::rows`].

use super::rows::COMMON;
use super::value::Value;

/// The syntax of a flag's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`; the bare flag means `true`.
    Bool,
    /// Any text.
    String,
    /// Texts separated by commas; repeatable.
    List,
    /// A Go duration.
    Duration,
    /// A whole number.
    Int,
    /// A finite number.
    Float,
    /// An IP address.
    Ip,
    /// `key=value` pairs separated by commas; repeatable.
    Map,
    /// One text for each time the flag is given; commas have no special meaning.
    Repeated,
    /// Only for `--version`: the bare flag, a boolean, `raw` or `vX.Y.Z`.
    Version,
}

impl Kind {
    /// The value of the flag without `=`, for kinds that never use the next argument as their value. `None` for other kinds.
    #[must_use]
    pub const fn bare(self) -> Option<&'static str> {
        match self {
            Self::Bool | Self::Version => Some("true"),
            _ => None,
        }
    }

    /// The placeholder of the value in help texts.
    #[must_use]
    pub const fn placeholder(self) -> &'static str {
        match self {
            Self::Bool => "",
            Self::String => "string",
            Self::List => "strings",
            Self::Duration => "duration",
            Self::Int => "int",
            Self::Float => "float",
            Self::Ip => "ip",
            Self::Map => "key=value,...",
            Self::Repeated => "string (repeatable)",
            Self::Version => "version",
        }
    }
}

/// The section of a flag in the help and reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Profiling.
    Debugging,
    /// Migration of controllers from the kube-controller-manager.
    LeaderMigration,
    /// Options that all controllers share.
    Generic,
    /// The controller that initializes Nodes.
    CloudNode,
    /// The controller that deletes Nodes whose server no longer exists.
    CloudNodeLifecycle,
    /// The controller of load balancers (service controller).
    ServiceLb,
    /// The controller that allocates pod CIDRs.
    NodeIpam,
    /// Admission webhooks.
    Webhook,
    /// The server of admission webhooks.
    WebhookServing,
    /// The HTTPS server.
    SecureServing,
    /// Authentication of callers.
    Authentication,
    /// Authorization of callers.
    Authorization,
    /// Other upstream flags.
    Misc,
    /// Logging, version, help.
    Global,
    /// Flags that only this manager has.
    Bowline,
    /// Flags of a provider, with a heading that the provider chooses.
    Provider(&'static str),
}

impl Section {
    /// The order in the help and reference; provider sections come before the global one.
    pub(super) const ORDER: [Self; 15] = [
        Self::Debugging,
        Self::LeaderMigration,
        Self::Generic,
        Self::CloudNode,
        Self::CloudNodeLifecycle,
        Self::ServiceLb,
        Self::NodeIpam,
        Self::Webhook,
        Self::WebhookServing,
        Self::SecureServing,
        Self::Authentication,
        Self::Authorization,
        Self::Misc,
        Self::Bowline,
        Self::Global,
    ];

    /// The heading of the section.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Debugging => "debugging",
            Self::LeaderMigration => "leader-migration",
            Self::Generic => "generic",
            Self::CloudNode => "cloud-node-controller",
            Self::CloudNodeLifecycle => "cloud-node-lifecycle-controller",
            Self::ServiceLb => "service-lb-controller",
            Self::NodeIpam => "node-ipam-controller",
            Self::Webhook => "webhook",
            Self::WebhookServing => "webhook serving",
            Self::SecureServing => "secure serving",
            Self::Authentication => "authentication",
            Self::Authorization => "authorization",
            Self::Misc => "misc",
            Self::Global => "global",
            Self::Bowline => "bowline",
            Self::Provider(title) => title,
        }
    }
}

/// One flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flag {
    /// The name without dashes.
    pub name: &'static str,
    /// The one-letter name, if any.
    pub short: Option<char>,
    /// The section that lists the flag.
    pub section: Section,
    /// The syntax of the value.
    pub kind: Kind,
    /// The default, in the syntax of the command line.
    pub default: &'static str,
    /// The help text, one or two sentences.
    pub help: &'static str,
    /// The version that added the flag, its deprecation, or why it has no effect; may be empty.
    pub note: &'static str,
}

impl Flag {
    /// Creates a row without a note; see [`Flag::noted`] and [`Flag::short`].
    #[must_use]
    pub const fn new(
        section: Section,
        name: &'static str,
        kind: Kind,
        default: &'static str,
        help: &'static str,
    ) -> Self {
        Self { name, short: None, section, kind, default, help, note: "" }
    }

    /// Adds a note.
    #[must_use]
    pub const fn noted(mut self, note: &'static str) -> Self {
        self.note = note;
        self
    }

    /// Adds a one-letter name.
    #[must_use]
    pub const fn short(mut self, letter: char) -> Self {
        self.short = Some(letter);
        self
    }
}

/// Why rows cannot be in one table. This is a bug of the program, not an error of its user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// Two flags have the same name.
    #[error("flag --{0} is declared twice")]
    DuplicateName(&'static str),
    /// Two flags have the same letter.
    #[error("flag --{name} wants -{letter}, which another flag has")]
    DuplicateShort {
        /// The name of the later flag.
        name: &'static str,
        /// The letter.
        letter: char,
    },
    /// An invalid name, which could never be given: `_` is read as `-` in names.
    #[error("flag name {0:?} must be lower case letters, digits and single dashes")]
    Name(&'static str),
    /// The default is invalid for the flag's kind.
    #[error("the default of --{name} is wrong: {problem}")]
    Default {
        /// The name of the flag.
        name: &'static str,
        /// Why the default is invalid.
        problem: String,
    },
}

/// All flags of a program, with unique names.
#[derive(Debug, Clone)]
pub struct FlagTable {
    rows: Vec<Flag>,
}

impl FlagTable {
    /// The table of the flags of every cloud-controller-manager, and Bowline's own.
    #[must_use]
    pub fn common() -> Self {
        Self { rows: COMMON.to_vec() }
    }

    /// Adds a provider's flags to the table.
    ///
    /// # Errors
    ///
    /// If a name or letter is already used, a name is invalid, or a default has the wrong kind.
    pub fn with(mut self, extra: &[Flag]) -> Result<Self, TableError> {
        for row in extra {
            self.admit(row)?;
            self.rows.push(*row);
        }
        Ok(self)
    }

    fn admit(&self, row: &Flag) -> Result<(), TableError> {
        let name = row.name;
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.starts_with('-') || name.ends_with('-') || !name.chars().all(allowed) {
            return Err(TableError::Name(name));
        }
        if self.find(name).is_some() {
            return Err(TableError::DuplicateName(name));
        }
        if let Some(letter) = row.short
            && self.find_short(letter).is_some()
        {
            return Err(TableError::DuplicateShort { name, letter });
        }
        Value::default_of(row).map(drop).map_err(|problem| TableError::Default { name, problem })
    }

    /// All rows, in the order of declaration.
    #[must_use]
    pub fn rows(&self) -> &[Flag] {
        &self.rows
    }

    /// The flag with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Flag> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// The flag with this letter.
    #[must_use]
    pub fn find_short(&self, letter: char) -> Option<&Flag> {
        self.rows.iter().find(|row| row.short == Some(letter))
    }

    /// The sections that have rows, in the order of the help.
    #[must_use]
    pub fn sections(&self) -> Vec<Section> {
        let mut sections: Vec<Section> = Section::ORDER.to_vec();
        let before_bowline = sections.iter().position(|section| *section == Section::Bowline).unwrap_or(0);
        for row in self.rows.iter().rev() {
            if !sections.contains(&row.section) {
                sections.insert(before_bowline, row.section);
            }
        }
        sections.retain(|section| self.rows.iter().any(|row| row.section == *section));
        sections
    }

    /// The rows of one section, sorted by name.
    #[must_use]
    pub fn rows_of(&self, section: Section) -> Vec<&Flag> {
        let mut rows: Vec<&Flag> = self.rows.iter().filter(|row| row.section == section).collect();
        rows.sort_by_key(|row| row.name);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXTRA: Flag = Flag::new(
        Section::Provider("openstack"),
        "user-agent",
        Kind::Repeated,
        "",
        "Text for the user agent.",
    );

    #[test]
    fn the_common_table_keeps_the_rules_it_sets_for_providers() {
        let again = FlagTable { rows: Vec::new() }.with(FlagTable::common().rows());
        assert_eq!(again.map(|table| table.rows().len()), Ok(COMMON.len()));
    }

    #[test]
    fn every_flag_says_what_it_does() {
        for row in FlagTable::common().rows() {
            assert!(row.help.ends_with('.') && row.help.len() > 10, "{}", row.name);
        }
    }

    #[test]
    fn a_provider_adds_flags_but_takes_no_name_twice() {
        let table = FlagTable::common().with(&[EXTRA]).unwrap();
        assert!(table.find("user-agent").is_some());
        assert!(table.sections().contains(&Section::Provider("openstack")));
        assert!(matches!(table.with(&[EXTRA]), Err(TableError::DuplicateName("user-agent"))));
        let taken = Flag { name: "value", ..EXTRA }.short('v');
        assert!(matches!(
            FlagTable::common().with(&[taken]),
            Err(TableError::DuplicateShort { letter: 'v', .. })
        ));
    }

    #[test]
    fn a_name_that_cannot_be_given_or_a_default_that_cannot_be_read_is_refused() {
        let underscored = Flag { name: "user_agent", ..EXTRA };
        assert!(matches!(FlagTable::common().with(&[underscored]), Err(TableError::Name("user_agent"))));
        let wrong = Flag { name: "pause", kind: Kind::Duration, default: "5", ..EXTRA };
        assert!(matches!(FlagTable::common().with(&[wrong]), Err(TableError::Default { .. })));
    }
}
