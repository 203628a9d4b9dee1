export type Theme = 'system' | 'light' | 'dark'

const key = 'theme'

export function readTheme(): Theme {
  const stored = read()
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

/** Applies at once and is kept for this browser. `/theme.js` reads it before the first paint. */
export function setTheme(theme: Theme): void {
  const { dataset } = document.documentElement
  if (theme === 'system') delete dataset['theme']
  else dataset['theme'] = theme
  try {
    if (theme === 'system') localStorage.removeItem(key)
    else localStorage.setItem(key, theme)
  } catch {
    // Without storage the choice holds until the page is closed.
  }
}

function read(): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}
