//! The values of parameters, which the server reads as the types that the statement needs.

use std::error::Error;

use bytes::BytesMut;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};

use super::super::error::DatabaseError;
use super::super::request::Parameter;

/// A value in the text format, which each type has.
#[derive(Debug)]
pub(super) struct TextParameter(Option<String>);

impl TextParameter {
    /// Converts values for parameters of these types.
    pub(super) fn all(params: &[Parameter], types: &[Type]) -> Result<Vec<Self>, DatabaseError> {
        if params.len() != types.len() {
            return Err(DatabaseError::ParameterCount {
                expected: types.len(),
                given: params.len(),
            });
        }
        let params = params.iter().zip(types).enumerate();
        params
            .map(|(index, (param, of_type))| Self::new(index, param, of_type))
            .collect()
    }

    fn new(index: usize, param: &Parameter, of_type: &Type) -> Result<Self, DatabaseError> {
        let fits = match param {
            Parameter::Bool(_) => !is_number(of_type),
            Parameter::Integer(_) | Parameter::Real(_) => *of_type != Type::BOOL,
            Parameter::Null | Parameter::Text(_) => true,
        };
        if !fits {
            return Err(DatabaseError::Parameter {
                index,
                problem: format!("does not fit the type `{of_type}` of ${}", index + 1),
            });
        }
        Ok(Self(match param {
            Parameter::Null => None,
            Parameter::Bool(value) => Some(value.to_string()),
            Parameter::Integer(integer) => Some(integer.to_string()),
            Parameter::Real(real) => Some(real.to_string()),
            Parameter::Text(text) => Some(text.clone()),
        }))
    }
}

/// Returns whether values of a type are numbers.
pub(super) fn is_number(of_type: &Type) -> bool {
    [
        Type::INT2,
        Type::INT4,
        Type::INT8,
        Type::OID,
        Type::FLOAT4,
        Type::FLOAT8,
        Type::NUMERIC,
    ]
    .contains(of_type)
}

impl ToSql for TextParameter {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let Some(text) = &self.0 else {
            return Ok(IsNull::Yes);
        };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}
