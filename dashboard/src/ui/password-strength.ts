import { limits } from '@computer/sdk/tables'

export type PasswordStrength = {
  /** 0 is refused by the server; 3 is strong. */
  readonly level: 0 | 1 | 2 | 3
  readonly text: string
}

const common = ['password', 'passwort', 'qwerty', 'letmein', 'welcome', 'iloveyou', 'computer']

/**
 * A rough guess at how hard a password is to guess: by its length and variety, without what guessers try
 * first, which are common words, rows of keys, and the person's own name and email.
 */
export function rateNewPassword(password: string, own: readonly string[] = []): PasswordStrength {
  const missing = limits.password.minLength - password.length
  if (password === '')
    return { level: 0, text: `At least ${limits.password.minLength} characters.` }
  if (missing > 0)
    return { level: 0, text: `${missing} more ${missing === 1 ? 'character' : 'characters'}.` }
  const bits = bitsOf(withoutGuessable(password.toLowerCase(), own), password)
  if (bits < 40) return { level: 1, text: 'Easy to guess. Several unrelated words are better.' }
  if (bits < 65) return { level: 2, text: 'Fair. A longer one is stronger.' }
  return { level: 3, text: 'Strong.' }
}

function withoutGuessable(password: string, own: readonly string[]): string {
  const words = own.flatMap((one) => one.toLowerCase().split(/[^\p{L}\p{N}]+/u))
  return (
    [...common, ...words.filter((word) => word.length > 2)]
      .reduce((rest, word) => rest.replaceAll(word, '*'), password)
      // Runs such as aaaa, 1234 and dcba count as one character.
      .replace(/(.)\1{2,}/gu, '$1')
      .replace(/./gsu, (character, at: number, all: string) => (isInRun(all, at) ? '' : character))
  )
}

/** The third and later characters of a row such as abcd or 4321. */
function isInRun(text: string, at: number): boolean {
  const step = text.charCodeAt(at) - text.charCodeAt(at - 1)
  return Math.abs(step) === 1 && text.charCodeAt(at - 1) - text.charCodeAt(at - 2) === step
}

function bitsOf(rest: string, password: string): number {
  const classes: readonly (readonly [RegExp, number])[] = [
    [/[a-z]/, 26],
    [/[A-Z]/, 26],
    [/[0-9]/, 10],
    [/[^a-zA-Z0-9]/, 33],
  ]
  const variety = classes.reduce((sum, [one, size]) => sum + (one.test(password) ? size : 0), 0)
  const distinct = new Set(rest).size
  return Math.min(rest.length, distinct * 2) * Math.log2(Math.max(2, variety))
}
