import { Password } from '@computer/contract'
import { randomInt } from 'node:crypto'
import { text } from 'node:stream/consumers'

/** Without characters that are easily mistaken for others. */
const alphabet = '23456789abcdefghjkmnpqrstvwxyz'

/** 98 random bits in groups that are easy to read out. */
export function generatePassword(): string {
  const group = () => Array.from({ length: 5 }, () => alphabet[randomInt(alphabet.length)]).join('')
  return Array.from({ length: 4 }, group).join('-')
}

/** Reads the password from stdin, without a trailing line break. */
export async function readPassword(stdin: NodeJS.ReadableStream): Promise<string> {
  const parsed = Password.safeParse((await text(stdin)).replace(/\r?\n$/, ''))
  if (parsed.success) return parsed.data
  throw new Error(`the password on stdin ${parsed.error.issues[0]!.message}`)
}
