/** A key as noVNC sends it: its X keysym and its place on the keyboard. */
export type Key = readonly [keysym: number, code: string]

export const keys = {
  control: [0xffe3, 'ControlLeft'],
  alt: [0xffe9, 'AltLeft'],
  super: [0xffeb, 'MetaLeft'],
  delete: [0xffff, 'Delete'],
  tab: [0xff09, 'Tab'],
  enter: [0xff0d, 'Enter'],
  escape: [0xff1b, 'Escape'],
  backspace: [0xff08, 'Backspace'],
  left: [0xff51, 'ArrowLeft'],
  up: [0xff52, 'ArrowUp'],
  right: [0xff53, 'ArrowRight'],
  down: [0xff54, 'ArrowDown'],
  t: [0x74, 'KeyT'],
  v: [0x76, 'KeyV'],
  w: [0x77, 'KeyW'],
} as const satisfies Readonly<Record<string, Key>>

/** The keys that browsers and systems keep for themselves. */
export const keptKeys: readonly (readonly [label: string, ...combination: Key[]])[] = [
  ['Ctrl W', keys.control, keys.w],
  ['Ctrl T', keys.control, keys.t],
  ['Alt Tab', keys.alt, keys.tab],
  ['Ctrl Alt Del', keys.control, keys.alt, keys.delete],
  ['Super', keys.super],
]
