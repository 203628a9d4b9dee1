/** Encodings and pseudo-encodings. */
export const encoding = {
  raw: 0,
  tight: 7,
  highestQuality: -23,
  lowestQuality: -32,
  desktopSize: -223,
  cursor: -239,
  extendedDesktopSize: -308,
  cursorWithAlpha: -314,
  vmwareCursor: 0x574d5664,
  extendedClipboard: 0xc0a1e5ce | 0,
} as const

/** The client's capabilities that affect what the server sends. */
export type Abilities = {
  readonly tight: boolean
  /** JPEG inside Tight is allowed only if the client lists a quality level. */
  readonly jpeg: boolean
  readonly cursor: CursorForm | undefined
  /** With `extended` the client may also request a size. */
  readonly resize: ResizeForm | undefined
  readonly extendedClipboard: boolean
}

export type CursorForm = 'alpha' | 'vmware' | 'masked'
export type ResizeForm = 'extended' | 'plain'

export function readAbilities(encodings: readonly number[]): Abilities {
  const has = (number: number) => encodings.includes(number)
  const isQuality = (number: number) =>
    number >= encoding.lowestQuality && number <= encoding.highestQuality
  return {
    tight: has(encoding.tight),
    jpeg: encodings.some(isQuality),
    cursor: findCursorForm(has),
    resize: has(encoding.extendedDesktopSize)
      ? 'extended'
      : has(encoding.desktopSize)
        ? 'plain'
        : undefined,
    extendedClipboard: has(encoding.extendedClipboard),
  }
}

function findCursorForm(has: (number: number) => boolean): CursorForm | undefined {
  if (has(encoding.cursorWithAlpha)) return 'alpha'
  // Before `masked`, which noVNC lists too but decodes with red and blue swapped.
  if (has(encoding.vmwareCursor)) return 'vmware'
  return has(encoding.cursor) ? 'masked' : undefined
}
