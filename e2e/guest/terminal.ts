import type { Machine, TerminalConnection } from '@computer/sdk'
import { eventually } from '../harness/polling.ts'

export type ShownTerminal = {
  readonly connection: TerminalConnection
  /** How often its connection broke off and was made again. */
  readonly reattached: () => number
  /** Resolves to all that is shown once that matches. */
  shows(pattern: RegExp): Promise<string>
}

/** A client of a terminal, and the screen it is shown on. */
export function showTerminal(machine: Machine, terminalId: string): ShownTerminal {
  let text = ''
  let decoder = new TextDecoder()
  let reattached = 0
  const connection = machine.terminals.attach(terminalId, {
    onReattach: () => {
      text = ''
      decoder = new TextDecoder()
      reattached++
    },
  })
  // How it ends is told by `connection.exited`.
  void read().catch(() => {})
  return {
    connection,
    reattached: () => reattached,
    shows: (pattern) =>
      eventually(`${pattern} is shown`, async () => (pattern.test(text) ? text : undefined)).catch(
        (error: Error) => {
          throw new Error(`${error.message}; it is ${JSON.stringify(text.slice(-500))}`)
        },
      ),
  }

  async function read(): Promise<void> {
    for await (const bytes of connection) text += decoder.decode(bytes, { stream: true })
  }
}
