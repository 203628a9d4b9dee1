import { FitAddon } from '@xterm/addon-fit'
import { SearchAddon } from '@xterm/addon-search'
import { WebLinksAddon } from '@xterm/addon-web-links'
import { Terminal } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import { readColors, watchColors } from './colors.ts'

export type Emulator = ReturnType<typeof createEmulator>

const scrollbackLines = 5_000

/**
 * xterm in an element of the page, with the colours of its theme. This file is loaded with the first
 * terminal, after `allowInlineStyles`. Requests of the machine for the clipboard (OSC 52) and for the
 * window are not answered.
 */
export function createEmulator(
  host: HTMLElement,
  { label, onLink }: { readonly label: string; readonly onLink: (address: string) => void },
) {
  const terminal = new Terminal({
    allowProposedApi: true,
    cursorBlink: false,
    fontFamily: '"Geist Mono", ui-monospace, monospace',
    fontSize: 13,
    linkHandler: { activate: (_, address) => onLink(address) },
    macOptionIsMeta: true,
    minimumContrastRatio: 4.5,
    scrollback: scrollbackLines,
    theme: readColors(),
  })
  const fit = new FitAddon()
  const search = new SearchAddon()
  terminal.loadAddon(fit)
  terminal.loadAddon(search)
  terminal.loadAddon(new WebLinksAddon((_, address) => onLink(address)))
  terminal.open(host)
  terminal.textarea!.setAttribute('aria-label', label)
  const stopWatching = watchColors((theme) => (terminal.options.theme = theme))
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
