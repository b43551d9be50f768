//! Writes values as bincode does (its standard configuration): numbers below 251 in a byte, wider ones after a byte
//! that announces their width, lists after their length, structs field after field, variants after their number.
//!
//! bincode's own writer checks and counts each byte of each number in a separate call, which is negligible beside
//! sending a message. But every record of every run is encoded for the digest, so here all of it is inlined. Tests
//! compare the two.

use std::fmt;

use serde::ser::{self, Serialize};

use super::reader::{U16, U32, U64};

/// Error for values that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    #[error("a list of unknown length")]
    Length,
    #[error("messages do not contain such values")]
    Foreign,
    #[error("{0}")]
    Value(String),
}

/// Destination of bytes.
pub trait Sink {
    fn put<const N: usize>(&mut self, bytes: [u8; N]);
    fn put_slice(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.extend_from_slice(&bytes);
    }

    fn put_slice(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Counts bytes without storing them.
#[derive(Default)]
pub struct Count(pub usize);

impl Sink for Count {
    #[inline]
    fn put<const N: usize>(&mut self, _: [u8; N]) {
        self.0 += N;
    }

    fn put_slice(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }
}

pub struct Writer<'s, S>(pub &'s mut S);

impl<S: Sink> Writer<'_, S> {
    #[inline]
    fn number(&mut self, number: u64) {
        match number {
            small if small < u64::from(U16) => self.0.put([small as u8]),
            wide => self.wide(wide),
        }
    }

    #[inline]
    fn wide(&mut self, number: u64) {
        if let Ok(number) = u16::try_from(number) {
            let [a, b] = number.to_le_bytes();
            self.0.put([U16, a, b]);
        } else if let Ok(number) = u32::try_from(number) {
            let [a, b, c, d] = number.to_le_bytes();
            self.0.put([U32, a, b, c, d]);
        } else {
            self.0.put([U64]);
            self.0.put(number.to_le_bytes());
        }
    }
}

/// Rejects types that no message has.
macro_rules! foreign {
    ($($method:ident($kind:ty);)*) => {$(
        fn $method(self, _: $kind) -> Result<(), EncodeError> {
            Err(EncodeError::Foreign)
        }
    )*};
}

impl<S: Sink> ser::Serializer for Writer<'_, S> {
    type Ok = ();
    type Error = EncodeError;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = ser::Impossible<(), EncodeError>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    foreign! {
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_f32(f32);
        serialize_char(char);
        serialize_bytes(&[u8]);
    }

    #[inline]
    fn serialize_bool(self, flag: bool) -> Result<(), EncodeError> {
        self.0.put([u8::from(flag)]);
        Ok(())
    }

    #[inline]
    fn serialize_u8(self, byte: u8) -> Result<(), EncodeError> {
        self.0.put([byte]);
        Ok(())
    }

    #[inline]
    fn serialize_u16(mut self, number: u16) -> Result<(), EncodeError> {
        self.number(number.into());
        Ok(())
    }

    #[inline]
    fn serialize_u32(mut self, number: u32) -> Result<(), EncodeError> {
        self.number(number.into());
        Ok(())
    }

    #[inline]
    fn serialize_u64(mut self, number: u64) -> Result<(), EncodeError> {
        self.number(number);
        Ok(())
    }

    #[inline]
    fn serialize_f64(self, number: f64) -> Result<(), EncodeError> {
        self.0.put(number.to_le_bytes());
        Ok(())
    }

    fn serialize_str(mut self, text: &str) -> Result<(), EncodeError> {
        self.number(text.len() as u64);
        self.0.put_slice(text.as_bytes());
        Ok(())
    }

    #[inline]
    fn serialize_none(self) -> Result<(), EncodeError> {
        self.0.put([0]);
        Ok(())
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), EncodeError> {
        self.0.put([1]);
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), EncodeError> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), EncodeError> {
        Ok(())
    }

    #[inline]
    fn serialize_unit_variant(mut self, _: &'static str, variant: u32, _: &'static str) -> Result<(), EncodeError> {
        self.number(variant.into());
        Ok(())
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), EncodeError> {
        value.serialize(self)
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        mut self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), EncodeError> {
        self.number(variant.into());
        value.serialize(self)
    }

    #[inline]
    fn serialize_seq(mut self, length: Option<usize>) -> Result<Self, EncodeError> {
        self.number(length.ok_or(EncodeError::Length)? as u64);
        Ok(self)
    }

    #[inline]
    fn serialize_tuple(self, _: usize) -> Result<Self, EncodeError> {
        Ok(self)
    }

    #[inline]
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, EncodeError> {
        Ok(self)
    }

    #[inline]
    fn serialize_tuple_variant(
        mut self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, EncodeError> {
        self.number(variant.into());
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, EncodeError> {
        Err(EncodeError::Foreign)
    }

    #[inline]
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, EncodeError> {
        Ok(self)
    }

    #[inline]
    fn serialize_struct_variant(
        mut self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, EncodeError> {
        self.number(variant.into());
        Ok(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// Writes the parts of a compound value in order.
macro_rules! parts {
    ($($part:ident $method:ident($($key:ty)?);)*) => {$(
        impl<S: Sink> ser::$part for Writer<'_, S> {
            type Ok = ();
            type Error = EncodeError;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, $(_: $key,)? value: &T) -> Result<(), EncodeError> {
                value.serialize(Writer(&mut *self.0))
            }

            #[inline]
            fn end(self) -> Result<(), EncodeError> {
                Ok(())
            }
        }
    )*};
}

parts! {
    SerializeSeq serialize_element();
    SerializeTuple serialize_element();
    SerializeTupleStruct serialize_field();
    SerializeTupleVariant serialize_field();
    SerializeStruct serialize_field(&'static str);
    SerializeStructVariant serialize_field(&'static str);
}

impl ser::Error for EncodeError {
    fn custom<T: fmt::Display>(message: T) -> EncodeError {
        EncodeError::Value(message.to_string())
    }
}
