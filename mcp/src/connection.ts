import { Computer } from '@computer/sdk'
import { LeasePool } from './lease-pool.ts'
import type { Size } from './images.ts'

export type ConnectionOptions = {
  /** Default: the variable COMPUTER_API_KEY. */
  readonly apiKey?: string | undefined
  /** Default: the variable COMPUTER_BASE_URL, else a server on this host. */
  readonly baseUrl?: string | undefined
  /** Idle time after which the mouse and keyboard of a machine are released. Default: 30 s. */
  readonly releaseAfterMs?: number | undefined
}

/** The state of one MCP client. Disposing of it releases the mouse and keyboard of every machine. */
export type Connection = {
  readonly computer: Computer
  readonly leases: LeasePool
  /** By machine ID: the size of the display at the last screenshot. */
  readonly displaySizes: Map<string, Size>
  [Symbol.asyncDispose](): Promise<void>
}

export function openConnection(options: ConnectionOptions): Connection {
  const { apiKey, baseUrl, releaseAfterMs = 30_000 } = options
  // Clients abandon a call after a minute, so fail with an explanation before that.
  const computer = new Computer({ apiKey, baseUrl, maxRetries: 2, unavailableTimeoutMs: 40_000 })
  const leases = new LeasePool(releaseAfterMs)
  return {
    computer,
    leases,
    displaySizes: new Map(),
    async [Symbol.asyncDispose]() {
      await leases[Symbol.asyncDispose]()
      await computer[Symbol.asyncDispose]()
    },
  }
}
