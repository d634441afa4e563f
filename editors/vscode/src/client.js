// Starts `canny lsp` and hands its answers to the editor.
"use strict";

const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");
const settings = require("./settings");

let client;

function makeClient() {
  const server = {
    command: settings.command(),
    args: ["lsp", ...settings.list("arguments")],
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

module.exports = { showExpansion, start, stop };
