import { Computer } from '@computer/sdk'
import { Controls } from './controls.ts'
import type { Size } from './pictures.ts'

export type ConnectionOptions = {
  /** Default: the variable COMPUTER_API_KEY. */
  readonly apiKey?: string | undefined
  /** Default: the variable COMPUTER_BASE_URL, else a server on this host. */
  readonly baseUrl?: string | undefined
  /** How long the mouse and the keyboard of a machine are kept without use. Default: 30 s. */
  readonly handBackAfterMs?: number | undefined
}

/**
 * What one client of this server has open: its key, the machines it controls and what it was shown of
 * them. Disposing of it hands back every machine.
 */
export type Connection = {
  readonly computer: Computer
  readonly controls: Controls
  /** By machine: the display as it was when its picture was last shown. */
  readonly shown: Map<string, Size>
  [Symbol.asyncDispose](): Promise<void>
}

export function openConnection(options: ConnectionOptions): Connection {
  const { apiKey, baseUrl, handBackAfterMs = 30_000 } = options
  // Clients give a call up after a minute: what cannot be done by then is better said before.
  const computer = new Computer({ apiKey, baseUrl, maxRetries: 2, unavailableTimeoutMs: 40_000 })
  const controls = new Controls(handBackAfterMs)
  return {
    computer,
    controls,
    shown: new Map(),
    async [Symbol.asyncDispose]() {
      await controls[Symbol.asyncDispose]()
      await computer[Symbol.asyncDispose]()
    },
  }
}
