import type { GuestSecrets } from '@computer/contract/guest-secrets'

/** The secrets as POSIX shell assignments, which are also a valid EnvironmentFile=. */
export function formatSecrets({ revision, secrets }: GuestSecrets): string {
  const lines = secrets.map(({ name, value }) => `${name}=${quote(value)}\n`)
  return `# revision ${revision}\n${lines.join('')}`
}

/** Empty unless `formatSecrets` wrote the text: the machine's root may have replaced the file. */
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

/** Within single quotes every character is literal, except the quote. */
function quote(value: string): string {
  return `'${value.replaceAll("'", quotedQuote)}'`
}

function unquote(quoted: string): string {
  return quoted.slice(1, -1).replaceAll(quotedQuote, "'")
}

/** Closes the quotes, adds the quote in double quotes, and opens them again. */
const quotedQuote = `'"'"'`
