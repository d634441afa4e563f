-- Starts `canny lsp`: one for each project.

local M = {}

local loop = vim.uv or vim.loop
local MARKS = { "package.scm", ".git" }

-- The project around a file: the next directory above it with a manifest or a repository, else its own.
function M.root(file)
  local start = vim.fn.fnamemodify(file, ":p:h")
  local directory = start
  while true do
    for _, mark in ipairs(MARKS) do
      if loop.fs_stat(directory .. "/" .. mark) then
        return directory
      end
    end
    local above = vim.fn.fnamemodify(directory, ":h")
    if above == directory then
      return start
    end
    directory = above
  end
end

local function configuration(file)
  local settings = require("canny").settings
  local own = {
    name = "canny",
    cmd = vim.list_extend({ settings.command, "lsp" }, settings.arguments),
    root_dir = M.root(file),
  }
  return vim.tbl_deep_extend("force", own, settings.lsp or {})
end

-- Clients by root, for Neovim before 0.8, which has no vim.lsp.start.
local clients = {}

function M.start(buffer)
  local file = vim.api.nvim_buf_get_name(buffer)
  if file == "" or vim.bo[buffer].buftype ~= "" then
    return
  end
  local config = configuration(file)
  if vim.lsp.start then
    vim.lsp.start(config, { bufnr = buffer })
    return
  end
  local root = config.root_dir
  if not clients[root] then
    local on_exit = config.on_exit
    config.on_exit = function(...)
      clients[root] = nil
      if on_exit then
        on_exit(...)
      end
    end
    clients[root] = vim.lsp.start_client(config)
  end
  if clients[root] then
    vim.lsp.buf_attach_client(buffer, clients[root])
  end
end

-- Shows what the macro use at the cursor becomes, in a window of its own.
function M.expand()
  local position = vim.lsp.util.make_position_params(0, "utf-16")
  local wish = {
    command = "canny.expandMacro",
    arguments = { position.textDocument.uri, position.position },
  }
  vim.lsp.buf_request(0, "workspace/executeCommand", wish, function(problem, result)
    if problem or type(result) ~= "string" then
      vim.notify(problem and problem.message or "There is no macro use here.")
      return
    end
    vim.cmd("new")
    vim.bo.buftype = "nofile"
    vim.bo.bufhidden = "wipe"
    vim.bo.filetype = "scheme"
    vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(result, "\n"))
  end)
end

return M
