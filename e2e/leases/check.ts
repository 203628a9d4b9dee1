import { stampOf, type Grant, type History, type Input, type Landing } from './history.ts'

export type Violation = {
  readonly kind: keyof typeof promises
  readonly text: string
}

/** The promises of the input lease. */
export const promises = {
  fence: 'every grant has a higher fence than those answered before',
  unsent: 'only sent input lands',
  unheld: 'input lands only if its holding was current between sending and landing',
  stale: 'no input of a holding lands after its end was answered',
  order: 'no input of a holding lands after input of a later holding',
  late: 'no part of an input lands after the input was answered',
  lost: 'an input that is answered with success has landed completely',
  twice: 'an input lands once',
} as const

/** Consecutive grants to one session. */
type Holding = {
  readonly client: number
  readonly firstFence: number
  readonly lastFence: number
  readonly beginsAt: number
  /** From here on nothing of it may land. */
  readonly endsAt: number
  /** From here on its input over HTTP is refused. */
  readonly expiresAt: number
}

/** Finds every broken promise from the history alone. */
export function check(history: History): Violation[] {
  return [...checkFences(history.grants), ...checkInputs(history), ...checkLandings(history)]
}

function checkFences(grants: readonly Grant[]): Violation[] {
  const inOrder = grants.toSorted((a, b) => a.settledAt - b.settledAt)
  return inOrder.flatMap((later, index) => {
    const earlier = inOrder
      .slice(0, index)
      .find((one) => one.fence === later.fence || isBefore(one, later))
    return earlier ? [violation('fence', `${show(later)} after ${show(earlier)}`)] : []
  })
}

/** Whether a later call was answered with a lower fence. */
function isBefore(earlier: Grant, later: Grant): boolean {
  return earlier.settledAt < later.sentAt && earlier.fence > later.fence
}

function checkInputs({ inputs, landings }: History): Violation[] {
  return inputs.flatMap((input) => {
    const own = landings.filter((landing) => isOf(landing, input))
    const bySettled = own.filter(({ at }) => at <= (input.settledAt ?? Infinity))
    const found: Violation[] = []
    if (own.length > input.events) found.push(violation('twice', show(input)))
    if (bySettled.length < own.length) found.push(violation('late', show(input)))
    const mustLand = input.outcome === 'done' || input.mustLand
    if (mustLand && bySettled.length < input.events) {
      found.push(violation('lost', `${bySettled.length} of ${input.events}: ${show(input)}`))
    }
    return found
  })
}

function checkLandings(history: History): Violation[] {
  const holdings = listHoldings(history)
  const found: Violation[] = []
  let reached = 0
  for (const landing of history.landings) {
    const input = history.inputs.find((one) => isOf(landing, one))
    if (!input || landing.at < input.sentAt || !isStamped(landing, input)) {
      found.push(violation('unsent', show(landing)))
      continue
    }
    const own = holdings.filter((holding) => mayCarry(holding, input, landing))
    const current = own.filter(({ endsAt }) => landing.at < endsAt)
    if (current.length === 0 && !mayHaveAttempted(history, input, landing)) {
      const kind = own.length > 0 ? 'stale' : 'unheld'
      found.push(violation(kind, `${show(landing)} of ${show(input)}`))
    }
    // The fence of an acquisition without an answer is unknown, so its order cannot be checked.
    if (current.length === 0 || mayHaveAttempted(history, input, landing)) continue
    const next = current.find(({ firstFence }) => firstFence >= reached)
    if (next) reached = next.firstFence
    else found.push(violation('order', `${show(landing)} when fence ${reached} had landed`))
  }
  return found
}

/** The holdings, in the order of their fences. */
function listHoldings(history: History): Holding[] {
  const groups = Map.groupBy(history.grants, ({ client, holding }) => `${client} ${holding}`)
  return [...groups.values()]
    .map((grants) => toHolding(history, grants))
    .toSorted((a, b) => a.firstFence - b.firstFence)
}

function toHolding(history: History, grants: readonly Grant[]): Holding {
  const { client } = grants[0]!
  const fences = grants.map(({ fence }) => fence)
  const [firstFence, lastFence] = [Math.min(...fences), Math.max(...fences)]
  const first = grants.find(({ fence }) => fence === firstFence)!
  const expiresAt = Math.min(
    ...history.expiries.filter(({ fence }) => fences.includes(fence)).map(({ at }) => at),
  )
  const ends = [
    ...history.grants.filter((one) => one.fence > firstFence && !grants.includes(one)),
    ...history.releases.filter((one) => one.client === client && one.sentAt > first.settledAt),
    ...history.sweeps.filter(({ fence }) => fences.includes(fence)),
  ]
  const endsAt = Math.min(...ends.map(({ settledAt }) => settledAt))
  return { client, firstFence, lastFence, beginsAt: first.sentAt, endsAt, expiresAt }
}

function mayCarry(holding: Holding, input: Input, landing: Landing): boolean {
  const { client, firstFence, lastFence, beginsAt, expiresAt, endsAt } = holding
  if (client !== input.client || beginsAt > landing.at) return false
  // Input sent after the end cannot belong to the holding. Sockets learn of an expiry from the sweep.
  const isOver = input.sentAt > (input.way === 'http' ? Math.min(expiresAt, endsAt) : endsAt)
  const isUnderIt = input.fence === null || (firstFence <= input.fence && input.fence <= lastFence)
  return isUnderIt && !isOver
}

/** Whether the session may have held the lease by an acquisition without an answer. */
function mayHaveAttempted({ attempts }: History, input: Input, landing: Landing): boolean {
  if (input.fence !== null) return false
  return attempts.some(
    ({ client, sentAt, refusedAt }) =>
      client === input.client && sentAt < landing.at && landing.at < (refusedAt ?? Infinity),
  )
}

function isOf(landing: Landing, input: Input): boolean {
  return landing.client === input.client && landing.number === input.number
}

function isStamped({ stamp }: Landing, { fence }: Input): boolean {
  return stamp === null || fence === null || stamp === stampOf(fence)
}

function violation(kind: Violation['kind'], what: string): Violation {
  return { kind, text: `promised: ${promises[kind]}; found: ${what}` }
}

function show(what: object): string {
  return JSON.stringify(what)
}
