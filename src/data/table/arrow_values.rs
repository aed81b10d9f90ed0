//! Types and values of Arrow arrays.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, BinaryArray, LargeBinaryArray, downcast_dictionary_array};
use arrow_schema::{DataType, TimeUnit};

use crate::decimal::Decimal;
use crate::schema::{ColumnType, Value};

/// Decimal digits that an integer of 128 bits holds.
const MAX_DIGITS: u8 = 38;

/// Nanoseconds of a day.
const DAY: i128 = 86_400_000_000_000;

/// Returns the type of a column from its Arrow type.
///
/// Binary columns are text: Parquet files of older programs do not declare that their bytes are
/// UTF-8. A decimal type without decimals is a type of integers.
pub(super) fn column_type(of: &DataType) -> ColumnType {
    match of {
        DataType::Null => ColumnType::Any,
        DataType::Boolean => ColumnType::Boolean,
        integers if integers.is_integer() => ColumnType::Integer,
        floats if floats.is_floating() => ColumnType::Float,
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => ColumnType::Text,
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(_, None) => ColumnType::Time,
        DataType::Timestamp(_, Some(_)) => ColumnType::Unsupported("times with a time zone"),
        DataType::Decimal256(digits, _) if *digits > MAX_DIGITS => {
            ColumnType::Unsupported("decimal numbers of more than 38 digits")
        }
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => match scale {
            0 => ColumnType::Integer,
            _ => ColumnType::Float,
        },
        DataType::Dictionary(_, values) => match values.as_ref() {
            DataType::Dictionary(..) => ColumnType::Unsupported("dictionaries of dictionaries"),
            values => column_type(values),
        },
        DataType::Time32(_) | DataType::Time64(_) => ColumnType::Unsupported("times of day"),
        DataType::Duration(_) | DataType::Interval(_) => ColumnType::Unsupported("durations"),
        _ => ColumnType::Unsupported("lists, structures or another nested type"),
    }
}

/// Passes on every value of an array, in order.
pub(super) fn for_each(array: &dyn Array, to: &mut impl EachValue) {
    match array.data_type() {
        DataType::Boolean => {
            each(array.as_boolean().iter(), to, Value::Boolean);
        }
        DataType::Int8 => integers::<Int8Type>(array, to),
        DataType::Int16 => integers::<Int16Type>(array, to),
        DataType::Int32 => integers::<Int32Type>(array, to),
        DataType::Int64 => integers::<Int64Type>(array, to),
        DataType::UInt8 => integers::<UInt8Type>(array, to),
        DataType::UInt16 => integers::<UInt16Type>(array, to),
        DataType::UInt32 => integers::<UInt32Type>(array, to),
        DataType::UInt64 => integers::<UInt64Type>(array, to),
        DataType::Float16 => {
            primitive::<Float16Type>(array, to, |half| float(widened_half(half)));
        }
        DataType::Float32 => primitive::<Float32Type>(array, to, |single| float(widened(single))),
        DataType::Float64 => primitive::<Float64Type>(array, to, float),
        DataType::Date32 => {
            primitive::<Date32Type>(array, to, |days| Value::Time(i128::from(days) * DAY));
        }
        DataType::Date64 => {
            primitive::<Date64Type>(array, to, |time| Value::Time(i128::from(time) * 1_000_000));
        }
        DataType::Timestamp(unit, None) => times(array, *unit, to),
        // Texts of other programs are not known to be UTF-8.
        DataType::Utf8 => {
            let bytes = BinaryArray::from(array.as_string::<i32>().clone());
            each(bytes.iter(), to, Value::of_bytes);
        }
        DataType::LargeUtf8 => {
            let bytes = LargeBinaryArray::from(array.as_string::<i64>().clone());
            each(bytes.iter(), to, Value::of_bytes);
        }
        DataType::Utf8View => {
            let bytes = array.as_string_view().clone().to_binary_view();
            each(bytes.iter(), to, Value::of_bytes);
        }
        DataType::Binary => each(array.as_binary::<i32>().iter(), to, Value::of_bytes),
        DataType::LargeBinary => each(array.as_binary::<i64>().iter(), to, Value::of_bytes),
        DataType::BinaryView => each(array.as_binary_view().iter(), to, Value::of_bytes),
        DataType::FixedSizeBinary(_) => {
            each(array.as_fixed_size_binary().iter(), to, Value::of_bytes);
        }
        DataType::Decimal32(_, scale) => {
            decimals(array.as_primitive::<Decimal32Type>().iter().map(widen), *scale, to);
        }
        DataType::Decimal64(_, scale) => {
            decimals(array.as_primitive::<Decimal64Type>().iter().map(widen), *scale, to);
        }
        DataType::Decimal128(_, scale) => {
            decimals(array.as_primitive::<Decimal128Type>().iter(), *scale, to);
        }
        DataType::Decimal256(_, scale) => {
            let digits = array.as_primitive::<Decimal256Type>().iter();
            decimals(digits.map(|digits| digits.and_then(|digits| digits.to_i128())), *scale, to);
        }
        DataType::Dictionary(..) => dictionary(array, to),
        // Columns of other types are refused by their type.
        _ => (0..array.len()).for_each(|_| to.take(Value::Missing)),
    }
}

