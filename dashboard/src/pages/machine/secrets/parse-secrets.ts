import { limits } from '@computer/sdk/tables'

export type SecretLine = { readonly name: string; readonly value: string }

/**
 * Reads lines such as of a `.env` file: `KEY=value`, `export KEY=value`, `KEY="value"`. A value in quotes may
 * have several lines. Empty lines and comments are passed over. The last value of a name counts, as in a
 * shell.
 */
export function parseSecrets(text: string): {
  readonly secrets: readonly SecretLine[]
  /** The numbers of the lines that are none of these. Their text may be a secret. */
  readonly unread: readonly number[]
} {
  const secrets = new Map<string, string>()
  const unread: number[] = []
  const lines = text.split(/\r?\n/)
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index]!.trim()
    if (line === '' || line.startsWith('#')) continue
    const [, name, start = ''] = /^(?:export\s+)?([^\s=]+)\s*=\s*(.*)$/.exec(line) ?? []
    const last = index + linesOfValue(start, lines.slice(index + 1))
    if (name === undefined || Number.isNaN(last)) unread.push(index + 1)
    else {
      secrets.set(name, unquote([start, ...lines.slice(index + 1, last + 1)].join('\n').trimEnd()))
      index = last
    }
  }
  return { secrets: [...secrets].map(([name, value]) => ({ name, value })), unread }
}

/** A line that `parseSecrets` reads as this secret. */
export function writeSecret({ name, value }: SecretLine): string {
  if (/^[^\s"'\\#]*$/.test(value)) return `${name}=${value}`
  const escaped = value.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)
  return `${name}="${escaped}"`
}

/** Why the server would refuse a secret, or undefined. */
export function faultOf({ name, value }: SecretLine): string | undefined {
  const { pattern, reserved, maxLength } = limits.secretName
  if (name === '') return 'It needs a name.'
  if (name.length > maxLength) return `The name is longer than ${maxLength} characters.`
  if (!new RegExp(pattern).test(name))
    return 'The name must be upper-case letters, digits and _, and not begin with a digit.'
  if (new RegExp(reserved).test(name)) return 'The name is reserved for shells and logins.'
  const bytes = new TextEncoder().encode(value).length
  if (bytes > limits.secretValue.maxBytes) return 'The value is larger than 64 KB.'
  if (value.includes('\0')) return 'The value contains a NUL character.'
  return undefined
}

/** How many lines a value goes on after its first one; NaN if its quote does not end. */
function linesOfValue(start: string, following: readonly string[]): number {
  const quote = start[0]
  if ((quote !== '"' && quote !== "'") || isClosed(start, quote)) return 0
  const end = following.findIndex((line) => isClosed(`${quote}${line}`, quote))
  return end < 0 ? NaN : end + 1
}

/** Whether a text that begins with a quote ends with it, and not with an escaped one. */
function isClosed(text: string, quote: '"' | "'"): boolean {
  const trimmed = text.trimEnd()
  if (trimmed.length < 2 || !trimmed.endsWith(quote)) return false
  return quote === "'" || (/\\*$/.exec(trimmed.slice(0, -1))?.[0].length ?? 0) % 2 === 0
}

const escapes: Readonly<Record<string, string>> = { n: '\n', '"': '"', '\\': '\\' }

function unquote(value: string): string {
  const [, quote, inner] = /^(["'])(.*)\1$/s.exec(value) ?? []
  if (inner === undefined) return value
  return quote === '"' ? inner.replaceAll(/\\(["\\n])/g, (_, one: string) => escapes[one]!) : inner
}
