import type { Permission } from '@computer/sdk'
import { McpServer, type CallToolResult } from '@modelcontextprotocol/server'
import { readFileSync } from 'node:fs'
import type { Connection } from './connection.ts'
import { explainFailure } from './failures.ts'
import { keepAlive } from './keep-alive.ts'
import { isPermitted } from './permissions.ts'
import type { ToolCall, Tool } from './tool.ts'
import { tools } from './tools/all.ts'

export type ServerOptions = {
  /** Offer only tools that change nothing. */
  readonly readOnly?: boolean | undefined
  /** Interval of progress notifications, for clients that request them. Default: 10 s. */
  readonly progressEveryMs?: number | undefined
}
type Offer = ServerOptions & {
  /** Those of the key. Null offers all tools. */
  readonly permissions: ReadonlySet<Permission> | null
}

/** Creates the MCP server of one client. It offers the tools that its key may use. */
export function createMcpServer(connection: Connection, options: Offer): McpServer {
  const { readOnly, permissions, progressEveryMs = 10_000 } = options
  const offered = tools.filter(
    (tool) => isPermitted(tool, permissions) && (!readOnly || tool.annotations.readOnlyHint),
  )
  const isReading = offered.every(({ annotations }) => annotations.readOnlyHint)
  const server = new McpServer(
    { name: 'computer', title: 'Computer', version: readVersion() },
    { instructions: isReading ? readOnlyInstructions : instructions },
  )
  for (const tool of offered) {
    const { name, title, description, input, annotations } = tool
    const config = {
      title,
      description,
      inputSchema: input,
      annotations: { title, ...annotations },
    }
    server.registerTool(name, config, async (args, { mcpReq }) => {
      using _ = keepAlive(mcpReq, progressEveryMs)
      const arrivedAtMs = performance.now()
      return await runTool(tool, { connection, arrivedAtMs, signal: mcpReq.signal }, args)
    })
  }
  return server
}

async function runTool(tool: Tool, call: ToolCall, args: unknown): Promise<CallToolResult> {
  try {
    const result = await tool.run(call, args as never)
    const content =
      typeof result === 'string' ? [{ type: 'text' as const, text: result }] : [...result]
    return { content }
  } catch (error) {
    const explanation = explainFailure(error)
    if (explanation === null && !call.signal.aborted) console.error(`${tool.name} failed`, error)
    const text = explanation ?? `${tool.name} failed. Try once more, then tell the user.`
    return { isError: true, content: [{ type: 'text', text }] }
  }
}

const instructions = `\
Linux machines with a desktop, a browser and a shell. Start with list_machines or create_machine. \
Use open_page, screenshot, click and type_text to work on the screen. Prefer run_command, read_file and \
write_file where they are enough: they are faster and more reliable. After each action on the screen, \
take a screenshot before deciding on the next. Take a snapshot before anything risky. Ask a person \
with request_help for what only a person can do, such as a login. A person may take over the mouse and \
keyboard at any time: then stop and ask.`

const readOnlyInstructions = `\
Linux machines with a desktop, a browser and a shell. This server is read-only: you can view \
machines, screens, files and processes, but change nothing.`

function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
