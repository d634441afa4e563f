-- Tells nvim-dap of `canny dap`.

local M = {}

local function asked(question, complete)
  local answer = vim.fn.input(question, "", complete or "")
  return answer ~= "" and answer or nil
end

local function launch(name, more)
  local own = {
    name = name,
    type = "canny",
    request = "launch",
    program = "${file}",
    cwd = "${workspaceFolder}",
  }
  return vim.tbl_extend("force", own, more or {})
end

M.configurations = {
  launch("Canny: this file"),
  launch("Canny: this file, with arguments", {
    args = function()
      return vim.split(asked("Arguments: ") or "", "%s+", { trimempty = true })
    end,
  }),
  launch("Canny: this file, in a terminal", { console = "integratedTerminal" }),
  launch("Canny: this file, all tasks stop", { stopAll = true }),
  launch("Canny: this file, from its first line", { stopOnEntry = true }),
  launch("Canny: a recording", {
    program = function()
      return asked("Recording: ", "file")
    end,
  }),
  {
    name = "Canny: a process",
    type = "canny",
    request = "attach",
    pid = function()
      return require("dap.utils").pick_process({ filter = "canny" })
    end,
  },
}

-- Whether nvim-dap is there.
function M.register()
  local is_there, dap = pcall(require, "dap")
  if not is_there then
    return false
  end
  dap.adapters.canny = {
    type = "executable",
    command = require("canny").settings.command,
    args = { "dap" },
  }
  local others = vim.tbl_filter(function(one)
    return one.type ~= "canny"
  end, dap.configurations.scheme or {})
  dap.configurations.scheme = vim.list_extend(vim.list_extend({}, M.configurations), others)
  return true
end

return M
