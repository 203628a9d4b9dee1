import { Command } from '@commander-js/extra-typings'
import { ApiError } from '@computer/sdk'
import { examples, parseCount } from '../command.ts'
import { readConnection } from '../config.ts'

export const mcp = new Command('mcp')
  .description('Serve machines to a model, as an MCP server.')
  .option('--read-only', 'offer only what looks and changes nothing')
  .option('--profile <name>', 'use this profile of `computer login`')
  .option('--http', 'serve streamable HTTP; each client sends its own key')
  .option('--host <address>', 'where to listen (default: 127.0.0.1)')
  .option('--port <port>', 'where to listen (default: 7090)', parseCount)
  .option('--allow-host <names...>', 'names that clients reach this server by')
  .addHelpText(
    'after',
    `
Without --http it talks over standard input and output with the one program that started
it, which names this command in its settings, and acts with the key of the profile.
${examples('computer mcp', 'computer mcp --read-only', 'computer mcp --http --port 7090')}`,
  )
  .action(async ({ http, profile, readOnly, host, port, allowHost: allowedHosts }) => {
    const server = await loadServer()
    if (http) {
      const baseUrl = await readBaseUrl(profile)
      await server.runHttp({ baseUrl, host, port, readOnly, allowedHosts })
    } else {
      await server.serveStdio({ ...(await readConnection(profile)), readOnly })
    }
    process.exit()
  })

/** Not in the bundle of the command line, which few run for this: it is a package of its own. */
async function loadServer() {
  try {
    return await import('@computer/mcp')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    const message =
      '@computer/mcp is not installed: install it beside this command line, or run `npx @computer/mcp`'
    throw new ApiError('unsupported_operation', message, { cause })
  }
}

/** The clients bring their keys, so none has to be known here. */
async function readBaseUrl(profile: string | undefined): Promise<string | undefined> {
  try {
    return (await readConnection(profile)).baseUrl
  } catch (error) {
    if (profile === undefined && error instanceof ApiError) return undefined
    throw error
  }
}
