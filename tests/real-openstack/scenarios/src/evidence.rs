//! What is kept of a failed scenario: the ends of the cloud's logs. The manager's log is kept in any case.

use std::fs;
use std::path::Path;

use anyhow::Context;

/// Lines kept of each log.
const LINES: usize = 300;

/// Copies the end of each of the cloud's logs into a folder.
pub(crate) fn keep_logs(logs: &Path, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    for entry in fs::read_dir(logs).with_context(|| format!("read {}", logs.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let text = String::from_utf8_lossy(&fs::read(entry.path())?).into_owned();
            let lines: Vec<_> = text.lines().rev().take(LINES).collect();
            let end: String = lines.into_iter().rev().flat_map(|line| [line, "\n"]).collect();
            fs::write(folder.join(entry.file_name()), end)?;
        }
    }
    Ok(())
}
