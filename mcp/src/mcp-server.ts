import { McpServer, type CallToolResult } from '@modelcontextprotocol/server'
import { readFileSync } from 'node:fs'
import type { Connection } from './connection.ts'
import { explainFailure } from './failures.ts'
import { keepAlive } from './keep-alive.ts'
import type { Call, Tool } from './tool.ts'
import { tools } from './tools/all.ts'

export type ServerOptions = {
  /** Offer only what looks and changes nothing. */
  readonly readOnly?: boolean | undefined
  /** How often a client that asks for it is told that a call is under way. Default: 10 s. */
  readonly progressEveryMs?: number | undefined
}

/** A server for one client, over its connection. */
export function createMcpServer(connection: Connection, options: ServerOptions): McpServer {
  const { readOnly, progressEveryMs = 10_000 } = options
  const server = new McpServer(
    { name: 'computer', title: 'Computer', version: readVersion() },
    { instructions: readOnly ? readOnlyInstructions : instructions },
  )
  for (const tool of tools) {
    const { name, title, description, input, annotations } = tool
    if (readOnly && !annotations.readOnlyHint) continue
    const config = {
      title,
      description,
      inputSchema: input,
      annotations: { title, ...annotations },
    }
    server.registerTool(name, config, async (args, { mcpReq }) => {
      using _ = keepAlive(mcpReq, progressEveryMs)
      return await answer(tool, { connection, signal: mcpReq.signal }, args)
    })
  }
  return server
}

async function answer(tool: Tool, call: Call, args: unknown): Promise<CallToolResult> {
  try {
    const given = await tool.run(call, args as never)
    return { content: typeof given === 'string' ? [{ type: 'text', text: given }] : [...given] }
  } catch (error) {
    const explained = explainFailure(error)
    if (explained === null && !call.signal.aborted) console.error(`${tool.name} failed`, error)
    const text = explained ?? `${tool.name} failed. Try once more, then tell the user.`
    return { isError: true, content: [{ type: 'text', text }] }
  }
}

const instructions = `\
Linux machines with a desktop, a browser and a shell. Work goes so: list_machines or create_machine; \
open_page, screenshot, click and type_text for what is on the screen; run_command, read_file and \
write_file for the rest, which is faster and surer wherever it will do. After each action on the \
screen take a screenshot before you decide on the next. Take a snapshot before something risky. \
A person may take the mouse and keyboard over at any time: then stop and ask.`

const readOnlyInstructions = `\
Linux machines with a desktop, a browser and a shell. You can look at them, at their screens, files and \
processes, and change nothing: that takes a server that is not read-only.`

function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
