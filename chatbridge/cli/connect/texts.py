"""The texts that are written into clients' files: the paragraph for agents, and a plug-in."""

from __future__ import annotations

import json
from collections.abc import Sequence

_INSTRUCTIONS = """\
## Ask with chatbridge

There may be nobody at this computer. Call the tool `{ask}` of the MCP
server `chatbridge` when a decision is not yours to make: several ways are
reasonable and the choice matters, something cannot be undone, or you need
what only the owner has. It asks on the owner's phone. Do not end your turn
with a question in the text: nobody reads it there.

- Ask all you need in one call. Give options, and say which one you would take.
- If the result is a ticket, call `wait_for_answer` until there is an outcome.
- If nobody answers, nobody has consented: take the safe way, leave out what
  cannot be undone, and say at the end what is still open.
"""
_OPENCODE_PLUGIN = """\
import { spawn } from "node:child_process"

const COMMAND = %s
const LONGEST = 20_000

// What `chatbridge hook` says about an event; null: nothing.
const told = (event) =>
  new Promise((resolve) => {
    const [command, ...words] = COMMAND
    const child = spawn(command, words, { stdio: ["pipe", "pipe", "ignore"], timeout: LONGEST })
    let said = ""
    child.stdout.setEncoding("utf8").on("data", (part) => (said += part))
    child.stdin.on("error", () => {})
    child.on("error", () => resolve(null))
    child.on("close", () => {
      try {
        resolve(JSON.parse(said))
      } catch {
        resolve(null)
      }
    })
    child.stdin.end(JSON.stringify({ client: "opencode", ...event }))
  })

export const Chatbridge = async ({ client, directory }) => {
  // A subagent's session is not the one that the owner writes to.
  const isSubagent = async (id) => {
    const { data } = await client.session.get({ path: { id } })
    return !data || Boolean(data.parentID)
  }
  const ask = async (id, name) =>
    (await isSubagent(id))
      ? null
      : await told({ hook_event_name: name, session_id: id, cwd: directory })

  return {
    "tool.execute.after": async (input, output) => {
      const said = await ask(input.sessionID, "PostToolUse")
      const text = said?.hookSpecificOutput?.additionalContext
      if (!text) return
      if (Array.isArray(output.content)) output.content.push({ type: "text", text })
      else output.output = `${output.output ?? ""}\\n\\n${text}`
    },
    event: async ({ event }) => {
      if (event.type !== "session.idle" || process.argv[2] === "run") return
      const id = event.properties.sessionID
      const text = (await ask(id, "Stop"))?.reason
      if (!text) return
      await client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text }] } })
    },
  }
}
"""


def instructions(ask_tool: str) -> str:
    return _INSTRUCTIONS.format(ask=ask_tool)


def opencode_plugin(command: Sequence[str]) -> str:
    """opencode has no hooks that run a command. The plug-in runs `chatbridge hook` after each tool
    and at the end of a turn, and gives the model what the owner has written. Not at the end of
    `opencode run`, which exits then: the message would be lost."""
    return _OPENCODE_PLUGIN % json.dumps(list(command), ensure_ascii=False)
