-- Canny in Neovim: the language server, the debugger and tests.
--
--   require("canny").setup()
--
-- It runs with Neovim 0.7 and later. The debugger wants nvim-dap.

local M = {}

M.settings = {
  -- The `canny` command.
  command = "canny",
  -- Options of `canny lsp` and `canny test`, such as { "-I", "lib" }.
  arguments = {},
  -- Further fields of the language client, such as `on_attach`; false for no language server.
  lsp = {},
  -- Whether nvim-dap learns of Canny, if it is there.
  dap = true,
}

function M.setup(wishes)
  M.settings = vim.tbl_deep_extend("force", M.settings, wishes or {})
  local group = vim.api.nvim_create_augroup("canny", { clear = true })
  if M.settings.lsp then
    vim.api.nvim_create_autocmd("FileType", {
      group = group,
      pattern = "scheme",
      callback = function(event)
        require("canny.lsp").start(event.buf)
      end,
    })
  end
  if M.settings.dap then
    require("canny.dap").register()
  end
  vim.api.nvim_create_user_command("CannyExpand", function()
    require("canny.lsp").expand()
  end, { desc = "Show the expansion of the macro at the cursor" })
  vim.api.nvim_create_user_command("CannyTest", function(command)
    require("canny.test").run(command.fargs)
  end, { nargs = "*", complete = "file", desc = "Run canny test; failures become the quickfix list" })
end

return M
