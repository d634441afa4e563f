// The extension: the language server, the debugger, tests and some commands.
"use strict";

const vscode = require("vscode");
const client = require("./client");
const debuggers = require("./debugger");
const settings = require("./settings");
const testing = require("./testing");

async function runFile() {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    return;
  }
  await editor.document.save();
  const terminal = vscode.window.createTerminal({
    name: "Canny",
    shellPath: settings.command(editor.document.uri),
    shellArgs: ["run", editor.document.fileName],
  });
  terminal.show();
}

async function debugFile() {
  const editor = vscode.window.activeTextEditor;
  if (editor) {
    const folder = vscode.workspace.getWorkspaceFolder(editor.document.uri);
    const wish = { type: "canny", request: "launch", name: "Debug this file", program: editor.document.fileName };
    await vscode.debug.startDebugging(folder, wish);
  }
}

async function restart() {
  await client.stop();
  await client.start();
}

async function activate(context) {
  debuggers.register(context);
  const tests = testing.register(context);
  context.subscriptions.push(
    vscode.commands.registerCommand("canny.showExpansion", client.showExpansion),
    vscode.commands.registerCommand("canny.run", runFile),
    vscode.commands.registerCommand("canny.debug", debugFile),
    vscode.commands.registerCommand("canny.restart", restart),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration("canny.path") || change.affectsConfiguration("canny.arguments")) {
        await restart();
      }
    }),
  );
  await client.start();
  // For checks in an editor.
  return { tests };
}

function deactivate() {
  return client.stop();
}

module.exports = { activate, deactivate };
