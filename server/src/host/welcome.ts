import { join } from 'node:path'
import type { Config } from '../config.ts'
import { quoteWord } from '../shell.ts'
import type { FirstSignIn } from './first-sign-in.ts'
import { ownerKeyPath } from './first-start.ts'
import { ownLauncher, resolveLink } from './launcher.ts'

/** What a started server tells its operator. The commands work as they are, pasted into another terminal. */
export function describeServer(config: Config, firstSignIn: FirstSignIn | null): string {
  const { baseUrl, dashboardUrl, dataDir } = config
  const key = ownerKeyPath(dataDir)
  const computer = findLauncher(process.env['PATH'] ?? '')
  return `
Computer is running at ${baseUrl} (API reference: ${baseUrl}/docs)
  dashboard      ${dashboardUrl}
  first API key  ${key}${describePreviews(config)}
  logs           ${join(dataDir, 'logs')}
${firstSignIn ? describeFirstSignIn(firstSignIn, computer) : ''}
Sign in, create a computer and take a screenshot of it, in another terminal:
  ${computer} login --url ${quote(baseUrl)} < ${quote(key)}
  ${computer} machines create first
  ${computer} screenshot first screen.png

Press Ctrl-C to stop the server. Machines keep running; \`${computer} down\` stops them too.`
}

function describeFirstSignIn({ link }: FirstSignIn, computer: string): string {
  const command = `${computer} admin login-link`
  return link === null
    ? `
Nobody has an account yet. This command prints a link to set up the first one:
  ${command}
`
    : `
Nobody has an account yet. Open this link within 10 minutes to set up the first one; it works once:
  ${link}
\`${command}\` prints another.
`
}

/** How a shell with this PATH calls our launcher: by its name, if that leads to it. */
export function findLauncher(path: string, launcher = ownLauncher): string {
  for (const folder of path.split(':')) {
    // npm puts such folders into the PATH of what it runs, not into that of other terminals.
    if (!folder.startsWith('/') || folder.includes('/node_modules/')) continue
    const found = resolveLink(join(folder, 'computer'))
    if (found === null) continue
    if (found === resolveLink(launcher)) return 'computer'
    break
  }
  return quote(launcher)
}

/** One word of a shell, with quotes only if it needs them. */
function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : quoteWord(text)
}

function describePreviews({ previews, dataDir }: Config): string {
  if (!previews) return ''
  const port = previews.publicPort === 443 ? '' : `:${previews.publicPort}`
  const authority = join(dataDir, 'previews', 'authority.crt')
  const trust = previews.tls.by === 'authority' ? ` (browsers must trust ${authority})` : ''
  return `\n  previews       https://*.${previews.domain}${port}${trust}`
}
