#!/usr/bin/env node
import { parseArgs } from 'node:util'
import { serveHttp } from './http.ts'
import { serveStdio } from './stdio.ts'

const usage = `Usage: computer-mcp [--read-only] [--http [--host HOST] [--port PORT] [--allow-host NAME]...]

Serves machines to a model over stdio, with the key in COMPUTER_API_KEY, or with --http over
streamable HTTP, where each client sends a key of its own. COMPUTER_BASE_URL is the server
that has the machines (default: http://127.0.0.1:7080).`

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

if (values.help) {
  console.log(usage)
} else if (values.http) {
  const { host, port, 'read-only': readOnly, 'allow-host': allowedHosts } = values
  const server = await serveHttp({
    host,
    port: port ? Number(port) : undefined,
    readOnly,
    allowedHosts,
  })
  console.error(`serving at ${server.url}`)
} else {
  await serveStdio({ readOnly: values['read-only'] })
  process.exit()
}
