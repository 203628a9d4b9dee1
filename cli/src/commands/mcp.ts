import { Command } from '@commander-js/extra-typings'
import { ApiError } from '@computer/sdk'
import { examples, parseCount, profileFlag, urlFlag } from '../command.ts'
import { readConnection, type ConnectionFlags } from '../config.ts'

export const mcp = new Command('mcp')
  .description('Run an MCP server that gives a model access to machines.')
  .option('--read-only', 'offer only tools that change nothing')
  .option('--no-guard', 'type and click even if the screen has changed since the last picture')
  .addOption(profileFlag())
  .addOption(urlFlag())
  .option('--http', 'serve streamable HTTP; each client sends its own API key')
  .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
  .option('--port <port>', 'port to listen on (default: 7090)', parseCount)
  .option('--allow-host <names...>', 'host names that clients may use to reach this server')
  .addHelpText(
    'after',
    `
Without --http it speaks MCP over standard input and output with the program that started
it, and uses the API key of the profile. Name this command in that program's settings.
${examples('computer mcp', 'computer mcp --read-only', 'computer mcp --http --port 7090')}`,
  )
  .action(async ({ http, profile, url, readOnly, guard, host, port, allowHost: allowedHosts }) => {
    // Loaded by this command alone, because it is most of the program.
    const server = await import('@computer/mcp')
    if (http) {
      const baseUrl = await readBaseUrl({ profile, url })
      await server.runHttp({ baseUrl, host, port, readOnly, guard, allowedHosts })
    } else {
      await server.serveStdio({ ...(await readKey({ profile, url })), readOnly, guard })
    }
    process.exit()
  })

/** The tools act with an API key, whose scopes limit the model. */
async function readKey(flags: ConnectionFlags): Promise<{ apiKey: string; baseUrl: string }> {
  const { apiKey, baseUrl, profile } = await readConnection(flags)
  if (apiKey !== null) return { apiKey, baseUrl }
  const message = `profile "${profile}" is a person, and a model needs an API key: create one with \`computer keys create\`, and set COMPUTER_API_KEY`
  throw new ApiError('unauthenticated', message)
}

/** Clients send their own keys, so a missing profile is not an error. */
async function readBaseUrl(flags: ConnectionFlags): Promise<string | undefined> {
  try {
    return (await readConnection(flags)).baseUrl
  } catch (error) {
    if (flags.profile === undefined && error instanceof ApiError) return flags.url
    throw error
  }
}
