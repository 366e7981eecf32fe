//! The settings of the budgets of a day.

use std::fmt;
use std::str::FromStr;

use clap::Args;

/// Limits of the costs of queries in a day (UTC). The costs are those of the tokens that providers
/// report, or that are estimated where they report none, at the prices of the models. A budget is checked
/// before each turn: a query whose budget is used up ends with the turn that runs. Amounts are numbers of
/// US dollars, which the configuration file can have without quotes.
#[derive(Clone, Debug, Default, PartialEq, Args)]
#[command(next_help_heading = "Budgets")]
pub struct BudgetSettings {
    /// Maximum cost of the queries of one user in a day (UTC), in US dollars. All pages with the same
    /// listed token are one user, as are all pages that have made their token themselves. The price of
    /// each model must be known. Default: no limit.
    #[arg(long, env = "MCP_WEB_AGENT_DAILY_BUDGET", value_name = "USD", value_parser = dollars)]
    pub daily_budget: Option<f64>,

    /// Maximum cost of the queries of one user with a role in a day (UTC), in US dollars, instead of
    /// `daily_budget`: `guest=0.5,staff=20`. If a user has several of the roles, the largest amount
    /// counts. Users without these roles have `daily_budget`.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_DAILY_ROLE_BUDGETS",
        value_name = "ROLE=USD,…",
        value_delimiter = ','
    )]
    pub daily_role_budgets: Vec<RoleBudget>,

    /// Maximum cost of the queries of all users together in a day (UTC), in US dollars. Default: no
    /// limit.
    #[arg(long, env = "MCP_WEB_AGENT_DAILY_TOTAL_BUDGET", value_name = "USD", value_parser = dollars)]
    pub daily_total_budget: Option<f64>,
}

impl BudgetSettings {
    /// Whether there is any budget.
    pub fn has_any(&self) -> bool {
        *self != Self::default()
    }

    /// Returns a warning for the operator, if there are budgets but some users have no separate one.
    pub(crate) fn warning(&self) -> Option<&'static str> {
        if self.daily_budget.is_some() {
            None
        } else if !self.daily_role_budgets.is_empty() {
            Some(
                "users without a role of `daily_role_budgets` have no budget: set \
                 `daily_budget` for them",
            )
        } else {
            self.daily_total_budget.map(|_| {
                "one user can use up the `daily_total_budget` of all, also by a page that has made \
                 its own token: set `daily_budget`"
            })
        }
    }

    /// Returns the budget of all users together.
    pub(crate) fn of_all(&self) -> Option<Usd> {
        self.daily_total_budget.map(Usd::from_dollars)
    }

    /// Returns the budget of a user with these roles.
    pub(crate) fn for_roles(&self, roles: &[String]) -> Option<Usd> {
        let of_roles = self.daily_role_budgets.iter();
        let of_roles = of_roles.filter(|budget| roles.contains(&budget.role));
        let largest = of_roles.map(|budget| budget.budget).max();
        largest.or(self.daily_budget.map(Usd::from_dollars))
    }
}

/// An amount of US dollars, in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Usd(u64);

impl Usd {
    /// Returns the amount that is nearest to a number of dollars. A negative one is 0.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it saturates"
    )]
    pub(crate) fn from_dollars(dollars: f64) -> Self {
        Self((dollars * 1e6).round() as u64)
    }

    /// Returns the amount in dollars.
    #[expect(
        clippy::cast_precision_loss,
        reason = "an amount above 2^53 is not spent"
    )]
    pub(crate) fn dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }

    pub(crate) fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    pub(crate) fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// Parses an amount of US dollars.
fn dollars(text: &str) -> Result<f64, String> {
    let dollars = text.trim().parse().ok();
    let dollars = dollars.filter(|it: &f64| it.is_finite() && *it >= 0.0);
    dollars.ok_or_else(|| "allowed are amounts of US dollars such as 0.5 or 20".to_owned())
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.dollars())
    }
}

/// The budget of the users with a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleBudget {
    role: String,
    budget: Usd,
}

impl FromStr for RoleBudget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (role, budget) = text
            .rsplit_once('=')
            .filter(|(role, _)| !role.trim().is_empty())
            .ok_or("allowed is a role with an amount of US dollars, such as staff=20")?;
        Ok(Self {
            role: role.trim().to_owned(),
            budget: Usd::from_dollars(dollars(budget)?),
        })
    }
}

