/** `another` is Enter after the command has ended. */
export type KeyAction = 'leave' | 'find' | 'copy' | 'paste' | 'another'

/** The keys that the page takes from the terminal. All others go to the machine. */
export const keyHints: readonly (readonly [keys: string, action: string])[] = [
  ['Ctrl Alt Esc', 'leaves the terminal'],
  ['Ctrl Shift F', 'finds'],
  ['Ctrl Shift C', 'copies'],
  ['Ctrl Shift V', 'pastes'],
]

export function actionOf(event: KeyboardEvent): KeyAction | null {
  const { ctrlKey, shiftKey, altKey, metaKey, code } = event
  if (!ctrlKey || metaKey) return null
  if (altKey && !shiftKey && code === 'Escape') return 'leave'
  if (!shiftKey || altKey) return null
  if (code === 'KeyF') return 'find'
  if (code === 'KeyC') return 'copy'
  return code === 'KeyV' ? 'paste' : null
}

/** Such as ^C for "c": what Ctrl makes of a typed character. */
export function withControl(data: string): string {
  const upper = data.toUpperCase()
  return /^[@A-Z[\\\]^_ ]$/.test(upper) ? String.fromCharCode(upper.charCodeAt(0) & 0x1f) : data
}
