// The settings of the extension, and what they mean.
"use strict";

const os = require("node:os");
const path = require("node:path");
const vscode = require("vscode");

// The command, with the places that settings.json cannot know put in.
function expanded(command, folder, home = os.homedir()) {
  if (command === "~" || command.startsWith("~/")) {
    return path.join(home, command.slice(1));
  }
  const word = "${workspaceFolder}";
  return command.startsWith(word) && folder ? path.join(folder, command.slice(word.length)) : command;
}

// `resource` is a document or folder whose settings count.
function command(resource) {
  const folder = resource ? vscode.workspace.getWorkspaceFolder(resource) : vscode.workspace.workspaceFolders?.[0];
  const given = vscode.workspace.getConfiguration("canny", resource).get("path") || "canny";
  return expanded(given, folder?.uri.fsPath);
}

function list(name, resource) {
  return vscode.workspace.getConfiguration("canny", resource).get(name) || [];
}

module.exports = { command, expanded, list };
