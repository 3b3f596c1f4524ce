//! Asks the manager for what the viewer wishes. The manager decides whether they may.

use crate::manager::Manager;
use crate::say::{self, Failure};
use crate::{cli, set};
use axum::http::StatusCode;
use numaestro_abi::control::{AppName, Most, NewWishes, Request};
use serde::{Deserialize, Deserializer, Serialize};
use std::path::PathBuf;

/// What the viewer wishes.
#[derive(Debug)]
pub enum Change {
    Set(Wishes),
    Policy(Choice),
}

/// Other wishes for an application. What is absent stays as it was.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wishes {
    app: u64,
    min: Option<u32>,
    /// `null`: no limit any more.
    #[serde(default, deserialize_with = "most")]
    max: Option<Most>,
    weight: Option<f64>,
}

/// Another policy.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    policy: String,
}

fn most<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Most>, D::Error> {
    Ok(Some(Option::<u32>::deserialize(value)?.map_or(Most::All, Most::Processors)))
}

/// The answer.
#[derive(Debug)]
pub struct Outcome {
    pub status: StatusCode,
    pub said: Said,
}

/// The answer in words.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Said {
    Done { message: String },
    Refused { error: String, next: String },
}

impl Outcome {
    /// It was not done.
    pub fn refused(status: StatusCode, error: &str) -> Self {
        Self { status, said: Said::Refused { error: error.to_owned(), next: String::new() } }
    }

    fn of(error: &anyhow::Error) -> Self {
        let failure = error.downcast_ref::<Failure>();
        let status = match failure.map(|failure| failure.code) {
            Some(say::NOT_PERMITTED) => StatusCode::FORBIDDEN,
            Some(say::REFUSED) => StatusCode::CONFLICT,
            Some(say::UNAVAILABLE) => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::BAD_REQUEST,
        };
        let next = failure.map_or_else(String::new, |failure| failure.next.clone());
        Self { status, said: Said::Refused { error: format!("{error:#}"), next } }
    }
}

/// Asks; waits for the answer.
pub fn ask(dir: PathBuf, change: Change) -> Outcome {
    let said = Manager::required(Some(dir)).and_then(|mut manager| match change {
        Change::Set(wishes) => {
            let apps = manager.set(AppName::Number(wishes.app), wishes.read()?)?;
            Ok(apps.iter().map(set::sentence).collect::<Vec<_>>().join("; "))
        }
        Change::Policy(Choice { policy }) => {
            manager.order(&Request::PolicySet { policy: policy.clone() })?;
            Ok(format!("policy {policy}"))
        }
    });
    match said {
        Ok(message) => Outcome { status: StatusCode::OK, said: Said::Done { message } },
        Err(error) => Outcome::of(&error),
    }
}

impl Wishes {
    fn read(&self) -> anyhow::Result<NewWishes> {
        let weight = self.weight.map(|weight| cli::parse_weight(&weight.to_string())).transpose();
        let weight = weight.map_err(|problem| Failure::error(say::USAGE, problem, "1 is the usual weight"))?;
        Ok(NewWishes { min: self.min, max: self.max, weight_milli: weight.map(cli::milli), class: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_stays_and_null_is_no_limit() {
        let read = |text: &str| serde_json::from_str::<Wishes>(text).map(|wishes| wishes.read().unwrap());
        let wishes = read("{\"app\":3,\"max\":4,\"weight\":1.5}").unwrap();
        let expected = NewWishes { max: Some(Most::Processors(4)), weight_milli: Some(1500), ..NewWishes::default() };
        assert_eq!(wishes, expected);
        assert_eq!(read("{\"app\":3,\"max\":null}").unwrap().max, Some(Most::All));
        assert_eq!(read("{\"app\":3,\"min\":2}").unwrap(), NewWishes { min: Some(2), ..NewWishes::default() });
        for wrong in ["{}", "{\"app\":3,\"maximum\":4}", "{\"app\":3,\"max\":-1}", "[]", ""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let heavy: Wishes = serde_json::from_str("{\"app\":3,\"weight\":-1}").unwrap();
        let refused = Outcome::of(&heavy.read().unwrap_err());
        assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    }
}
