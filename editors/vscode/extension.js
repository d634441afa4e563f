// Starts `canny lsp` and hands its answers to the editor.
"use strict";

const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

function makeClient() {
  const settings = vscode.workspace.getConfiguration("canny");
  const server = {
    command: settings.get("path") || "canny",
    args: ["lsp", ...(settings.get("arguments") || [])],
    transport: TransportKind.stdio,
  };
  const options = {
    documentSelector: [
      { scheme: "file", language: "scheme" },
      { scheme: "untitled", language: "scheme" },
    ],
    synchronize: {
      fileEvents: vscode.workspace.createFileSystemWatcher("**/*.{scm,sld,sls,sps,ss}"),
    },
    initializationOptions: { showsExpansions: true },
    middleware: {
      // What the server's own command gives is shown here, whoever asked for it.
      executeCommand: async (command, words, next) => {
        const result = await next(command, words);
        if (command === "canny.expandMacro" && typeof result === "string") {
          await showText(result);
        }
        return result;
      },
    },
  };
  return new LanguageClient("canny", "Canny Scheme", server, options);
}

async function start() {
  client = makeClient();
  try {
    await client.start();
  } catch (error) {
    const text = `Canny's language server does not start: ${error.message}. Is "canny.path" right?`;
    vscode.window.showErrorMessage(text);
  }
}

async function stop() {
  const old = client;
  client = undefined;
  if (old && old.isRunning()) {
    await old.stop();
  }
}

// Shows a text in a document of its own.
async function showText(content) {
  const document = await vscode.workspace.openTextDocument({ language: "scheme", content });
  await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preview: true });
}

// Shows what the macro use at the cursor becomes.
async function showExpansion() {
  const editor = vscode.window.activeTextEditor;
  if (!editor || !client || !client.isRunning()) {
    return;
  }
  const { line, character } = editor.selection.active;
  const uri = editor.document.uri.toString();
  try {
    await vscode.commands.executeCommand("canny.expandMacro", uri, { line, character });
  } catch (error) {
    vscode.window.showInformationMessage(error.message);
  }
}

async function runFile() {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    return;
  }
  await editor.document.save();
  const path = vscode.workspace.getConfiguration("canny").get("path") || "canny";
  const terminal = vscode.window.createTerminal({
    name: "Canny",
    shellPath: path,
    shellArgs: ["run", editor.document.fileName],
  });
  terminal.show();
}

// Starts `canny dap` for a debug session.
const debugAdapters = {
  createDebugAdapterDescriptor() {
    const path = vscode.workspace.getConfiguration("canny").get("path") || "canny";
    return new vscode.DebugAdapterExecutable(path, ["dap"]);
  },
};

// What F5 does in a project without a launch configuration.
const debugConfigurations = {
  resolveDebugConfiguration(_folder, configuration) {
    const editor = vscode.window.activeTextEditor;
    if (configuration.type || !editor || editor.document.languageId !== "scheme") {
      return configuration;
    }
    return { type: "canny", request: "launch", name: "Debug this file", program: "${file}" };
  },
};

// The number of the process that is debugged.
function pickProcess() {
  return vscode.window.showInputBox({
    prompt: "The number of a process of Canny",
    validateInput: (text) => (/^[1-9][0-9]*$/.test(text) ? undefined : "A number is wanted."),
  });
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("canny.showExpansion", showExpansion),
    vscode.commands.registerCommand("canny.run", runFile),
    vscode.commands.registerCommand("canny.pickProcess", pickProcess),
    vscode.debug.registerDebugAdapterDescriptorFactory("canny", debugAdapters),
    vscode.debug.registerDebugConfigurationProvider("canny", debugConfigurations),
    vscode.commands.registerCommand("canny.restart", async () => {
      await stop();
      await start();
    }),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration("canny.path") || change.affectsConfiguration("canny.arguments")) {
        await stop();
        await start();
      }
    }),
  );
  await start();
}

function deactivate() {
  return stop();
}

module.exports = { activate, deactivate };
