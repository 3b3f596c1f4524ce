//! Recording is switched on and off, by a person, by the configuration, or because it cannot go on.

use numaestro_abi::control::{RecordingStatus, Reply};
use tracing::{info, warn};

use super::Front;
use crate::decision::choice;
use crate::decision::recording::Wanted;
use crate::identity::rights::Refusal;
use crate::shell::Shell;

impl Front {
    /// The manager begins to record, if that is configured or was chosen under a former one.
    pub(super) fn choose_recording(&mut self, shell: &mut Shell) {
        if choice::records(self.directory.runtime().path(), &self.config) {
            self.start_recording(shell);
        }
    }

    /// The configuration has been read again. `before`: whether it said to record.
    pub(super) fn configure_recording(&mut self, before: bool, shell: &mut Shell) {
        let after = choice::records_as_configured(&self.config);
        let records = if before == after { shell.recording().is_some() } else { after };
        let wanted = records.then(|| Wanted::of(&self.config));
        if shell.recording().map(crate::decision::recording::Recording::wanted) == wanted.as_ref() {
            return;
        }
        if wanted.is_some() {
            self.start_recording(shell);
        } else {
            Self::stop_recording(shell);
        }
    }

    /// `record on`, `record off`, or only the question.
    pub(super) fn record(&mut self, on: Option<bool>, shell: &mut Shell) -> Result<Reply, Refusal> {
        let mut kept = true;
        if let Some(on) = on {
            match (on, shell.recording().is_some()) {
                (true, false) => self.start_recording(shell),
                (false, true) => Self::stop_recording(shell),
                _ => {}
            }
            if on && shell.recording().is_none() {
                let hint = "`[recording] directory` in the configuration names another place";
                return Err(Refusal::new(self.recording_trouble.clone(), hint));
            }
            kept = choice::keep_recording(self.directory.runtime(), &self.config, on);
        }
        let wanted = Wanted::of(&self.config);
        Ok(Reply::Recording(RecordingStatus {
            on: shell.recording().is_some(),
            directory: wanted.directory.display().to_string(),
            trouble: self.recording_trouble.clone(),
            kept,
        }))
    }

    /// It has ended before its time; the manager goes on.
    pub(super) fn recording_ended(&mut self, trouble: String, shell: &mut Shell) {
        warn!("the recording ends here: {trouble}");
        self.recording_trouble = trouble;
        // Nothing is left that could fail.
        let _ = shell.record(None);
    }

    fn start_recording(&mut self, shell: &mut Shell) {
        let wanted = Wanted::of(&self.config);
        info!(directory = %wanted.directory.display(), "recording");
        self.recording_trouble.clear();
        let place = wanted.directory.display().to_string();
        if let Err(cause) = shell.record(Some(wanted)) {
            self.recording_ended(format!("cannot write in {place}: {cause}"), shell);
        }
    }

    /// Everything so far is written when this returns, unless the disk hangs.
    pub(super) fn stop_recording(shell: &mut Shell) {
        if shell.recording().is_some() {
            info!("recording no more");
        }
        // Nothing is left that could fail.
        let _ = shell.record(None);
    }
}
