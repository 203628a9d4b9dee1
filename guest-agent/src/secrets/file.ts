import type { GuestSecrets } from '@computer/contract/guest-secrets'

/**
 * The file of a machine's secrets: assignments in the words of a POSIX shell, one after the other,
 * which systemd takes as an EnvironmentFile= too.
 */
export function printSecrets({ revision, secrets }: GuestSecrets): string {
  const lines = secrets.map(({ name, value }) => `${name}=${quote(value)}\n`)
  return `# revision ${revision}\n${lines.join('')}`
}

/** What `printSecrets` wrote. Empty for anything else: the machine's root may have put it there. */
export function parseSecrets(text: string): GuestSecrets {
  const head = /^# revision (\d{1,15})\n/.exec(text)
  if (!head) return none
  const secrets: GuestSecrets['secrets'] = []
  const assignment = /([A-Z_][A-Z0-9_]*)=((?:'[^']*'|"'")*)\n/y
  assignment.lastIndex = head[0].length
  while (assignment.lastIndex < text.length) {
    const found = assignment.exec(text)
    if (!found) return none
    secrets.push({ name: found[1]!, value: unquote(found[2]!) })
  }
  return { revision: Number(head[1]), secrets }
}

const none: GuestSecrets = { revision: 0, secrets: [] }

/** Within single quotes every character is taken as it is, but for the quote. */
function quote(value: string): string {
  return `'${value.replaceAll("'", quotedQuote)}'`
}

function unquote(quoted: string): string {
  return quoted.slice(1, -1).replaceAll(quotedQuote, "'")
}

/** Ends the quotes, has the one character in the other kind, and begins again. */
const quotedQuote = `'"'"'`
