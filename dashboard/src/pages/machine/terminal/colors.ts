import type { ITheme } from '@xterm/xterm'

export type Colors = typeof colors
export const colors = { read: readColors, watch: watchColors }

/** The colours of the page as the theme resolves them. The sixteen of a terminal suit its background. */
function readColors(): ITheme {
  const background = resolve('--raised')
  const accent = resolve('--accent-fg')
  return {
    ...(isDark(background) ? darkPalette : lightPalette),
    background,
    foreground: resolve('--fg'),
    cursor: accent,
    cursorAccent: background,
  }
}

/** Calls back when the theme of the page, or of the system that it follows, has changed. */
function watchColors(onChange: (colors: ITheme) => void): () => void {
  const change = () => onChange(readColors())
  const system = matchMedia('(prefers-color-scheme: dark)')
  const chosen = new MutationObserver(change)
  chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  system.addEventListener('change', change)
  return () => {
    chosen.disconnect()
    system.removeEventListener('change', change)
  }
}

/** Such as "rgb(23, 23, 27)": the tokens of the page depend on the theme, and xterm wants a plain colour. */
function resolve(token: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${token})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

function isDark(color: string): boolean {
  const [red = 0, green = 0, blue = 0] = (color.match(/\d+/g) ?? []).map(Number)
  return red + green + blue < 384
}

const darkPalette: ITheme = {
  selectionBackground: '#3d3d8f',
  selectionInactiveBackground: '#3d3d8f',
  black: '#2b2b33',
  red: '#ff8f8c',
  green: '#6bd391',
  yellow: '#f0bc68',
  blue: '#8fb0ff',
  magenta: '#d9a3f5',
  cyan: '#6fd3dc',
  white: '#d5d5dc',
  brightBlack: '#8b8b96',
  brightRed: '#ffb3b0',
  brightGreen: '#95e5b2',
  brightYellow: '#f7d596',
  brightBlue: '#b5cbff',
  brightMagenta: '#e8c6fa',
  brightCyan: '#9fe5eb',
  brightWhite: '#ffffff',
}

const lightPalette: ITheme = {
  selectionBackground: '#cfd3ff',
  selectionInactiveBackground: '#cfd3ff',
  black: '#17171a',
  red: '#b3191f',
  green: '#166f37',
  yellow: '#8a4b05',
  blue: '#2447c4',
  magenta: '#8a2aa8',
  cyan: '#0b6b75',
  white: '#6b6b76',
  brightBlack: '#5a5a66',
  brightRed: '#c9252b',
  brightGreen: '#1c7f41',
  brightYellow: '#9a5a0a',
  brightBlue: '#3a5fe0',
  brightMagenta: '#a03cbf',
  brightCyan: '#0f7a85',
  brightWhite: '#4a4a55',
}

/** Search results; the search of xterm takes only #RRGGBB. */
export function searchColors() {
  const isOnDark = isDark(resolve('--raised'))
  return {
    matchBackground: isOnDark ? '#4a3b12' : '#f7e2a8',
    matchOverviewRuler: '#8a4b05',
    activeMatchBackground: isOnDark ? '#8a5a05' : '#f0b93c',
    activeMatchColorOverviewRuler: '#f0bc68',
  }
}
