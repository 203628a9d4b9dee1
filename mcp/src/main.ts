#!/usr/bin/env node
import { parseArgs } from 'node:util'
import { runHttp } from './http.ts'
import { serveStdio } from './stdio.ts'

const usage = `Usage: computer-mcp [--read-only] [--http [--host ADDRESS] [--port PORT] [--allow-host NAME]...]

Serves machines to a model over standard input and output, with the key in COMPUTER_API_KEY,
or with --http over streamable HTTP, where each client sends a key of its own.
COMPUTER_BASE_URL is the server that has the machines (default: http://127.0.0.1:7080).`

const wish = readArguments()
if (wish.help) {
  console.log(usage)
} else {
  await serve()
  process.exit()
}

async function serve(): Promise<void> {
  const { host, port, 'read-only': readOnly, 'allow-host': allowedHosts } = wish
  if (!wish.http) return serveStdio({ readOnly })
  await runHttp({
    host,
    port: port === undefined ? undefined : Number(port),
    readOnly,
    allowedHosts,
  })
}

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        'read-only': { type: 'boolean' },
        http: { type: 'boolean' },
        host: { type: 'string' },
        port: { type: 'string' },
        'allow-host': { type: 'string', multiple: true },
        help: { type: 'boolean', short: 'h' },
      },
    })
    if (values.port !== undefined && !/^\d+$/.test(values.port))
      throw new Error(`--port is a number, not "${values.port}"`)
    return values
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    process.exit(2)
  }
}
