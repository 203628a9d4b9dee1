import { FitAddon } from '@xterm/addon-fit'
import { SearchAddon } from '@xterm/addon-search'
import { WebLinksAddon } from '@xterm/addon-web-links'
import { Terminal } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import type { Colors } from './colors.ts'

export type Emulator = ReturnType<typeof createEmulator>

const scrollbackLines = 5_000

/**
 * xterm in an element of the page, with the colours of its theme. This file is loaded with the first
 * terminal, after `allowInlineStyles`. Requests of the machine for the clipboard (OSC 52) and for the
 * window are not answered.
 */
export function createEmulator(
  host: HTMLElement,
  {
    label,
    colors,
    onLink,
  }: {
    readonly label: string
    /** Passed in, so that the library's file loads no other. */
    readonly colors: Colors
    readonly onLink: (address: string) => void
  },
) {
  const terminal = new Terminal({
    allowProposedApi: true,
    cursorBlink: false,
    fontFamily: '"Geist Mono", ui-monospace, monospace',
    fontSize: 13,
    linkHandler: { activate: (_, address) => onLink(address) },
    // A hostile program could fill the console of the browser with faults of its output.
    logLevel: 'off',
    macOptionIsMeta: true,
    minimumContrastRatio: 4.5,
    scrollback: scrollbackLines,
    theme: colors.read(),
  })
  const fit = new FitAddon()
  const search = new SearchAddon()
  terminal.loadAddon(fit)
  terminal.loadAddon(search)
  terminal.loadAddon(new WebLinksAddon((_, address) => onLink(address)))
  terminal.open(host)
  terminal.textarea!.setAttribute('aria-label', label)
  const stopWatching = colors.watch((theme) => (terminal.options.theme = theme))
  return {
    terminal,
    search,
    /** Takes as many columns and rows as the element has room for. */
    fit() {
      if (host.clientWidth > 0 && host.clientHeight > 0) fit.fit()
    },
    dispose() {
      stopWatching()
      terminal.dispose()
    },
  }
}