impl fmt::Display for RoleBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.role, self.budget)
    }
}

#[cfg(test)]
mod tests {
    use bridge_settings::{LoadError, LoadedSettings};
    use clap::{CommandFactory, FromArgMatches};

    use super::*;

    #[derive(clap::Parser)]
    struct Program {
        #[arg(long)]
        config: Option<std::path::PathBuf>,
        #[command(flatten)]
        budgets: BudgetSettings,
    }

    #[test]
    fn amounts_are_read_and_written() {
        for (text, written) in [
            ("0.5", "0.5"),
            (" 20 ", "20"),
            ("0", "0"),
            ("0.000001", "0.000001"),
        ] {
            let amount = Usd::from_dollars(dollars(text).unwrap());
            assert_eq!(amount.to_string(), written);
        }
        for text in ["", "-1", "many", "inf", "NaN"] {
            assert!(dollars(text).is_err(), "{text}");
        }
        for (text, written) in [
            ("staff=20", "staff=20"),
            ("ou=staff = 0.50", "ou=staff=0.5"),
        ] {
            let budget: RoleBudget = text.parse().unwrap();
            assert_eq!(budget.to_string(), written);
        }
        for text in ["staff", "=1", "staff=much", "staff=1=much"] {
            assert!(text.parse::<RoleBudget>().is_err(), "{text}");
        }
    }

    #[test]
    fn amounts_in_a_file_are_numbers_and_are_printed_as_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.toml");
        let load = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let arguments = ["agent".into(), "--config".into(), path.clone().into()];
            LoadedSettings::<()>::load(Program::command(), arguments)
        };
        for (written, amount, printed) in [
            ("0.5", 0.5, "0.5"),
            ("20", 20.0, "20.0"),
            ("\"20\"", 20.0, "20.0"),
        ] {
            let loaded = load(&format!(
                "daily_budget = {written}\ndaily_total_budget = {written}\n\
                 daily_role_budgets = [\"a=1\", \"b=2\"]\n"
            ))
            .unwrap();
            let budgets = Program::from_arg_matches(&loaded.matches).unwrap().budgets;
            assert_eq!(budgets.daily_budget, Some(amount), "{written}");
            assert_eq!(budgets.daily_total_budget, Some(amount), "{written}");
            assert_eq!(budgets.daily_role_budgets.len(), 2);
            let toml = loaded.to_toml();
            for name in ["daily_budget", "daily_total_budget"] {
                let line = format!("{name} = {printed} #");
                assert!(toml.contains(&line), "{line} {toml}");
            }
            let toml = toml.replace("\n# config", "\n");
            assert!(
                load(&toml).is_ok(),
                "the printed file is one with the same settings"
            );
        }
        for (text, part) in [
            ("daily_budget = true", "allowed are numbers"),
            ("daily_budget = -1", "amounts of US dollars"),
            ("daily_budget = nan", "amounts of US dollars"),
        ] {
            let Err(LoadError::File(error)) = load(text) else {
                panic!("{text} is accepted");
            };
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn the_largest_budget_of_the_roles_counts() {
        let usd = |dollars| Some(Usd::from_dollars(dollars));
        let settings = BudgetSettings {
            daily_budget: Some(1.0),
            daily_role_budgets: ["guest=0.5", "staff=20"]
                .map(|it| it.parse().unwrap())
                .into(),
            daily_total_budget: None,
        };
        for (roles, expected) in [
            (&["guest"][..], usd(0.5)),
            (&["guest", "staff"], usd(20.0)),
            (&["other"], usd(1.0)),
            (&[], usd(1.0)),
        ] {
            let roles: Vec<_> = roles.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(settings.for_roles(&roles), expected, "{roles:?}");
        }
        assert_eq!(BudgetSettings::default().for_roles(&[]), None);
        assert_eq!(settings.warning(), None);
        let only_roles = BudgetSettings {
            daily_budget: None,
            ..settings
        };
        assert_eq!(only_roles.for_roles(&["other".to_owned()]), None);
        let warning = only_roles.warning().unwrap();
        assert!(warning.contains("set `daily_budget`"), "{warning}");
        let only_total = BudgetSettings {
            daily_total_budget: Some(20.0),
            ..BudgetSettings::default()
        };
        let warning = only_total.warning().unwrap();
        assert!(warning.contains("its own token"), "{warning}");
    }
}
