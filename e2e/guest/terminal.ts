import type { Machine, TerminalConnection } from '@computer/sdk'
import { eventually } from '../harness/polling.ts'

export type ShownTerminal = {
  readonly connection: TerminalConnection
  /** How often the connection was lost and restored. */
  readonly reattached: () => number
  /** Resolves to the whole output once it matches. */
  shows(pattern: RegExp): Promise<string>
}

/** Attaches to a terminal and collects its output. */
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
  // `connection.exited` reports the end.
  void read().catch(() => {})
  return {
    connection,
    reattached: () => reattached,
    shows: (pattern) =>
      eventually(`${pattern} is shown`, async () => (pattern.test(text) ? text : undefined)).catch(
        (error: Error) => {
          throw new Error(`${error.message}; the output is ${JSON.stringify(text.slice(-500))}`)
        },
      ),
  }

  async function read(): Promise<void> {
    for await (const bytes of connection) text += decoder.decode(bytes, { stream: true })
  }
}
