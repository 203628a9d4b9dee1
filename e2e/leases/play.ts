import { setTimeout as delay } from 'node:timers/promises'
import type { Random } from '../harness/random.ts'
import { LeaseClient } from './client.ts'
import { clientCount, emptyHistory, type History } from './history.ts'
import type { Machine } from './machine.ts'

type HistoryOptions = {
  readonly random: Random
  /** The total of all five clients. */
  readonly operations: number
}

/** The longest pause between two disturbances of one kind, and the longest hold-up. */
const [longestPauseMs, longestHoldMs] = [30, 40]
const landingBoundMs = 10_000

/**
 * Plays one history: five clients act concurrently, while connections to the agent are held up or cut,
 * grants expire and the gateway restarts. At the end, without disturbances, a client over HTTP and one with
 * a socket take the lease one after the other and must be able to use it.
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
    await client.waitForAnswers()
    playing -= 1
  }
  const repeat = async (own: Random, disturb: () => Promise<void>) => {
    while (playing > 0) {
      await delay(own.below(longestPauseMs))
      await disturb()
    }
  }
  // Concurrently, so that grants expire while calls of their holders are held up.
  const [holding, expiring] = [random.fork('holding up'), random.fork('expiring')]
  await Promise.all([
    ...clients.map(play),
    repeat(holding, () =>
      holding.below(20) === 0 ? restartGateway(machine) : holdUp(machine, holding),
    ),
    repeat(expiring, () => expire(machine, history, expiring)),
  ])

  for (const client of clients) await client.endHelp()
  const sockets = clients.filter(({ usesSocket }) => usesSocket)
  const others = clients.filter(({ usesSocket }) => !usesSocket)
  await assertUsable(machine, history, [random.pick(others), random.pick(sockets)])
  return history
}

async function holdUp({ gates }: Machine, random: Random): Promise<void> {
  const gate = random.pick(gates)
  gate.hold(random.pick(['requests', 'answers']))
  await delay(random.below(longestHoldMs))
  gate.open()
}

async function expire(machine: Machine, history: History, random: Random): Promise<void> {
  const grant = await machine.expire()
  if (!grant) return
  history.expiries.push({ fence: grant.fence, at: machine.clock.tick() })
  if (random.below(2) === 0) machine.notify()
  if (random.below(2) === 0) return
  const isEnded = await machine.sweep(grant)
  const settledAt = await machine.recorder.mark()
  if (isEnded) history.sweeps.push({ fence: grant.fence, settledAt })
}

async function restartGateway({ gateway, gates }: Machine): Promise<void> {
  gates.at(-1)!.cut()
  await gateway.restart()
}

async function assertUsable(
  machine: Machine,
  history: History,
  clients: readonly LeaseClient[],
): Promise<void> {
  const options = { mustLand: true }
  for (const client of clients) {
    const { status, body } = await client.acquire(true)
    if (status !== 200) throw new Error(`the last acquisition: ${status} ${JSON.stringify(body)}`)
    await client.send('click', options)
    if (client.usesSocket) {
      await client.sendOverSocket('move', options)
      await client.sendOverSocket('type', options)
      await waitForLandings(machine, history)
    }
  }
  await clients.at(-1)!.release()
}

/** Waits until every input has landed that must. The checks find those that do not. */
async function waitForLandings(
  { recorder }: Machine,
  { inputs, landings }: History,
): Promise<void> {
  const deadline = Date.now() + landingBoundMs
  const isIncomplete = () =>
    inputs.some(({ mustLand, client, number }) => {
      const hasLanded = landings.some((one) => one.client === client && one.number === number)
      return mustLand && !hasLanded
    })
  while (isIncomplete() && Date.now() < deadline) {
    await Promise.race([recorder.landed(), delay(100)])
  }
}
