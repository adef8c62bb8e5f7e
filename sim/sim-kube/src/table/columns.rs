//! One column of a table.

use serde_json::{Value, json};

/// Name, type and whether it is shown only with `-o wide`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    name: String,
    kind: String,
    format: String,
    wide: bool,
}

/// A text column.
pub(super) fn column(name: &str) -> Column {
    let format = if name == "Name" { "name" } else { "" };
    Column { name: name.to_owned(), kind: "string".into(), format: format.into(), wide: false }
}

impl Column {
    /// A column that only `-o wide` shows.
    pub(super) fn wide(mut self) -> Self {
        self.wide = true;
        self
    }

    /// Another type than text.
    pub(super) fn of(mut self, kind: &str) -> Self {
        self.kind = kind.to_owned();
        self
    }

    pub(super) fn definition(&self) -> Value {
        json!({
            "name": self.name, "type": self.kind, "format": self.format, "description": "",
            "priority": i32::from(self.wide),
        })
    }
}
