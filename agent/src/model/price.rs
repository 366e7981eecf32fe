//! Prices of models, as `rules.toml` and the operator write them.

use std::collections::BTreeMap;

use bridge_protocol::TokenUsage;
use chrono::NaiveDate;
use serde::Deserialize;

/// The prices of a model, in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Price {
    input: f64,
    cached: f64,
    output: f64,
    cache_write: f64,
    long_prompt: Option<LongPrompt>,
}

/// The factors for a whole request whose input is long.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LongPrompt {
    /// The most tokens of input that cost the usual price.
    above: f64,
    input: f64,
    output: f64,
}

impl Price {
    /// The price of a model that costs nothing.
    pub(crate) const FREE: Self = Self {
        input: 0.0,
        cached: 0.0,
        output: 0.0,
        cache_write: 0.0,
        long_prompt: None,
    };

    /// Returns the cost of these tokens in US dollars. `cache_writes` are the tokens of the input that
    /// the provider has written to its cache.
    pub(crate) fn of(&self, tokens: &TokenUsage, cache_writes: u64) -> f64 {
        let count = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        let plain = tokens.input.saturating_sub(tokens.cached);
        let input = count(plain.saturating_sub(cache_writes), self.input)
            + count(cache_writes, self.cache_write)
            + count(tokens.cached, self.cached);
        let output = count(tokens.output, self.output);
        match self.long_prompt {
            Some(long) if tokens.input as f64 > long.above => {
                input * long.input + output * long.output
            }
            _ => input + output,
        }
    }

    /// Returns the most that this many tokens can cost, in US dollars.
    pub(crate) fn highest(&self, input: u64, output: u64) -> f64 {
        let tokens = TokenUsage {
            input,
            output,
            ..TokenUsage::default()
        };
        self.of(&tokens, 0).max(self.of(&tokens, input))
    }

    /// Reads `[input, cached, output]`, or these with the price of what is written to the cache of the
    /// provider, which else is that of the input. Three more numbers are for long prompts: above how
    /// many tokens of input, and the factors for the prices of all input and of the output.
    pub(crate) fn from_numbers(numbers: &[f64]) -> Option<Self> {
        let (input, cached, output, cache_write, long_prompt) = match *numbers {
            [input, cached, output] => (input, cached, output, input, None),
            [input, cached, output, cache_write] => (input, cached, output, cache_write, None),
            [
                input,
                cached,
                output,
                cache_write,
                above,
                times_input,
                times_output,
            ] => {
                let long_prompt = LongPrompt {
                    above,
                    input: times_input,
                    output: times_output,
                };
                (input, cached, output, cache_write, Some(long_prompt))
            }
            _ => return None,
        };
        let is_valid = |price: &f64| price.is_finite() && *price >= 0.0;
        numbers.iter().all(is_valid).then_some(Self {
            input,
            cached,
            output,
            cache_write,
            long_prompt,
        })
    }
}

/// The prices of a model by the day from which they hold. Before the first day, the first ones hold.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "WrittenPrices")]
pub(super) struct Prices(BTreeMap<NaiveDate, Price>);

/// Prices as a file has them.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a price is three, four or seven numbers, or a table of these by day"
)]
enum WrittenPrices {
    Always(Vec<f64>),
    /// By days such as `2027-01-01`.
    ByDay(BTreeMap<String, Vec<f64>>),
}

impl Prices {
    /// Returns the prices of a day.
    pub(super) fn on(&self, day: NaiveDate) -> Option<Price> {
        let begun = self.0.range(..=day).next_back();
        begun.or(self.0.first_key_value()).map(|(_, price)| *price)
    }
}

impl TryFrom<WrittenPrices> for Prices {
    type Error = String;

    fn try_from(written: WrittenPrices) -> Result<Self, String> {
        let price = |numbers: &[f64]| {
            Price::from_numbers(numbers).ok_or_else(|| {
                format!(
                    "{numbers:?} is not a price: write [input, cached, output] or [input, cached, \
                     output, written to the cache], in US dollars for a million tokens, the latter \
                     perhaps followed by tokens of input and the factors for input and output above \
                     them"
                )
            })
        };
        match written {
            WrittenPrices::Always(numbers) => Ok(Self([(NaiveDate::MIN, price(&numbers)?)].into())),
            WrittenPrices::ByDay(days) if days.is_empty() => {
                Err("a table of prices names at least one day".to_owned())
            }
            WrittenPrices::ByDay(days) => {
                let days = days.iter().map(|(day, numbers)| {
                    let from = day
                        .parse()
                        .map_err(|_| format!("`{day}` is not a day: write it as 2027-01-01"))?;
                    Ok((from, price(numbers)?))
                });
                days.collect::<Result<_, String>>().map(Self)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices(toml: &str) -> Result<Prices, String> {
        #[derive(Deserialize)]
        struct File {
            price: Prices,
        }
        let file: Result<File, _> = toml::from_str(&format!("price = {toml}"));
        file.map(|file| file.price).map_err(|it| it.to_string())
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let tokens = TokenUsage {
            input: 1_000_000,
            cached: 500_000,
            output: 100_000,
            thinking: 50_000,
        };
        for (toml, expected) in [
            ("[2, 0.2, 10.0]", 2.1),
            ("[2, 0.2, 10.0, 2.5]", 2.2),
            ("[2, 0.2, 10.0, 2.5, 1_000_000, 5, 3]", 2.2),
            ("[2, 0.2, 10.0, 2.5, 999_999, 5, 3]", 9.0),
            ("[0, 0, 0]", 0.0),
        ] {
            let price = prices(toml).unwrap().on(NaiveDate::MIN).unwrap();
            let cost = price.of(&tokens, 200_000);
            assert!((cost - expected).abs() < 1e-9, "{toml}: {cost}");
            let highest = price.highest(tokens.input, tokens.output);
            assert!(highest >= cost, "{toml}: {highest}");
        }
        assert_eq!(
            prices("[0, 0, 0]").unwrap().on(NaiveDate::MAX),
            Some(Price::FREE)
        );
    }

    #[test]
    fn a_price_holds_from_its_day_until_the_next() {
        let prices = prices("{ 2027-01-01 = [2, 0, 0], 2026-09-02 = [1, 0, 0] }").unwrap();
        let [first, second] = [1.0, 2.0].map(|input| Price::from_numbers(&[input, 0.0, 0.0]));
        for (day, price) in [
            ("2026-01-01", first),
            ("2026-09-02", first),
            ("2026-12-31", first),
            ("2027-01-01", second),
            ("2031-06-01", second),
        ] {
            assert_eq!(prices.on(day.parse().unwrap()), price, "{day}");
        }
    }

    #[test]
    fn anything_else_is_rejected_with_the_format() {
        for (toml, part) in [
            ("[1, 2]", "[input, cached, output]"),
            ("[1, 2, 3, 4, 5]", "[input, cached, output]"),
            ("[1, 2, -3]", "[input, cached, output]"),
            ("[1, 2, inf]", "[input, cached, output]"),
            ("{ 2027-01-01 = [1] }", "[input, cached, output]"),
            ("{ 2027-13-01 = [1, 2, 3] }", "write it as 2027-01-01"),
            ("{}", "at least one day"),
            ("\"free\"", "three, four or seven numbers"),
            ("[1, 2, 3, 4, 5, -1, 2]", "the factors"),
        ] {
            let error = prices(toml).unwrap_err();
            assert!(error.contains(part), "{toml}: {error}");
        }
    }
}
