/** Numbers of encodings, and of what a viewer lists among them. */
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

/** What a viewer understands, as far as there is a choice. */
export type Abilities = {
  readonly tight: boolean
  /** Tight may have JPEG in it only for a viewer that names a quality. */
  readonly jpeg: boolean
  /** Two with half-transparent pixels, and one with a mask. */
  readonly cursor: CursorForm | undefined
  /** The extended one takes wishes for a size, too. */
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
  // noVNC lists the masked one beside it, and takes that one's red and blue for each other.
  if (has(encoding.vmwareCursor)) return 'vmware'
  return has(encoding.cursor) ? 'masked' : undefined
}
