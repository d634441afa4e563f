//! The abilities of the debugger, which a client asks for first.

use serde_json::{Value as Json, json};

/// The answer to `initialize`.
pub fn capabilities() -> Json {
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsFunctionBreakpoints": true,
        "supportsDataBreakpoints": true,
        "supportsConditionalBreakpoints": true,
        "supportsHitConditionalBreakpoints": true,
        "supportsLogPoints": true,
        "supportsEvaluateForHovers": true,
        "supportsSetVariable": true,
        "supportsSetExpression": true,
        "supportsRestartFrame": true,
        "supportsCompletionsRequest": true,
        "supportsExceptionInfoRequest": true,
        "supportsExceptionFilterOptions": true,
        "supportsClipboardContext": true,
        "supportsSteppingGranularity": true,
        "supportsDelayedStackTraceLoading": true,
        "supportsLoadedSourcesRequest": true,
        "supportsTerminateRequest": true,
        "supportTerminateDebuggee": true,
        "supportsSingleThreadExecutionRequests": true,
        "supportsCancelRequest": true,
        "supportsValueFormattingOptions": false,
        "exceptionBreakpointFilters": [
            {
                "filter": "uncaught",
                "label": "Uncaught",
                "description": "Objects that are raised and that no handler takes",
                "default": true,
                "supportsCondition": true,
                "conditionDescription": "kinds of conditions, such as file, read"
            },
            {
                "filter": "raised",
                "label": "Raised",
                "description": "All objects that are raised",
                "default": false,
                "supportsCondition": true,
                "conditionDescription": "kinds of conditions, such as file, read"
            }
        ]
    })
}
