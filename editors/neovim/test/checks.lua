-- Checks of this folder in Neovim, without a screen.
--
--   CANNY=…/canny NVIM_DAP=…/nvim-dap nvim --headless -u editors/neovim/test/checks.lua
--
-- Without NVIM_DAP, a checkout of nvim-dap, the debugger is not checked. The exit code is 0 if all is well.

local here = vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p:h")
vim.opt.runtimepath:prepend(vim.fn.fnamemodify(here, ":h"))
local has_dap = os.getenv("NVIM_DAP") ~= nil
if has_dap then
  vim.opt.runtimepath:append(os.getenv("NVIM_DAP"))
end
vim.cmd("filetype on")
vim.o.swapfile = false

local WAIT = 30000
local canny = os.getenv("CANNY") or "canny"
local directory = vim.fn.tempname()
local files = {
  ["package.scm"] = '(package (name "checks") (version "0.1.0"))\n',
  ["twice.sld"] = "(define-library (twice)\n  (export twice)\n  (import (scheme base))\n"
    .. "  (begin\n    (define (twice x)\n      (* 2 x))))\n",
  ["program.scm"] = "(import (scheme base) (scheme write) (twice))\n(define (work x)\n  (let ((y (twice x)))\n"
    .. "    y))\n(display (work 4))\n(newline)\n",
  ["macro.scm"] = "(import (scheme base))\n(define-syntax twice\n  (syntax-rules ()\n    ((_ x) (* 2 x))))\n"
    .. "(define four (twice 2))\n",
  ["wrong.scm"] = "(import (scheme base))\n(no-such-name 1)\n",
  ["service.scm"] = "(import (scheme base) (scheme write) (canny tasks))\n(define (work n)\n  (sleep 0.05)\n"
    .. '  (+ n 1))\n(display "ready")\n(newline)\n(flush-output-port)\n(let loop ((n 0)) (loop (work n)))\n',
  ["tests/numbers.scm"] = '(import (scheme base) (canny test))\n(test-group "numbers"\n  (test "sum" 3 (+ 1 2))\n'
    .. '  (test "product" 5 (* 2 2)))\n',
  ["tests/broken.scm"] = "(import (scheme base) (canny test))\n(test 1 (lambda))\n",
}
for name, text in pairs(files) do
  local path = directory .. "/" .. name
  vim.fn.mkdir(vim.fn.fnamemodify(path, ":h"), "p")
  vim.fn.writefile(vim.split(text, "\n"), path, "b")
end
vim.cmd("cd " .. directory)

require("canny").setup({ command = canny })

local function expect(found, wanted, what)
  if not vim.deep_equal(found, wanted) then
    error(("%s: expected %s, found %s"):format(what, vim.inspect(wanted), vim.inspect(found)), 2)
  end
end

local function wait(what, look)
  local found
  vim.wait(WAIT, function()
    found = look()
    return found
  end, 20)
  return found or error("it did not come: " .. what, 2)
end

local function request(method, wish)
  local answers = vim.lsp.buf_request_sync(0, method, wish, WAIT) or {}
  local _, answer = next(answers)
  return answer and answer.result
end

local checks = {}

table.insert(checks, { "the language server reports errors", function()
  vim.cmd("edit wrong.scm")
  local found = wait("a diagnostic", function()
    return vim.tbl_filter(function(one)
      return one.message:find("no-such-name", 1, true)
    end, vim.diagnostic.get(0))[1]
  end)
  expect(found.lnum, 1, "line")
end })

