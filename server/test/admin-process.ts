import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

export type AdminOptions = {
  readonly stdin?: string
  readonly env?: Readonly<Record<string, string | undefined>>
}

const main = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url))

type Outcome = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

/** Runs `computer admin` with the words against a database, as its operator would, in a process of its own. */
export async function runAdmin(
  databaseUrl: string,
  ...args: readonly (string | AdminOptions)[]
): Promise<Outcome> {
  return runCommand(databaseUrl, 'admin', ...args)
}

/** The same for any command. */
export async function runCommand(
  databaseUrl: string,
  ...args: readonly (string | AdminOptions)[]
): Promise<Outcome> {
  const { stdin = '', env = {} } = args.find((arg) => typeof arg === 'object') ?? {}
  const words = args.filter((arg) => typeof arg === 'string')
  const away = { COMPUTER_DATA: '/nonexistent/computer', DATABASE_URL: databaseUrl }
  const child = spawn(process.execPath, [main, ...words], {
    stdio: 'pipe',
    env: { ...process.env, ...away, ...env },
  })
  child.stdin.end(stdin)
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  if (child.exitCode === null) await once(child, 'exit')
  return { code: child.exitCode, stdout, stderr }
}
