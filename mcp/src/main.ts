#!/usr/bin/env node
import { parseArgs } from 'node:util'
import { runHttp } from './http.ts'
import { serveStdio } from './stdio.ts'

const usage = `Usage: computer-mcp [--read-only] [--no-guard] [--http [--host ADDRESS] [--port PORT] [--allow-host NAME]...]

Gives a model access to machines over standard input and output, using the API key in
COMPUTER_API_KEY, or with --http over streamable HTTP, where each client sends its own key.

  --read-only        offer only tools that change nothing
  --no-guard         type and click even if the screen has changed since the last picture
  --http             serve streamable HTTP
  --host ADDRESS     address to listen on (default: 127.0.0.1)
  --port PORT        port to listen on (default: 7090)
  --allow-host NAME  host name that clients may use to reach this server; may be repeated

COMPUTER_BASE_URL is the URL of the Computer server (default: http://127.0.0.1:7080).`

const args = readArguments()
if (args.help) {
  console.log(usage)
} else {
  await serve()
  process.exit()
}

async function serve(): Promise<void> {
  const { host, port, 'read-only': readOnly, 'allow-host': allowedHosts } = args
  const guard = !args['no-guard']
  if (!args.http) return serveStdio({ readOnly, guard })
  await runHttp({
    host,
    port: port === undefined ? undefined : Number(port),
    readOnly,
    guard,
    allowedHosts,
  })
}

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        'read-only': { type: 'boolean' },
        'no-guard': { type: 'boolean' },
        http: { type: 'boolean' },
        host: { type: 'string' },
        port: { type: 'string' },
        'allow-host': { type: 'string', multiple: true },
        help: { type: 'boolean', short: 'h' },
      },
    })
    if (values.port !== undefined && !/^\d+$/.test(values.port))
      throw new Error(`--port must be a number, not "${values.port}"`)
    return values
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    process.exit(2)
  }
}
