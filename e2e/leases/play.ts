import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../harness/random.ts'
import { LeaseClient } from './client.ts'
import { clientCount, emptyHistory, type History } from './history.ts'
import type { Machine } from './machine.ts'

export type HistoryOptions = {
  readonly random: Random
  /** Of all five clients together. */
  readonly operations: number
}

/** Between two troubles of one kind, and of what is held up. */
const [longestPeaceMs, longestHoldMs] = [30, 40]
/** Long enough for any machine; a test that waits this long fails. */
const landingBoundMs = 10_000

/**
 * Plays one history: five clients act at once, while connections to the agent are held up or cut, grants
 * run out and the gateway restarts. In the end, with nothing in the way any more, a client that acts over
 * HTTP and one with a socket take the lease one after the other, and must be able to use it.
 */
export async function playHistory(
  machine: Machine,
  { random, operations }: HistoryOptions,
): Promise<History> {
  const history = emptyHistory()
  machine.recorder.record(history.landings, history.inputs)
  const clients = Array.from(
    { length: clientCount },
    (_, client) => new LeaseClient(machine, history, client, random.fork(`client ${client}`)),
  )

  let playing = clientCount
  const play = async (client: LeaseClient) => {
    for (let done = 0; done < operations / clientCount; done++) await client.act()
    await client.answered()
    playing -= 1
  }
  const repeat = async (own: Random, cause: () => Promise<void>) => {
    while (playing > 0) {
      await pause(own.below(longestPeaceMs))
      await cause()
    }
  }
  // At once, so that grants run out while calls of their holders are held up.
  const [holding, expiring] = [random.fork('holding up'), random.fork('expiring')]
  await Promise.all([
    ...clients.map(play),
    repeat(holding, () =>
      holding.below(20) === 0 ? restartGateway(machine) : holdUp(machine, holding),
    ),
    repeat(expiring, () => expire(machine, history, expiring)),
  ])

  const sockets = clients.filter(({ usesSocket }) => usesSocket)
  const others = clients.filter(({ usesSocket }) => !usesSocket)
  await haveLastWord(machine, history, [random.pick(others), random.pick(sockets)])
  return history
}

async function holdUp({ gates }: Machine, random: Random): Promise<void> {
  const gate = random.pick(gates)
  gate.hold(random.pick(['requests', 'answers']))
  await pause(random.below(longestHoldMs))
  gate.open()
}

async function expire(machine: Machine, history: History, random: Random): Promise<void> {
  const fence = await machine.expire()
  if (fence === undefined) return
  history.expiries.push({ fence, at: machine.clock.tick() })
  if (random.below(2) === 0) machine.hint()
  if (random.below(2) === 0) return
  const sentAt = machine.clock.tick()
  await machine.sweep()
  history.sweeps.push({ sentAt, settledAt: await machine.recorder.mark() })
}

async function restartGateway({ gateway, gates }: Machine): Promise<void> {
  gates.at(-1)!.cut()
  await gateway.restart()
}

async function haveLastWord(
  machine: Machine,
  history: History,
  clients: readonly LeaseClient[],
): Promise<void> {
  const mustLand = { mustLand: true }
  for (const client of clients) {
    const { status, body } = await client.acquire(true)
    if (status !== 200) throw new Error(`the last acquisition: ${status} ${JSON.stringify(body)}`)
    await client.send('click', mustLand)
    if (client.usesSocket) {
      await client.sendOverSocket('move', mustLand)
      await client.sendOverSocket('type', mustLand)
      await haveLanded(machine, history)
    }
  }
  await clients.at(-1)!.release()
}

/** Waits until all has landed that must; what does not is for the checks to find. */
async function haveLanded({ recorder }: Machine, { inputs, landings }: History): Promise<void> {
  const deadline = Date.now() + landingBoundMs
  const isMissing = () =>
    inputs.some(({ mustLand, client, number }) => {
      const hasLanded = landings.some((one) => one.client === client && one.number === number)
      return mustLand && !hasLanded
    })
  while (isMissing() && Date.now() < deadline) {
    await Promise.race([recorder.landed(), pause(100)])
  }
}
