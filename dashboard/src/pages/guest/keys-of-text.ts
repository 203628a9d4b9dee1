import { keys, type Key } from '../machine/screen/key-codes.ts'

/** X names every character beyond Latin-1 so. */
const unicodeKeysym = 0x01000000

/** The keys that type a text, whatever the keyboard of the machine has. */
export function keysOf(text: string): readonly Key[] {
  return [...text.replaceAll('\r\n', '\n')].map((character) => {
    if (character === '\n') return keys.enter
    if (character === '\t') return keys.tab
    const point = character.codePointAt(0)!
    return [point < 0x100 ? point : unicodeKeysym + point, '']
  })
}
