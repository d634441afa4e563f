-- Runs `canny test`; what fails becomes the quickfix list.

local M = {}

-- The entries of the quickfix list for an event of `--format json`.
function M.entries(event)
  if event.event == "test" and event.result == "failed" then
    local name = table.concat(vim.list_extend(vim.deepcopy(event.groups), { event.name }), ": ")
    local text = name
    if event.expected and event.actual then
      text = ("%s: expected %s, actual %s"):format(name, event.expected, event.actual)
    elseif event.actual then
      text = ("%s: %s"):format(name, event.actual)
    end
    return { { filename = event.source or event.file, lnum = event.line or 1, type = "E", text = text } }
  end
  if event.event == "file" and #event.problems > 0 then
    local found = { { filename = event.file, lnum = 1, type = "E", text = table.concat(event.problems, "; ") } }
    -- Messages of the machine have places.
    for line in vim.gsplit(event.output or "", "\n", true) do
      local file, row, column, text = line:match("^([^:%s]+):(%d+):(%d+): (error.*)$")
      if file then
        local place = { filename = file, lnum = tonumber(row), col = tonumber(column) }
        table.insert(found, vim.tbl_extend("error", place, { type = "E", text = text }))
      end
    end
    return found
  end
  return {}
end

-- Runs suites: those of the arguments, else those below the current directory. `finish` is called with
-- the summary.
function M.run(places, finish)
  local settings = require("canny").settings
  local words = vim.list_extend({ settings.command, "test", "--format", "json" }, settings.arguments)
  vim.list_extend(words, vim.tbl_map(vim.fn.expand, places or {}))
  local entries = {}
  local others = {}
  local summary
  local rest = ""
  local function take(line)
    local is_event, event = pcall(vim.json.decode, line)
    if is_event and type(event) == "table" then
      vim.list_extend(entries, M.entries(event))
      summary = event.event == "summary" and event or summary
    end
  end
  local function done()
    vim.fn.setqflist({}, " ", { title = table.concat(words, " "), items = entries })
    if summary then
      local text = "canny test: %d passed, %d failed, %d skipped in %d files"
      vim.notify(text:format(summary.passed, summary.failed, summary.skipped, summary.files))
    else
      vim.notify(table.concat(others, "\n"), vim.log.levels.ERROR)
    end
    if #entries > 0 then
      vim.cmd("botright copen")
    end
    if finish then
      finish(summary)
    end
  end
  vim.fn.jobstart(words, {
    on_stdout = function(_, lines)
      -- The first piece ends the line before, the last one has no end yet.
      lines[1] = rest .. lines[1]
      rest = table.remove(lines)
      vim.tbl_map(take, lines)
    end,
    on_stderr = function(_, lines)
      vim.list_extend(others, lines)
    end,
    on_exit = vim.schedule_wrap(done),
  })
end

return M
