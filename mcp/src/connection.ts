import { Computer, type ScreenGuard } from '@computer/sdk'
import { LeasePool } from './lease-pool.ts'
import type { Size } from './images.ts'

export type ConnectionOptions = {
  /** Default: the variable COMPUTER_API_KEY. */
  readonly apiKey?: string | undefined
  /** Default: the variable COMPUTER_BASE_URL, else a server on this host. */
  readonly baseUrl?: string | undefined
  /** Idle time after which the mouse and keyboard of a machine are released. Default: 30 s. */
  readonly releaseAfterMs?: number | undefined
  /** Refuse input if the screen has changed where it would act since the last picture. Default: true. */
  readonly guard?: boolean | undefined
}

export type View = {
  /** The size of the display in the last picture. */
  readonly display: Size
  readonly guard: ScreenGuard
  /** By performance.now. */
  readonly shownAtMs: number
}

/** The state of one MCP client. Disposing of it releases the mouse and keyboard of every machine. */
export type Connection = {
  readonly computer: Computer
  readonly leases: LeasePool
  readonly isGuarded: boolean
  /** By machine ID: what the client saw of its screen last. */
  readonly views: Map<string, View>
  [Symbol.asyncDispose](): Promise<void>
}

export function openConnection(options: ConnectionOptions): Connection {
  const { apiKey, baseUrl, releaseAfterMs = 30_000, guard = true } = options
  // Clients abandon a call after a minute, so fail with an explanation before that.
  const computer = new Computer({ apiKey, baseUrl, maxRetries: 2, unavailableTimeoutMs: 40_000 })
  const leases = new LeasePool(releaseAfterMs)
  return {
    computer,
    leases,
    views: new Map(),
    isGuarded: guard,
    async [Symbol.asyncDispose]() {
      await leases[Symbol.asyncDispose]()
      await computer[Symbol.asyncDispose]()
    },
  }
}
