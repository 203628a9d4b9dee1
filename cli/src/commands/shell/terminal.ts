import type { Machine, TerminalConnection } from '@computer/sdk'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { Exit } from '../../errors.ts'
import { createEscapes } from './escapes.ts'

type TerminalEnd =
  | { readonly type: 'exited'; readonly exitCode: number }
  /** The user detached; the terminal keeps running. */
  | { readonly type: 'detached' }

/** Undoes the modes of a full-screen program: alternate screen, cursor and mouse. */
const resetScreen =
  '\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1l\x1b>\x1b[?25h\x1b[0m\r\n'
const clearScreen = '\x1b[0m\x1b[H\x1b[2J\x1b[3J'

/** The size of the local terminal. One that does not know its size, as without a window, reports zero. */
export function terminalSize(): { readonly cols: number; readonly rows: number } {
  const { columns, rows } = process.stdout
  return { cols: columns || 80, rows: rows || 24 }
}

/**
 * Connects the local terminal to one in a machine until that exits or the user detaches, and always
 * restores the local one. SIGHUP and SIGTERM kill the remote terminal, as closing a window would.
 */
export async function runTerminal(machine: Machine, id: string): Promise<TerminalEnd> {
  const { stdin, stdout } = process
  const onReattach = () => void stdout.write(clearScreen)
  const connection = machine.terminals.attach(id, { size: terminalSize(), onReattach })
  let isDetached = false
  const detach = () => {
    isDetached = true
    connection.close()
  }
  const escapes = createEscapes(detach)
  const type = (bytes: Buffer) => {
    const passed = escapes(bytes)
    if (passed.length > 0) connection.write(passed)
  }
  const resize = () => {
    const { cols, rows } = terminalSize()
    connection.resize(cols, rows)
  }
  const signals = closeOnSignals(connection)
  const restore = () => void stdin.setRawMode(false)
  process.once('exit', restore)
  makeRaw()
  stdin.on('data', type)
  stdout.on('resize', resize)
  let isExited = false
  try {
    await showOutput(connection)
    if (signals.received) {
      await machine.terminals.kill(id).catch(() => {})
      throw new Exit(128 + constants.signals[signals.received])
    }
    if (isDetached) return { type: 'detached' }
    const exitCode = await connection.exited
    isExited = true
    return { type: 'exited', exitCode }
  } finally {
    connection.close()
    stdin.off('data', type)
    stdout.off('resize', resize)
    signals.stop()
    restore()
    process.off('exit', restore)
    stdin.pause()
    if (!isExited) stdout.write(resetScreen)
  }
}

/**
 * Node's raw mode leaves output processing on, which would add a carriage return to each line feed from
 * the remote terminal. `setRawMode(false)` undoes both.
 */
function makeRaw(): void {
  process.stdin.setRawMode(true)
  spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] })
}

async function showOutput(connection: TerminalConnection): Promise<void> {
  for await (const bytes of connection) {
    if (!process.stdout.write(bytes)) await once(process.stdout, 'drain')
  }
}

function closeOnSignals(connection: TerminalConnection) {
  const names = ['SIGHUP', 'SIGTERM'] as const
  const state: { received: (typeof names)[number] | undefined; stop: () => void } = {
    received: undefined,
    stop: () => listeners.forEach(([name, listener]) => process.off(name, listener)),
  }
  const listeners = names.map((name) => {
    const listener = () => {
      state.received = name
      connection.close()
    }
    process.on(name, listener)
    return [name, listener] as const
  })
  return state
}
