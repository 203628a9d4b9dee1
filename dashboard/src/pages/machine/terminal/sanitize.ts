const maxLength = 60

/** The title that a program gave its terminal, as text for one line: it is the program's to choose. */
export function plainTitle(title: string): string {
  const visible = title
    .slice(0, 1_000)
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu, '')
    .replace(/\p{M}{3,}/gu, '')
    .replace(/\s+/gu, ' ')
    .trim()
  const characters = [...visible]
  return characters.length > maxLength ? `${characters.slice(0, maxLength - 1).join('')}…` : visible
}

/** The address of a link in a terminal, if a browser may be sent there: http and https alone. */
export function webAddress(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null
  return url && ['http:', 'https:'].includes(url.protocol) ? url : null
}

/**
 * An answer of the emulator to a question of the program, such as which terminal it is. Questions in output
 * that is shown again have been answered before: another answer would be typed into whatever runs now.
 */
export function isAnswer(data: string): boolean {
  // oxlint-disable-next-line no-control-regex -- answers are control sequences.
  return /^\x1b(\[[?>=]?[\d;]*(c|n|R|t|\$y)|[P\]][^]*(\x1b\\|\x07))$/.test(data)
}