/// Returns the distinct values of a dictionary array and the position of the value of every
/// record, or `None`.
pub(super) fn keys_of(array: &dyn Array) -> Option<(&dyn Array, Vec<Option<usize>>)> {
    downcast_dictionary_array!(
        array => {
            let keys = array.keys_iter().collect();
            Some((array.values().as_ref(), keys))
        }
        _ => None
    )
}

fn dictionary(array: &dyn Array, to: &mut impl EachValue) {
    let Some((values, keys)) = keys_of(array) else { return };
    for key in keys {
        match key {
            Some(key) => scalar(values, key, &mut |value| to.take(value)),
            None => to.take(Value::Missing),
        }
    }
}

/// Passes on one value of an array that is not a dictionary.
fn scalar(array: &dyn Array, index: usize, to: &mut dyn FnMut(Value<'_>)) {
    for_each(array.slice(index, 1).as_ref(), &mut |value: Value<'_>| to(value));
}

fn each<'a, T>(
    values: impl Iterator<Item = Option<T>>,
    to: &mut impl EachValue,
    value: impl Fn(T) -> Value<'a>,
) {
    values.for_each(|element| to.take(element.map_or(Value::Missing, &value)));
}

/// Passes on the values of a primitive array. Without missing values the loop has no branch
/// for them.
fn primitive<T: ArrowPrimitiveType>(
    array: &dyn Array,
    to: &mut impl EachValue,
    value: impl Fn(T::Native) -> Value<'static>,
) {
    let array = array.as_primitive::<T>();
    match array.nulls() {
        None => array.values().iter().for_each(|element| to.take(value(*element))),
        Some(nulls) => {
            for (element, is_valid) in array.values().iter().zip(nulls.iter()) {
                to.take(if is_valid { value(*element) } else { Value::Missing });
            }
        }
    }
}

fn integers<T: ArrowPrimitiveType>(array: &dyn Array, to: &mut impl EachValue)
where
    i128: From<T::Native>,
{
    primitive::<T>(array, to, |number| Value::Integer(number.into()));
}

fn times(array: &dyn Array, unit: TimeUnit, to: &mut impl EachValue) {
    let time = |scale: i128| move |time: i64| Value::Time(i128::from(time) * scale);
    match unit {
        TimeUnit::Second => primitive::<TimestampSecondType>(array, to, time(1_000_000_000)),
        TimeUnit::Millisecond => primitive::<TimestampMillisecondType>(array, to, time(1_000_000)),
        TimeUnit::Microsecond => primitive::<TimestampMicrosecondType>(array, to, time(1_000)),
        TimeUnit::Nanosecond => primitive::<TimestampNanosecondType>(array, to, time(1)),
    }
}

fn widen<T: Into<i128>>(digits: Option<T>) -> Option<i128> {
    digits.map(Into::into)
}

/// Passes on the numbers digits · 10^−scale.
fn decimals(digits: impl Iterator<Item = Option<i128>>, scale: i8, to: &mut impl EachValue) {
    for digits in digits {
        match (digits, scale) {
            (None, _) => to.take(Value::Missing),
            (Some(digits), 0) => to.take(Value::Integer(digits)),
            (Some(digits), scale) => {
                to.take(Value::Number(&Decimal::of_digits(digits, -i64::from(scale))));
            }
        }
    }
}

#[inline(always)]
fn float(number: f64) -> Value<'static> {
    if number.is_nan() { Value::Missing } else { Value::Float(number) }
}

