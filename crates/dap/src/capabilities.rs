//! The abilities of the debugger, which a client asks for first, and the filters of its exception
//! breakpoints.

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
        "supportsGotoTargetsRequest": true,
        "supportsStepInTargetsRequest": true,
        "supportsDisassembleRequest": true,
        "supportsReadMemoryRequest": true,
        "supportsWriteMemoryRequest": true,
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
        "exceptionBreakpointFilters": filters(),
    })
}

/// The filters for stops that are at no place of the text.
fn filters() -> Json {
    let filter = |name: &str, label: &str, description: &str| {
        json!({
            "filter": name,
            "label": label,
            "description": description,
            "default": name == "uncaught",
        })
    };
    let of_kinds = |mut filter: Json| {
        filter["supportsCondition"] = true.into();
        filter["conditionDescription"] = "kinds of conditions, such as file, read".into();
        filter
    };
    json!([
        of_kinds(filter(
            "uncaught",
            "Uncaught",
            "Objects that are raised and that no handler takes",
        )),
        of_kinds(filter("raised", "Raised", "All objects that are raised")),
        filter(
            "cancelled",
            "Cancelled Tasks",
            "Where a task raises that it was cancelled, or that its time is over",
        ),
        filter(
            "deadlock",
            "Deadlocks",
            "Where a task learns that what it waits for cannot happen",
        ),
        filter(
            "task-start",
            "Tasks Begin",
            "Where a task begins, in that task"
        ),
        filter(
            "task-end",
            "Tasks End",
            "Where a task has ended, with a value, a failure, or since it was cancelled",
        ),
    ])
}
