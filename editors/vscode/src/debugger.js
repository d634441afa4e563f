// Starts `canny dap` for debug sessions, and completes their configurations.
"use strict";

const { execFile } = require("node:child_process");
const vscode = require("vscode");
const settings = require("./settings");

const adapters = {
  createDebugAdapterDescriptor(session) {
    return new vscode.DebugAdapterExecutable(settings.command(session.workspaceFolder?.uri), ["dap"]);
  },
};

// The configuration for the file that is shown, if it is one of Scheme.
function ofShownFile() {
  const editor = vscode.window.activeTextEditor;
  const isScheme = editor && editor.document.languageId === "scheme";
  return isScheme ? { type: "canny", request: "launch", name: "Debug this file", program: "${file}" } : undefined;
}

const configurations = {
  // The entries of "Run and Debug" without a launch.json.
  provideDebugConfigurations(folder) {
    const cwd = folder ? { cwd: "${workspaceFolder}" } : {};
    const all = [{ type: "canny", request: "launch", name: "Debug this file", program: "${file}", ...cwd }];
    all.push({ type: "canny", request: "attach", name: "Debug a process", pid: "${command:pickProcess}" });
    return all;
  },

  // F5 without a launch configuration comes with an empty one. One without a type is left alone, so that
  // the editor opens launch.json.
  resolveDebugConfiguration(folder, configuration) {
    if (!configuration.type && !configuration.request && !configuration.name) {
      const shown = ofShownFile();
      return shown ? completed(shown, folder) : configuration;
    }
    return completed(configuration, folder);
  },

  async resolveDebugConfigurationWithSubstitutedVariables(_folder, configuration) {
    const problem = problemOf(configuration);
    if (problem) {
      await vscode.window.showErrorMessage(problem);
      return undefined;
    }
    return configuration;
  },
};

function completed(configuration, folder) {
  const result = { ...configuration };
  if (result.request === "launch") {
    result.program ??= "${file}";
    if (folder) {
      result.cwd ??= folder.uri.fsPath;
    }
  } else if (result.request === "attach" && result.processId === undefined) {
    result.pid ??= "${command:pickProcess}";
  }
  return result;
}

// The reason why the debugger would refuse a configuration, in words for who wrote it.
function problemOf(configuration) {
  const isText = (value) => typeof value === "string" && value !== "";
  const areTexts = (value) => value === undefined || (Array.isArray(value) && value.every((one) => typeof one === "string"));
  if (configuration.request === "attach") {
    const number = configuration.pid ?? configuration.processId;
    return /^[1-9][0-9]*$/.test(String(number).trim()) ? undefined : `"pid" is not the number of a process: ${number}`;
  }
  if (!isText(configuration.program)) {
    return `"program" of the launch configuration names no file.`;
  }
  const wrong = ["args", "cannyArgs"].find((name) => !areTexts(configuration[name]));
  return wrong && `"${wrong}" of the launch configuration is not a list of strings.`;
}

// Lines of `ps -o pid=,args=` whose command is Canny or was compiled by it, as entries of a list.
function processesIn(listing, name) {
  const found = [];
  for (const line of listing.split("\n")) {
    const [, pid, words] = /^\s*([0-9]+)\s+(.*)$/.exec(line) ?? [];
    const [first = "", verb] = (words ?? "").split(" ");
    if (first.split("/").pop() === name && !["lsp", "dap", "test"].includes(verb)) {
      found.push({ label: words, description: pid, pid });
    }
  }
  return found.reverse();
}

function listProcesses(name) {
  return new Promise((resolve) => {
    const wish = ["-x", "-ww", "-o", "pid=,args="];
    execFile("ps", wish, { maxBuffer: 1 << 24 }, (_error, text) => resolve(processesIn(text ?? "", name)));
  });
}

// The number of the process that is debugged: one of a list, or any.
async function pickProcess() {
  const found = await listProcesses(settings.command().split("/").pop());
  const other = { label: "Another process …", description: "by its number" };
  const picked = await vscode.window.showQuickPick([...found, other], { placeHolder: "The process to debug", matchOnDescription: true });
  if (picked !== other) {
    return picked?.pid;
  }
  return vscode.window.showInputBox({
    prompt: "The number of a process of Canny",
    validateInput: (text) => (/^[1-9][0-9]*$/.test(text) ? undefined : "A number is wanted."),
  });
}

function register(context) {
  const dynamic = vscode.DebugConfigurationProviderTriggerKind.Dynamic;
  const offers = { provideDebugConfigurations: configurations.provideDebugConfigurations };
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("canny", adapters),
    vscode.debug.registerDebugConfigurationProvider("canny", configurations),
    vscode.debug.registerDebugConfigurationProvider("canny", offers, dynamic),
    vscode.commands.registerCommand("canny.pickProcess", pickProcess),
  );
}

module.exports = { adapters, configurations, problemOf, processesIn, register };
