//! Reads values as bincode writes them (its standard configuration), from untrusted bytes.
//!
//! bincode's own reader is not sufficient. Its limit counts the widths of the integers decoded, not the bytes read, so
//! it rejects some values that were written within the limit; and it guards no list. Here the length of a list is
//! compared with the bytes left before any allocation: each of its elements takes at least one byte.

use serde::de::{self, DeserializeSeed, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

/// Reason why bytes cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("the bytes end in the middle of a value")]
    End,
    #[error("a list of {claimed} elements is announced, but only {left} bytes are left")]
    Length { claimed: u64, left: usize },
    #[error("{0} does not begin a number of this width")]
    Number(u8),
    #[error("{0} is neither yes nor no")]
    Flag(u8),
    #[error("a text that is not UTF-8")]
    Text,
    #[error("messages do not contain such values")]
    Foreign,
    #[error("{0}")]
    Value(String),
}

/// The bytes left to read.
pub struct Reader<'b> {
    pub rest: &'b [u8],
}

/// Bytes that announce wider numbers; smaller bytes are numbers themselves.
const U16: u8 = 251;
const U32: u8 = 252;
const U64: u8 = 253;

impl<'b> Reader<'b> {
    fn take(&mut self, count: usize) -> Result<&'b [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(DecodeError::End)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(DecodeError::End)?;
        self.rest = rest;
        Ok(*array)
    }

    #[inline]
    fn byte(&mut self) -> Result<u8, DecodeError> {
        self.array().map(|[byte]| byte)
    }

    /// Reads a number that is announced by at most the byte `widest`.
    #[inline]
    fn number(&mut self, widest: u8) -> Result<u64, DecodeError> {
        match self.byte()? {
            small @ 0..U16 => Ok(small.into()),
            wide => self.wide(wide, widest),
        }
    }

    fn wide(&mut self, width: u8, widest: u8) -> Result<u64, DecodeError> {
        match width {
            U16 => self.array().map(|bytes| u16::from_le_bytes(bytes).into()),
            U32 if widest >= U32 => self.array().map(|bytes| u32::from_le_bytes(bytes).into()),
            U64 if widest >= U64 => self.array().map(u64::from_le_bytes),
            other => Err(DecodeError::Number(other)),
        }
    }

    fn flag(&mut self) -> Result<bool, DecodeError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(DecodeError::Flag(other)),
        }
    }

    /// Reads the number of elements that follow, which cannot exceed the number of bytes left.
    fn length(&mut self) -> Result<usize, DecodeError> {
        let claimed = self.number(U64)?;
        let left = self.rest.len();
        usize::try_from(claimed).ok().filter(|length| *length <= left).ok_or(DecodeError::Length { claimed, left })
    }
}

impl<'b> de::Deserializer<'b> for &mut Reader<'b> {
    type Error = DecodeError;

    forward_to_deserialize_any! {
        <W: Visitor<'b>>
        i8 i16 i32 i64 i128 u128 f32 char bytes byte_buf map identifier ignored_any
    }

    fn deserialize_any<V: Visitor<'b>>(self, _: V) -> Result<V::Value, DecodeError> {
        Err(DecodeError::Foreign)
    }

    fn deserialize_bool<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_bool(self.flag()?)
    }

    fn deserialize_u8<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_u8(self.byte()?)
    }

    #[inline]
    fn deserialize_u16<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_u16(self.number(U16)? as u16)
    }

    #[inline]
    fn deserialize_u32<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_u32(self.number(U32)? as u32)
    }

    #[inline]
    fn deserialize_u64<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_u64(self.number(U64)?)
    }

    fn deserialize_f64<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_f64(f64::from_le_bytes(self.array()?))
    }

    fn deserialize_str<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let length = self.length()?;
        let text = std::str::from_utf8(self.take(length)?).map_err(|_| DecodeError::Text)?;
        visitor.visit_borrowed_str(text)
    }

    fn deserialize_string<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if self.flag()? { visitor.visit_some(self) } else { visitor.visit_none() }
    }

    fn deserialize_unit<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'b>>(self, _: &'static str, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_unit()
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'b>>(self, _: &'static str, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let left = self.length()?;
        visitor.visit_seq(Elements { reader: self, left })
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'b>>(self, length: usize, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_seq(Elements { reader: self, left: length })
    }

    fn deserialize_tuple_struct<V: Visitor<'b>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.deserialize_tuple(length, visitor)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'b>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.deserialize_tuple(fields.len(), visitor)
    }

    fn deserialize_enum<V: Visitor<'b>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_enum(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// The rest of a list, a tuple or a struct.
struct Elements<'r, 'b> {
    reader: &'r mut Reader<'b>,
    left: usize,
}

impl<'b> de::SeqAccess<'b> for Elements<'_, 'b> {
    type Error = DecodeError;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'b>>(&mut self, seed: S) -> Result<Option<S::Value>, DecodeError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.reader).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'b> de::EnumAccess<'b> for &mut Reader<'b> {
    type Error = DecodeError;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'b>>(self, seed: S) -> Result<(S::Value, Self), DecodeError> {
        let variant = self.number(U32)? as u32;
        let value = seed.deserialize(IntoDeserializer::<DecodeError>::into_deserializer(variant))?;
        Ok((value, self))
    }
}

impl<'b> de::VariantAccess<'b> for &mut Reader<'b> {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<(), DecodeError> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'b>>(self, seed: S) -> Result<S::Value, DecodeError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'b>>(self, length: usize, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_seq(Elements { reader: self, left: length })
    }

    fn struct_variant<V: Visitor<'b>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_seq(Elements { reader: self, left: fields.len() })
    }
}

impl de::Error for DecodeError {
    fn custom<T: std::fmt::Display>(message: T) -> DecodeError {
        DecodeError::Value(message.to_string())
    }
}
