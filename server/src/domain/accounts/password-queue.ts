import { ApiError } from '../../errors.ts'

export type PasswordQueue = {
  /** Does the work when it is its network's turn. Work without a network always gets a place. */
  run<T>(network: string | null, work: () => Promise<T>): Promise<T>
}

type Limits = {
  readonly maxAtOnce: number
  readonly maxWaiting: number
  readonly maxWaitingPerNetwork: number
}
type Waiter = { readonly start: () => void; readonly refuse: () => void }

/**
 * Hashing a password takes long and much memory, and strangers can ask for it. So few run at once, few
 * wait, and the networks that the callers are in take turns: nobody waits behind all sign-ins of
 * somebody else. When the queue is full, a caller takes the last place of the network that has the most.
 */
export function createPasswordQueue(limits: Limits): PasswordQueue {
  let running = 0
  /** In the order of their turns. */
  const waiting = new Map<string | null, Waiter[]>()

  return {
    async run(network, work) {
      if (running < limits.maxAtOnce) running += 1
      else await wait(network)
      try {
        return await work()
      } finally {
        startNext()
      }
    },
  }

  function wait(network: string | null): Promise<void> {
    if (network !== null) makeRoom(network)
    return new Promise((start, reject) => {
      const waiter = { start, refuse: () => reject(busy()) }
      const queue = waiting.get(network)
      if (queue) queue.push(waiter)
      else waiting.set(network, [waiter])
    })
  }

  function makeRoom(network: string): void {
    const own = waiting.get(network)?.length ?? 0
    if (own >= limits.maxWaitingPerNetwork) throw busy()
    const limited = [...waiting].flatMap(([of, queue]) => (of === null ? [] : [queue]))
    if (limited.reduce((sum, { length }) => sum + length, 0) < limits.maxWaiting) return
    const longest = limited.reduce((a, b) => (b.length > a.length ? b : a))
    if (longest.length <= own + 1) throw busy()
    longest.pop()!.refuse()
  }

  function startNext(): void {
    const [next] = waiting
    if (!next) {
      running -= 1
      return
    }
    const [network, queue] = next
    waiting.delete(network)
    queue.shift()!.start()
    if (queue.length > 0) waiting.set(network, queue)
  }
}

function busy(): ApiError {
  return new ApiError('rate_limited', 'too many sign-ins are in progress; try again in a second', {
    retryAfter: 1,
  })
}
