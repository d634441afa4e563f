-- Debugs a program with nvim-dap, without a screen.
--
--   CANNY=target/release/canny NVIM_DAP=nvim-dap PROGRAM=a.scm LINE=4 nvim --headless -u neovim.lua
--
-- It stops at the line, writes what it sees to standard error, and ends with 0 when the program has.

vim.opt.runtimepath:append(os.getenv("NVIM_DAP"))
local program = os.getenv("PROGRAM")
local dap = require("dap")

local function say(...)
  io.stderr:write(table.concat(vim.tbl_map(tostring, { ... }), " ") .. "\n")
end

dap.adapters.canny = { type = "executable", command = os.getenv("CANNY"), args = { "dap" } }
local configuration = { name = "program", type = "canny", request = "launch", program = program }

local function look(session)
  local frame = session.current_frame
  say("at", frame.name, frame.line)
  for _, scope in ipairs(frame.scopes or {}) do
    local wish = { variablesReference = scope.variablesReference }
    session:request("variables", wish, function(_, answer)
      for _, variable in ipairs(answer.variables) do
        say(scope.name, variable.name, variable.value)
      end
    end)
  end
end

dap.listeners.after.event_stopped["check"] = function(session, body)
  say("stopped:", body.reason)
  -- The stack and the scopes are asked for by the plug-in meanwhile.
  vim.defer_fn(function()
    look(session)
    dap.clear_breakpoints()
    vim.defer_fn(dap.continue, 300)
  end, 300)
end
dap.listeners.after.event_exited["check"] = function(_, body)
  say("exited:", body.exitCode)
end
dap.listeners.after.event_terminated["check"] = function()
  vim.cmd("qa!")
end

vim.cmd("edit " .. program)
vim.bo.filetype = "scheme"
vim.api.nvim_win_set_cursor(0, { tonumber(os.getenv("LINE")), 0 })
dap.toggle_breakpoint()
dap.run(configuration)
vim.defer_fn(function()
  vim.cmd("cq")
end, 30000)
