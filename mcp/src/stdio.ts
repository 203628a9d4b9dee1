import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { Console } from 'node:console'
import process from 'node:process'
import { openConnection, type ConnectionOptions } from './connection.ts'
import { createMcpServer, type ServerOptions } from './mcp-server.ts'

/** As long as a client waits for its server to end before it kills it. */
const endsWithinMs = 2_000

/**
 * Serves the one client at the other end of standard input and output. Resolves when that has gone, or
 * the process is told to end, and every machine is handed back.
 */
export async function serveStdio(options: ConnectionOptions & ServerOptions): Promise<void> {
  // Standard output carries the protocol alone.
  globalThis.console = new Console(process.stderr)
  const ended = clientGone()
  const connection = openConnection(options)
  const server = createMcpServer(connection, options)
  await server.connect(new StdioServerTransport())
  await ended
  await server.close()
  const over = new Promise<void>((resolve) => setTimeout(resolve, endsWithinMs).unref())
  // A server that does not answer lets the leases run out by themselves.
  const handedBack = connection[Symbol.asyncDispose]().catch(() => {})
  await Promise.race([handedBack, over])
}

async function clientGone(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const gone = () => resolve()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, gone)
  process.stdin.once('end', gone).once('close', gone)
  process.stdout.once('error', gone)
  await promise
}
