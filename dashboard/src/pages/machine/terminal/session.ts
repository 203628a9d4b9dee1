import type { Machine } from '@computer/sdk'
import type { Emulator } from './xterm.ts'
import { colors } from './colors.ts'
import { allowInlineStyles } from './inline-styles.ts'
import { actionOf, type KeyAction } from './keys.ts'
import { createOutput } from './output.ts'
import { isAnswer, plainTitle } from './sanitize.ts'

export type TerminalStatus =
  | { readonly is: 'connecting' | 'open' | 'lost' }
  | { readonly is: 'exited'; readonly exitCode: number }
  | { readonly is: 'failed'; readonly error: unknown }

export type SessionEvents = {
  readonly onStatus: (status: TerminalStatus) => void
  readonly onTitle: (title: string) => void
  readonly onLink: (address: string) => void
  readonly onKey: (action: KeyAction) => void
}

/** A terminal of a machine in an element of the page. */
export type TerminalSession = {
  readonly emulator: Emulator
  /** Sends what keys of the page's own would send. */
  readonly type: (data: string) => void
  readonly paste: (text: string) => void
  /** Changes what is typed before it is sent, such as with a Ctrl key of the page. */
  readonly mapInput: (map: ((data: string) => string) | null) => void
}

const resizeDelayMs = 100
/** The gateway takes at most 1 MiB in one message. */
const maxMessageBytes = 256 * 1024
const conflictTries = 5
const conflictDelayMs = 400

/**
 * Attaches to a terminal until the signal is aborted. After a lost connection the SDK attaches again, and
 * the server sends the last 256 KiB once more.
 */
export async function startSession(
  host: HTMLElement,
  target: {
    readonly machine: Machine
    readonly terminalId: string
    /** Just opened by this page, so that no output of it was ever shown. */
    readonly isNew: boolean
  },
  events: SessionEvents,
  signal: AbortSignal,
): Promise<TerminalSession> {
  allowInlineStyles()
  // The emulator measures the font once.
  const [{ createEmulator }] = await Promise.all([
    import('./xterm.ts'),
    document.fonts.load('13px "Geist Mono"').catch(() => []),
  ])
  signal.throwIfAborted()
  const label = `Terminal of ${target.machine.name}`
  const emulator = createEmulator(host, { label, colors, onLink: events.onLink })
  signal.addEventListener('abort', () => emulator.dispose())
  emulator.fit()
  return connect(host, emulator, target, events, signal)
}

function connect(
  host: HTMLElement,
  emulator: Emulator,
  { machine, terminalId, isNew }: Parameters<typeof startSession>[1],
  events: SessionEvents,
  signal: AbortSignal,
): TerminalSession {
  const { terminal } = emulator
  let connection: ReturnType<Machine['terminals']['attach']> | undefined
  let isReplaying = false
  let hasExited = false
  let map: ((data: string) => string) | null = null
  const output = createOutput({
    write: (bytes, parsed) => !signal.aborted && terminal.write(bytes, parsed),
    onReplay: (is) => (isReplaying = is),
  })
  const send = (bytes: Uint8Array<ArrayBuffer>) => {
    for (let at = 0; at < bytes.length; at += maxMessageBytes)
      connection?.write(bytes.subarray(at, at + maxMessageBytes))
  }
  terminal.onData((data) => {
    if (isReplaying && isAnswer(data)) return
    if (hasExited && data === '\r') events.onKey('another')
    send(new TextEncoder().encode(map ? map(data) : data))
  })
  terminal.onBinary((data) => send(Uint8Array.from(data, (one) => one.charCodeAt(0))))
  terminal.onTitleChange((title) => events.onTitle(plainTitle(title)))
  terminal.attachCustomKeyEventHandler((event) => {
    const action = actionOf(event)
    if (action === null) return true
    if (action !== 'paste') event.preventDefault()
    if (event.type === 'keydown') events.onKey(action)
    return false
  })
  const paste = (text: string) => terminal.paste(text.replaceAll('\x1b', ''))
  takePastes(host, paste, signal)
  followSize(host, emulator, (cols, rows) => connection?.resize(cols, rows), signal)

  /** Resolves when the terminal or the connection has ended. */
  const attach = async (): Promise<number> => {
    let isFirst = !isNew
    const attached = machine.terminals.attach(terminalId, {
      signal,
      size: { cols: terminal.cols, rows: terminal.rows },
      onConnection: (isOpen) => events.onStatus({ is: isOpen ? 'open' : 'lost' }),
      onReattach: () => {
        output.restart()
        isFirst = true
      },
    })
    connection = attached
    for await (const bytes of attached) {
      // The agent sends all that it has kept in one frame.
      output.push(bytes, isFirst ? 'replay' : 'live')
      isFirst = false
    }
    return attached.exited
  }
  void withPatience(attach, signal).then(
    (exitCode) => {
      hasExited = true
      if (!signal.aborted) events.onStatus({ is: 'exited', exitCode })
    },
    (error: unknown) => {
      if (!signal.aborted) events.onStatus({ is: 'failed', error })
    },
  )
  return {
    emulator,
    type: (data) => terminal.input(data),
    paste,
    mapInput: (next) => (map = next),
  }
}

/** A page that was just reloaded may meet its own last connection, which the server has not noticed yet. */
async function withPatience<T>(attach: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attach()
    } catch (error) {
      const isConflict = (error as { code?: unknown }).code === 'conflict'
      if (!isConflict || tries === conflictTries || signal.aborted) throw error
      await new Promise((resolve) => setTimeout(resolve, conflictDelayMs))
    }
  }
}

/**
 * Text from the clipboard comes with the browser's own event, which needs no permission and no https. Without
 * its escape characters it cannot end the brackets that tell the program that it is pasted.
 */
function takePastes(host: HTMLElement, paste: (text: string) => void, signal: AbortSignal): void {
  const take = (event: ClipboardEvent) => {
    event.preventDefault()
    event.stopPropagation()
    paste(event.clipboardData?.getData('text/plain') ?? '')
  }
  host.addEventListener('paste', take, { capture: true, signal })
}

function followSize(
  host: HTMLElement,
  emulator: Emulator,
  resize: (cols: number, rows: number) => void,
  signal: AbortSignal,
): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const observer = new ResizeObserver(() => emulator.fit())
  observer.observe(host)
  emulator.terminal.onResize(({ cols, rows }) => {
    clearTimeout(timer)
    timer = setTimeout(() => resize(cols, rows), resizeDelayMs)
  })
  signal.addEventListener('abort', () => {
    clearTimeout(timer)
    observer.disconnect()
  })
}
