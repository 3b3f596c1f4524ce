//! Formulas of performance models: `flops / num_nodes^0.8`, with `+ - * / ^ ( )`, numbers and
//! names.

/// A formula.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// A variable.
    Name(String),
    /// The negative of a formula.
    Minus(Box<Self>),
    /// Two formulas joined by `+`, `-`, `*`, `/` or `^`.
    Two(Box<Self>, char, Box<Self>),
}

/// Deeper formulas are refused instead of filling the stack.
const DEPTH_MAX: u32 = 64;

impl Expression {
    /// Reads a formula.
    ///
    /// # Errors
    /// The first mistake, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        let formula = parser.sum()?;
        match parser.peek() {
            None => Ok(formula),
            Some(sign) => Err(format!("`{sign}` cannot be read; a formula has numbers, names and + - * / ^ ( )")),
        }
    }

    /// Its value.
    ///
    /// # Errors
    /// The first variable that `value` does not know.
    pub fn eval(&self, value: &dyn Fn(&str) -> Option<f64>) -> Result<f64, String> {
        Ok(match self {
            Self::Number(number) => *number,
            Self::Name(name) => value(name).ok_or_else(|| format!("nothing is called `{name}`"))?,
            Self::Minus(inner) => -inner.eval(value)?,
            Self::Two(left, sign, right) => {
                let (left, right) = (left.eval(value)?, right.eval(value)?);
                match sign {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    '/' => left / right,
                    _ => libm::pow(left, right),
                }
            }
        })
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: u32,
}

impl<'t> Parser<'t> {
    /// The next sign that is no blank.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn take(&mut self, signs: &[char]) -> Option<char> {
        let sign = self.peek().filter(|sign| signs.contains(sign))?;
        self.at += sign.len_utf8();
        Some(sign)
    }

    fn sum(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("too many parentheses".to_owned());
        }
        let mut left = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            left = Expression::Two(Box::new(left), sign, Box::new(self.product()?));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, String> {
        let mut left = self.signed()?;
        while let Some(sign) = self.take(&['*', '/']) {
            left = Expression::Two(Box::new(left), sign, Box::new(self.signed()?));
        }
        Ok(left)
    }

    /// The minus binds less than the power: -2^2 is -4.
    fn signed(&mut self) -> Result<Expression, String> {
        let mut negative = false;
        while let Some(sign) = self.take(&['-', '+']) {
            negative ^= sign == '-';
        }
        let power = self.power()?;
        Ok(if negative { Expression::Minus(Box::new(power)) } else { power })
    }

    /// From right to left: 2^3^2 is 2^9.
    fn power(&mut self) -> Result<Expression, String> {
        let base = self.atom()?;
        if self.take(&['^']).is_none() {
            return Ok(base);
        }
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("too many powers".to_owned());
        }
        let exponent = self.signed()?;
        self.depth -= 1;
        Ok(Expression::Two(Box::new(base), '^', Box::new(exponent)))
    }

    fn atom(&mut self) -> Result<Expression, String> {
        if self.take(&['(']).is_some() {
            let inner = self.sum()?;
            return if self.take(&[')']).is_some() { Ok(inner) } else { Err("`)` is missing".to_owned()) };
        }
        match self.peek() {
            Some('0'..='9' | '.') => self.number(),
            Some(first) if first.is_alphabetic() || first == '_' => {
                let name = self.word(|sign| sign.is_alphanumeric() || sign == '_');
                match self.peek() {
                    Some('(') => Err(format!("the function `{name}` is not known; a formula has + - * / ^ ( )")),
                    _ => Ok(Expression::Name(name.to_owned())),
                }
            }
            Some(sign) => Err(format!("expected a number or a name, found `{sign}`")),
            None => Err("a number or a name is missing at the end".to_owned()),
        }
    }

    fn number(&mut self) -> Result<Expression, String> {
        let start = self.at;
        self.word(|sign| sign.is_ascii_digit() || sign == '.');
        if self.text[self.at..].starts_with(['e', 'E']) {
            let exponent = &self.text[self.at + 1..];
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits.starts_with(|sign: char| sign.is_ascii_digit()) {
                self.at += 1 + exponent.len() - digits.len();
                self.word(|sign| sign.is_ascii_digit());
            }
        }
        let text = &self.text[start..self.at];
        text.parse().map(Expression::Number).map_err(|_| format!("`{text}` is no number"))
    }

    fn word(&mut self, of: impl Fn(char) -> bool) -> &'t str {
        let rest = &self.text[self.at..];
        let end = rest.find(|sign| !of(sign)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }
}

#[cfg(test)]
mod tests {
    use super::Expression;

    fn value(text: &str) -> Result<f64, String> {
        Expression::parse(text)?.eval(&|name| match name {
            "flops" => Some(8e12),
            "num_nodes" => Some(16.0),
            _ => None,
        })
    }

    #[test]
    fn values() {
        let check = |text, expected: f64| {
            let found = value(text).unwrap();
            assert!((found - expected).abs() <= expected.abs() * 1e-12, "{text}: {found}");
        };
        check("flops/num_nodes^0.5", 2e12);
        check("1 + 2 * 3 - 4 / 2", 5.0);
        check("(1 + 2) * -3", -9.0);
        check("-2^2", -4.0);
        check("2^3^2", 512.0);
        check("2^-1", 0.5);
        check("1.5e3 + 2E-1", 1500.2);
        check(" num_nodes - 1 ", 15.0);
    }

    #[test]
    fn refusals() {
        let check = |text: &str, part: &str| {
            let problem = value(text).unwrap_err();
            assert!(problem.contains(part), "{text}: {problem}");
        };
        check("nodes", "`nodes`");
        check("max(1, 2)", "`max`");
        check("1 % 2", "`%`");
        check("(1", "`)`");
        check("1 +", "missing");
        check("", "missing");
        check("1..2", "no number");
        check(&"(".repeat(200), "parentheses");
        check(&"2^".repeat(200), "powers");
    }
}