table.insert(checks, { "one server for a project; definitions in its libraries", function()
  vim.cmd("edit program.scm")
  local at = { textDocument = vim.lsp.util.make_text_document_params(), position = { line = 2, character = 13 } }
  local place = wait("a definition", function()
    local result = request("textDocument/definition", at)
    return result and (vim.tbl_islist(result) and result[1] or result)
  end)
  local uri = place.uri or place.targetUri
  expect(vim.fn.resolve(vim.uri_to_fname(uri)), vim.fn.resolve(directory .. "/twice.sld"), "file")
  expect(vim.bo.filetype, "scheme", "file type")
  local clients = (vim.lsp.get_clients or vim.lsp.get_active_clients)()
  expect(#clients, 1, "clients")
end })

table.insert(checks, { "macro uses are expanded", function()
  vim.cmd("edit macro.scm")
  vim.api.nvim_win_set_cursor(0, { 5, 15 })
  wait("knowledge of the text", function()
    local wish = { textDocument = vim.lsp.util.make_text_document_params() }
    return #(request("textDocument/documentSymbol", wish) or {}) > 0
  end)
  require("canny.lsp").expand()
  wait("an expansion", function()
    return vim.bo.buftype == "nofile" and vim.fn.search("(\\* 2 2)", "cw") > 0
  end)
  vim.cmd("bwipeout!")
end })

table.insert(checks, { "failures of tests become the quickfix list", function()
  local summary
  require("canny.test").run({}, function(result)
    summary = result or {}
  end)
  wait("the end of the tests", function()
    return summary
  end)
  expect({ summary.passed, summary.failed, summary.failed_files }, { 1, 1, 2 }, "summary")
  local list = vim.tbl_map(function(one)
    return { vim.fn.fnamemodify(vim.fn.bufname(one.bufnr), ":t"), one.lnum, one.text }
  end, vim.fn.getqflist())
  table.sort(list, function(left, right)
    return vim.inspect(left) < vim.inspect(right)
  end)
  expect(list[1][1], "broken.scm", "a suite with an error")
  expect(list[2][2], 2, "the error's line")
  expect(list[3], { "numbers.scm", 4, "numbers: product: expected 5, actual 4" }, "a failure")
  vim.cmd("cclose")
end })

-- Runs a session of the debugger; `steps` are called with the session at each stop.
local function debugged(configuration, steps)
  local dap = require("dap")
  local stops = {}
  local exit
  dap.listeners.after.event_stopped.checks = function(session, body)
    table.insert(stops, { session = session, body = body })
  end
  dap.listeners.after.event_exited.checks = function(_, body)
    exit = body.exitCode
  end
  dap.run(configuration)
  for _, step in ipairs(steps) do
    local stop = wait("a stop", function()
      return table.remove(stops, 1)
    end)
    local session = stop.session
    local function ask(command, wish)
      local answer
      session:request(command, wish, function(problem, body)
        answer = body or { problem = problem }
      end)
      return wait("an answer", function()
        return answer
      end)
    end
    -- The plug-in asks for the stack meanwhile.
    local frame = ask("stackTrace", { threadId = stop.body.threadId }).stackFrames[1]
    wait("the plug-in's own frame", function()
      return session.current_frame and session.current_frame.scopes
    end)
    step({ reason = stop.body.reason, frame = frame, ask = ask, thread = stop.body.threadId })
  end
  -- A program that is left does not end.
  wait("the end", function()
    return not dap.session()
  end)
  return exit
end

local function named(name)
  for _, one in ipairs(require("dap").configurations.scheme) do
    if one.name == name then
      return one
    end
  end
  error("no configuration " .. name)
end

local function breakpoint(name, line)
  vim.cmd("edit " .. name)
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  require("dap").toggle_breakpoint()
end

local dap_checks = {}

table.insert(dap_checks, { "a breakpoint stops a program, with variables", function()
  breakpoint("program.scm", 4)
  local exit = debugged(named("Canny: this file"), {
    function(stop)
      expect({ stop.reason, stop.frame.line }, { "breakpoint", 4 }, "stop")
      local scopes = stop.ask("scopes", { frameId = stop.frame.id }).scopes
      local wish = { variablesReference = scopes[1].variablesReference }
      local variables = vim.tbl_map(function(one)
        return one.name .. "=" .. one.value
      end, stop.ask("variables", wish).variables)
      expect(variables, { "y=8", "x=4" }, "variables")
      local answer = stop.ask("evaluate", { expression = "(* x y)", frameId = stop.frame.id, context = "repl" })
      expect(answer.result, "32", "value")
      require("dap").step_out()
    end,
    function(stop)
      expect({ stop.reason, stop.frame.line }, { "step", 5 }, "step")
      require("dap").clear_breakpoints()
      require("dap").continue()
    end,
  })
  expect(exit, 0, "exit code")
end })

table.insert(dap_checks, { "a program stops at its first line", function()
  vim.cmd("edit program.scm")
  debugged(named("Canny: this file, from its first line"), {
    function(stop)
      expect(stop.reason, "entry", "reason")
      require("dap").continue()
    end,
  })
end })

table.insert(dap_checks, { "a process is attached to, and left", function()
  local output = ""
  local job = vim.fn.jobstart({ canny, "run", "service.scm" }, {
    on_stdout = function(_, lines)
      output = output .. table.concat(lines)
    end,
  })
  wait("the service", function()
    return output == "ready"
  end)
  breakpoint("service.scm", 4)
  local wish = vim.tbl_extend("force", named("Canny: a process"), { pid = vim.fn.jobpid(job) })
  debugged(wish, {
    function(stop)
      expect(stop.frame.line, 4, "line")
      require("dap").clear_breakpoints()
      require("dap").disconnect()
    end,
  })
  expect(vim.fn.jobwait({ job }, 0), { -1 }, "the service runs on")
  vim.fn.jobstop(job)
end })

table.insert(dap_checks, { "a recording is stepped through backwards", function()
  vim.fn.system({ canny, "record", "program.scm" })
  breakpoint("program.scm", 6)
  local wish = vim.tbl_extend("force", named("Canny: a recording"), { program = directory .. "/canny.recording" })
  debugged(wish, {
    function(stop)
      expect(stop.frame.line, 6, "line")
      require("dap").step_back()
    end,
    function(stop)
      expect(stop.frame.line, 5, "line")
      require("dap").clear_breakpoints()
      require("dap").continue()
    end,
  })
end })

if has_dap then
  vim.list_extend(checks, dap_checks)
end

vim.defer_fn(function()
  local failures = 0
  for _, check in ipairs(checks) do
    local is_well, problem = xpcall(check[2], debug.traceback)
    failures = failures + (is_well and 0 or 1)
    io.stdout:write("\n" .. (is_well and "ok: " or "FAILED: ") .. check[1] .. (is_well and "" or ": " .. problem))
  end
  if not has_dap then
    io.stdout:write("\nnot checked: the debugger, since NVIM_DAP is not set")
  end
  io.stdout:write("\n")
  vim.fn.delete(directory, "rf")
  vim.cmd(failures == 0 and "qa!" or "cq")
end, 0)
