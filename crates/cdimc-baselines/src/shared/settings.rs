//! Settings of methods with their defaults.

/// Defines the settings of a method, each with its default. Files and programs write their names in kebab-case.
macro_rules! settings {
    (
        $(#[$of_method:meta])*
        pub struct $method:ident {
            $($(#[$of_setting:meta])* pub $setting:ident: $kind:ty = $default:expr,)+
        }
    ) => {
        $(#[$of_method])*
        #[derive(Debug, Clone, PartialEq)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
        pub struct $method {
            $($(#[$of_setting])* pub $setting: $kind,)+
        }

        impl Default for $method {
            fn default() -> Self {
                Self { $($setting: $default,)+ }
            }
        }
    };
}
pub(crate) use settings;
