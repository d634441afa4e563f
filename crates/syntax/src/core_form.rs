//! The core forms: keywords whose meaning is built into the expander.
//!
//! One list has each form with its name; the expander's matches over [`CoreForm`] are exhaustive, so
//! that a form without a meaning does not compile. Interfaces of compiled libraries store the forms, so
//! that their order is part of that format.

use serde::{Deserialize, Serialize};

macro_rules! core_forms {
    ($($variant:ident $name:literal)*) => {
        /// A keyword of `(canny syntax)`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum CoreForm { $($variant,)* }

        impl CoreForm {
            /// Every core form.
            pub const ALL: &'static [CoreForm] = &[$(CoreForm::$variant,)*];

            /// The name under which `(canny syntax)` exports it.
            pub fn name(self) -> &'static str {
                match self { $(CoreForm::$variant => $name,)* }
            }
        }
    };
}

core_forms! {
    Quote "quote"
    Quasiquote "quasiquote"
    Unquote "unquote"
    UnquoteSplicing "unquote-splicing"
    Lambda "lambda"
    LambdaStar "lambda*"
    CaseLambda "case-lambda"
    NamedLambda "named-lambda"
    Define "define"
    DefineStar "define*"
    DefineValues "define-values"
    DefineRecordType "define-record-type"
    DefineSyntax "define-syntax"
    DefineCallSyntax "%define-call-syntax"
    LetSyntax "let-syntax"
    LetrecSyntax "letrec-syntax"
    SplicingLetSyntax "splicing-let-syntax"
    SplicingLetrecSyntax "splicing-letrec-syntax"
    SyntaxParameterize "syntax-parameterize"
    SyntaxRules "syntax-rules"
    SyntaxError "syntax-error"
    SyntaxCase "syntax-case"
    Syntax "syntax"
    Quasisyntax "quasisyntax"
    Unsyntax "unsyntax"
    UnsyntaxSplicing "unsyntax-splicing"
    BeginForSyntax "begin-for-syntax"
    Let "let"
    LetStar "let*"
    Letrec "letrec"
    LetrecStar "letrec*"
    LetValues "let-values"
    LetStarValues "let*-values"
    Receive "receive"
    And "and"
    Or "or"
    When "when"
    Unless "unless"
    Cond "cond"
    Case "case"
    Do "do"
    Begin "begin"
    Set "set!"
    If "if"
    Match "match"
    MatchLambda "match-lambda"
    MatchLambdaStar "match-lambda*"
    MatchLet "match-let"
    MatchLetStar "match-let*"
    MatchLetrec "match-letrec"
    MatchDefine "match-define"
    Assert "assert"
    Interpolate "%interpolate"
    CondExpand "cond-expand"
    Include "include"
    IncludeCi "include-ci"
    Import "import"
    DefineLibrary "define-library"
    Underscore "_"
    Ellipsis "..."
    Arrow "=>"
    Else "else"
}

impl CoreForm {
    /// Whether the keyword is meaningful only inside other forms.
    pub(crate) fn is_auxiliary(self) -> bool {
        matches!(
            self,
            CoreForm::Underscore
                | CoreForm::Ellipsis
                | CoreForm::Arrow
                | CoreForm::Else
                | CoreForm::Unquote
                | CoreForm::UnquoteSplicing
                | CoreForm::Unsyntax
                | CoreForm::UnsyntaxSplicing
        )
    }

    /// Whether the form defines something, so that it stands in bodies and at top level only.
    pub(crate) fn is_definition(self) -> bool {
        matches!(
            self,
            CoreForm::Define
                | CoreForm::DefineStar
                | CoreForm::DefineValues
                | CoreForm::DefineRecordType
                | CoreForm::DefineSyntax
                | CoreForm::DefineCallSyntax
                | CoreForm::MatchDefine
        )
    }
}