/// Returns the double of the shortest decimal of a single-precision number.
#[inline(always)]
fn widened(single: f32) -> f64 {
    let double = f64::from(single);
    // Integers below 2²⁴ are their own shortest decimals.
    if single.fract() == 0.0 && single.abs() < 16_777_216.0 {
        return double;
    }
    shortest_of(single)
}

fn shortest_of(single: f32) -> f64 {
    format!("{single:e}").parse().unwrap_or_else(|_| single.into())
}

/// Returns the double of the shortest decimal of a half-precision number.
fn widened_half(number: half::f16) -> f64 {
    let exact = number.to_f64();
    if !exact.is_finite() {
        return exact;
    }
    // Five digits identify every number of half precision.
    let decimal = (0..5).map(|digits| format!("{exact:.digits$e}"));
    let rounded = decimal.filter_map(|text| text.parse::<f64>().ok());
    rounded.into_iter().find(|&decimal| half::f16::from_f64(decimal) == number).unwrap_or(exact)
}

/// What is done with every value of a column: a function, or a type whose method is compiled into
/// the loop of every type of column.
pub(in crate::data) trait EachValue {
    /// Takes the value of the next record.
    fn take(&mut self, value: Value<'_>);
}

impl<F: FnMut(Value<'_>)> EachValue for F {
    #[inline(always)]
    fn take(&mut self, value: Value<'_>) {
        self(value);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Decimal256Array, DictionaryArray, Float16Array, Float32Array};

    use super::*;

    fn words(array: &dyn Array) -> Vec<String> {
        let mut words = Vec::new();
        for_each(array, &mut |value: Value<'_>| words.push(value.to_string()));
        words
    }

    #[test]
    fn short_floats_stand_for_their_shortest_decimals() {
        let singles = Float32Array::from(vec![0.1, 1e10, f32::NAN, 3.0, -2.5e-7]);
        assert_eq!(words(&singles), ["`0.1`", "`10000000000`", "no value", "`3`", "`-0.00000025`"]);
        let halves = [0.1, 2.5, 65504.0, 6e-8].map(half::f16::from_f64);
        let halves = Float16Array::from(halves.to_vec());
        assert_eq!(words(&halves), ["`0.1`", "`2.5`", "`65500`", "`0.00000006`"]);
    }

    /// All numbers of half precision: the decimal is the only one of its digits that rounds to it.
    #[test]
    fn decimals_of_halves_round_to_them() {
        for bits in 0..=u16::MAX {
            let number = half::f16::from_bits(bits);
            if number.is_finite() {
                assert_eq!(half::f16::from_f64(widened_half(number)), number, "{bits}");
            }
        }
    }

    #[test]
    fn dictionaries_have_their_values_and_missing_entries() {
        let values: Vec<Option<&str>> = vec![Some("b"), None, Some("a"), Some("b")];
        let array: DictionaryArray<arrow_array::types::Int8Type> = values.into_iter().collect();
        assert_eq!(words(&array), ["`b`", "no value", "`a`", "`b`"]);
        let (distinct, keys) = keys_of(&array).unwrap();
        assert_eq!(words(distinct), ["`b`", "`a`"]);
        assert_eq!(keys, [Some(0), None, Some(1), Some(0)]);
    }

    #[test]
    fn decimals_are_exact() {
        let array: ArrayRef = Arc::new(
            Decimal256Array::from(vec![Some(12345.into()), None, Some((-10).into())])
                .with_precision_and_scale(10, 2)
                .unwrap(),
        );
        assert_eq!(words(&array), ["`123.45`", "no value", "`-0.1`"]);
        assert_eq!(column_type(array.data_type()), ColumnType::Float);
        assert_eq!(column_type(&DataType::Decimal128(38, 0)), ColumnType::Integer);
        assert!(matches!(
            column_type(&DataType::Decimal256(39, 0)),
            ColumnType::Unsupported("decimal numbers of more than 38 digits")
        ));
    }
}
