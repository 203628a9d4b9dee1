import { keyAliases } from '@computer/contract/keys'
import { invalidRequest } from '../errors.ts'
import keysymdef from './keysyms.json' with { type: 'json' }

export type Keysym = number

/** The keysym of a key name: an alias in any case, an X keysym name, `U20AC`, or one character. */
export function keysymOfName(name: string): Keysym {
  const characters = [...name]
  if (characters.length === 1) return keysymOfCharacter(name)
  const keysym =
    keysymByName.get(keyAliases[name.toLowerCase()] ?? name) ??
    functionKey(name) ??
    unicodeName(name)
  if (keysym === undefined) throw invalidRequest(`there is no key called ${name}`)
  return keysym
}

/** The keysym that types a character: that of a key for line ends, tabs and the like. */
export function keysymOfCharacter(character: string): Keysym {
  const key = controlKeysyms[character]
  if (key !== undefined) return key
  const code = character.codePointAt(0)!
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
    const shown = code.toString(16).toUpperCase().padStart(4, '0')
    throw invalidRequest(`the control character U+${shown} cannot be typed`)
  }
  return code < 0x100 ? code : 0x01000000 + code
}

/** Whether it types a visible character. */
export function isText(keysym: Keysym): boolean {
  return characterOf(keysym) !== undefined
}

export function isLetter(keysym: Keysym): boolean {
  const character = characterOf(keysym)
  return character !== undefined && character.toLowerCase() !== character.toUpperCase()
}

function characterOf(keysym: Keysym): string | undefined {
  const code = keysym >= 0x01000100 && keysym <= 0x0110ffff ? keysym - 0x01000000 : keysym
  const isVisible = (code > 0x20 && code < 0x7f) || (code > 0xa0 && code <= 0xff)
  return isVisible || code !== keysym ? String.fromCodePoint(code) : undefined
}

export const keysym = {
  capsLock: 0xffe5,
  numLock: 0xff7f,
  shift: 0xffe1,
  rightShift: 0xffe2,
} as const

const controlKeysyms: Readonly<Record<string, Keysym>> = {
  '\n': 0xff0d,
  '\r': 0xff0d,
  '\t': 0xff09,
  '\b': 0xff08,
  '\x1b': 0xff1b,
  '\x7f': 0xffff,
}

/** The vendor keysyms that desktops act on. */
const mediaKeysyms = {
  XF86AudioLowerVolume: 0x1008ff11,
  XF86AudioMute: 0x1008ff12,
  XF86AudioRaiseVolume: 0x1008ff13,
  XF86AudioPlay: 0x1008ff14,
  XF86AudioStop: 0x1008ff15,
  XF86AudioPrev: 0x1008ff16,
  XF86AudioNext: 0x1008ff17,
  XF86HomePage: 0x1008ff18,
  XF86Mail: 0x1008ff19,
  XF86Search: 0x1008ff1b,
  XF86Calculator: 0x1008ff1d,
  XF86Back: 0x1008ff26,
  XF86Forward: 0x1008ff27,
  XF86WWW: 0x1008ff2e,
  XF86Favorites: 0x1008ff30,
  XF86Copy: 0x1008ff57,
  XF86Cut: 0x1008ff58,
  XF86Explorer: 0x1008ff5d,
  XF86Paste: 0x1008ff6d,
  XF86Reload: 0x1008ff73,
}

const keysymByName = new Map<string, Keysym>(
  Object.entries({ ...keysymdef.keysyms, ...mediaKeysyms }),
)

function functionKey(name: string): Keysym | undefined {
  const number = /^f(\d{1,2})$/.exec(name)?.[1]
  return number === undefined ? undefined : keysymByName.get(`F${number}`)
}

function unicodeName(name: string): Keysym | undefined {
  const digits = /^U([0-9A-Fa-f]{4,6})$/.exec(name)?.[1]
  const code = digits === undefined ? 0 : parseInt(digits, 16)
  if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return undefined
  return keysymOfCharacter(String.fromCodePoint(code))
}
