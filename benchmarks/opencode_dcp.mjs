// Answers what opencode-dcp leaves of tool results: reads a session of OpenCode's form ({ messages }) from the standard input, and prints
// { callID: text } of the outputs that the model is sent in place of those that it was given.
//
//   node opencode_dcp.mjs PATH_OF_THE_PLUGINS_MODULE
//
// Its rules for repeated calls and errors run when the model calls its tool. So that tool is called once, over the first message alone, whose
// own text stands for it: a summary is the model's work, and nothing of it is judged here.
import { readFileSync } from "node:fs"

const { default: server } = await import(process.argv[2])
const { messages } = JSON.parse(readFileSync(0, "utf8"))
const sessionID = messages[0].info.sessionID
const asked = () => ({ messages: structuredClone(messages) })
const client = {
  session: { get: async () => ({ data: {} }), messages: async () => ({ data: asked().messages }), prompt: async () => ({}) },
  tui: { showToast: async () => ({}) },
}

const hooks = await server({ client, directory: process.env.HOME, worktree: process.env.HOME })
const transform = hooks["experimental.chat.messages.transform"]
await transform({}, asked())
const first = messages[0].parts[0].text
const content = [{ startId: "m0001", endId: "m0001", summary: first }]
const context = { sessionID, messageID: "msg_compress", callID: "call_compress", agent: "build", ask: async () => {}, metadata: () => {} }
await hooks.tool.compress.execute({ topic: "The first message", content }, context)
const sent = asked()
await transform({}, sent)

// An id that it puts behind the text of a message is not a change of the output before it.
const own = (text) => text.replace(/\n<dcp-message-id[^>]*>[^<]*<\/dcp-message-id>$/, "")
const outputs = (list) =>
  new Map(list.flatMap(({ parts }) => parts.filter(({ type }) => type === "tool").map(({ callID, state }) => [callID, state.output ?? state.error])))
const left = outputs(sent.messages)
const changed = {}
for (const [id, text] of outputs(messages)) if (own(left.get(id) ?? "") !== own(text)) changed[id] = own(left.get(id) ?? "")
process.stdout.write(JSON.stringify(changed))
process.exit(0) // its timers for notices would go on
