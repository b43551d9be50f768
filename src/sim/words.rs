//! Enums with names for files. Values of settings are spelled with hyphens (`round-robin`), except for policies that a
//! paper spells otherwise (`pe_w`); keys and values in results with underscores (`total_runtime`).

/// Declares enums with the word for each variant, so that word, meaning and variant are written once.
#[macro_export]
macro_rules! words {
    ($($(#[doc = $doc:literal])+ $(#[derive($($also:ident),+)])? $name:ident {
        $(#[doc = $about:literal] $(#[$default:ident])? $variant:ident = $word:literal),+ $(,)?
    })+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        $(#[derive($($also),+)])?
        pub enum $name { $(#[doc = $about] #[serde(rename = $word)] $(#[$default])? $variant),+ }

        impl $name {
            /// Each variant with its word and a line about it.
            pub const ALL: &[(&'static str, $name, &'static str)] = &[$(($word, $name::$variant, $about)),+];

            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }
    )+};
}

pub use words;
