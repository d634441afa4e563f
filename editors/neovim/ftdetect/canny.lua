-- Files of Scheme that Neovim does not know by itself.
vim.api.nvim_create_autocmd({ "BufRead", "BufNewFile" }, {
  pattern = { "*.scm", "*.sld", "*.sls", "*.sps" },
  callback = function()
    -- It leaves a type that is set alone.
    vim.cmd("setfiletype scheme")
  end,
})
