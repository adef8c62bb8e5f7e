//! Columns for people. Pure.

use crate::terminal::one_line;

/// Rows under their heads, each column as wide as it needs; the last is not filled up.
pub(crate) fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let mut lines = vec![heads.iter().map(|head| (*head).to_owned()).collect::<Vec<_>>()];
    let harmless = |cell: &String| one_line(cell).into_owned();
    lines.extend(rows.iter().map(|row| row.iter().map(harmless).collect()));
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let mut written = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            written.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(written.trim_end());
        text.push('\n');
    }
    text
}

/// What stands where there is nothing.
pub(crate) fn or_dash(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or("-").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_cannot_begin_a_line_of_its_own_or_command_the_terminal() {
        let text = table(&["NAME"], &[vec!["a\n\u{1b}[2Jb".to_owned()]]);
        assert_eq!(text, "NAME\na\\n\\u{1b}[2Jb\n");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_lines_have_no_spaces_at_their_end() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let text = table(&["NAME", "STATE"], &[row(["a", "ok"]), row(["longer-name", ""])]);
        assert_eq!(text, "NAME         STATE\na            ok\nlonger-name\n");
        assert_eq!(
            (or_dash(None), or_dash(Some("")), or_dash(Some("x"))),
            ("-".into(), "-".into(), "x".into())
        );
    }
}
