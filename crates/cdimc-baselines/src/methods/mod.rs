//! The compared methods and the registry of their names.
//!
//! To add a method, add its file or folder, `mod`, `pub use` and its line in the registry.

mod best_view;
mod concat;
mod daimc;
#[cfg(test)]
mod golden;
mod imc_grmf;
mod img;
mod mic;
mod mkkm_ik;
mod mkkm_ik_mkc;
mod omvc;
mod opimc;
mod pmvc;
#[cfg(feature = "networks")]
mod pmvc_cgan;

pub use best_view::BestView;
pub use concat::Concat;
pub use daimc::Daimc;
pub use imc_grmf::ImcGrmf;
pub use img::{FirstLaplacian, Img, ImgReadOut};
pub use mic::Mic;
pub use mkkm_ik::MkkmIk;
pub use mkkm_ik_mkc::{Coefficients, KernelFilling, MkkmIkMkc};
pub use omvc::{MissingWeight, Omvc};
pub use opimc::Opimc;
pub use pmvc::Pmvc;
#[cfg(feature = "networks")]
pub use pmvc_cgan::PmvcCgan;

use cdimc_core::{Clusterer, Configured, MethodError, configure};
use serde_json::Value;

/// Registry: one line per method with its name and settings struct.
macro_rules! methods {
    ($($(#[$condition:meta])? $name:literal => $method:ty),* $(,)?) => {
        /// Names of all compared methods, in the order of the paper's tables.
        pub const NAMES: &[&str] = &[$($(#[$condition])? $name),*];

        /// Builds the compared method `name` with these settings, and returns all its settings.
        ///
        /// # Errors
        /// Same as [`method`].
        pub fn configured(name: &str, settings: Value) -> Result<Configured, MethodError> {
            match name {
                $($(#[$condition])? $name => configure::<$method>($name, settings),)*
                _ => {
                    Err(MethodError::Unknown { name: name.to_owned(), known: NAMES.join(", ") })
                }
            }
        }
    };
}

/// Builds the compared method `name` with these settings, a JSON object with kebab-case keys.
///
/// # Errors
/// If there is no such method, a key is unknown, or a value has a wrong type or is out of range.
pub fn method(name: &str, settings: Value) -> Result<Box<dyn Clusterer>, MethodError> {
    configured(name, settings).map(|method| method.clusterer)
}

methods! {
    "best-view" => BestView,
    "concat" => Concat,
    "pmvc" => Pmvc,
    "img" => Img,
    "imc-grmf" => ImcGrmf,
    "mic" => Mic,
    "omvc" => Omvc,
    "daimc" => Daimc,
    "opimc" => Opimc,
    "mkkm-ik" => MkkmIk,
    "mkkm-ik-mkc" => MkkmIkMkc,
    #[cfg(feature = "networks")]
    "pmvc-cgan" => PmvcCgan,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_method_is_built_under_its_own_name_from_no_settings() {
        for name in NAMES {
            let method = configured(name, Value::Null).unwrap();
            assert_eq!(method.clusterer.name(), *name);
            let again = configured(name, method.settings.clone()).unwrap();
            assert_eq!(again.settings, method.settings);
        }
    }

    #[test]
    fn wrong_names_and_settings_are_named() {
        let text = |name, value| method(name, value).err().unwrap().to_string();
        assert!(text("means", Value::Null).starts_with("unknown method `means`: must be one of "));
        assert!(text("concat", json!({"restart": 3})).contains("unknown field `restart`"));
    }

    #[test]
    fn values_out_of_range_are_refused_without_data() {
        for (name, settings, message) in [
            ("mic", json!({"alpha": -1.0}), "alpha = -1: must be positive and finite"),
            #[cfg(feature = "networks")]
            ("pmvc-cgan", json!({"widths": [500, 0, 100]}), "widths = 0: must be at least 1"),
            ("best-view", json!({"restarts": 0}), "restarts = 0: must be at least 1"),
            (
                "best-view",
                json!({"restarts": 2.5}),
                "restarts: invalid type: floating point `2.5`, expected a whole number",
            ),
            ("img", json!({"beta": 0.0}), "beta = 0: must be positive and finite"),
            (
                "concat",
                json!({"restarts": 1_000_000_000_000_u64}),
                "restarts = 1000000000000: must be at most 10000",
            ),
            #[cfg(feature = "networks")]
            (
                "pmvc-cgan",
                json!({"widths": [500, 1_000_000_000_000_u64, 100]}),
                "widths = 1000000000000: must be at most 10000",
            ),
        ] {
            let error = method(name, settings).err().unwrap().to_string();
            assert_eq!(error, format!("settings of {name}: {message}"));
        }
        method("img", json!({"beta": 0.0, "read-out": "representation"})).unwrap();
    }
}
