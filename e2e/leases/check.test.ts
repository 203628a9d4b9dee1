import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, type Violation } from './check.ts'
import { emptyHistory, stampOf, type Grant, type History, type Input } from './history.ts'

/* Handwritten histories: correct ones pass, and each incorrect one yields the right violation. */

test('a takeover: the input of each holder lands within its holding', () => {
  const history = takeover()
  lands(history, input(history, { client: 0, sentAt: 3, settledAt: 6 }), 5)
  lands(history, input(history, { client: 1, sentAt: 21, settledAt: 24 }), 23)
  // Refused, so it does not land.
  input(history, { client: 0, sentAt: 22, settledAt: 25, outcome: 'refused' })
  // In flight when the lease was taken: it lands before the takeover is answered.
  lands(history, input(history, { client: 0, sentAt: 7, outcome: 'unknown', settledAt: null }), 15)
  history.landings.sort((a, b) => a.at - b.at)
  assert.deepEqual(check(history), [])
})

test('a fence that is granted twice, and one that decreases', () => {
  for (const fence of [4, 5]) {
    const history = emptyHistory()
    grant(history, { client: 0, fence: 5, sentAt: 1 })
    grant(history, { client: 1, fence, sentAt: 10 })
    assert.deepEqual(kinds(history), ['fence'])
  }
})

test('fences of concurrent calls may be answered in any order', () => {
  const history = emptyHistory()
  grant(history, { client: 0, fence: 6, sentAt: 1, settledAt: 5 })
  grant(history, { client: 1, fence: 5, sentAt: 2, settledAt: 9 })
  assert.deepEqual(check(history), [])
})

test('a landing that was never sent, that precedes its sending, or with the stamp of another grant', () => {
  const unknown = takeover()
  unknown.landings.push({ at: 5, client: 0, number: 77, stamp: null })
  assert.deepEqual(kinds(unknown), ['unsent'])

  const early = takeover()
  lands(early, input(early, { client: 0, sentAt: 6, settledAt: 8 }), 4)
  assert.deepEqual(kinds(early), ['unsent'])

  const another = takeover()
  const sent = input(another, { client: 0, fence: 1, sentAt: 3, settledAt: 8 })
  another.landings.push({ at: 5, client: 0, number: sent.number, stamp: stampOf(2) })
  assert.deepEqual(kinds(another), ['unsent'])
})

test('input lands of a client that never held the lease, does not hold it yet, or uses a fence of another', () => {
  const never = takeover()
  lands(never, input(never, { client: 3, sentAt: 3, settledAt: 8 }), 5)
  assert.deepEqual(kinds(never), ['unheld'])

  const notYet = takeover()
  lands(notYet, input(notYet, { client: 1, sentAt: 3, settledAt: 8 }), 5)
  assert.deepEqual(kinds(notYet), ['unheld'])

  const pinned = takeover()
  lands(pinned, input(pinned, { client: 0, fence: 2, sentAt: 3, settledAt: 8 }), 5)
  assert.deepEqual(kinds(pinned), ['unheld'])
})

test('input of the earlier holder lands after the takeover was answered', () => {
  const history = takeover()
  lands(history, input(history, { client: 0, sentAt: 3, settledAt: 30 }), 21)
  assert.deepEqual(kinds(history), ['stale'])
})

test('input lands after its own client has released the lease', () => {
  const history = takeover()
  history.releases.push({ client: 0, sentAt: 6, settledAt: 9 })
  lands(history, input(history, { client: 0, sentAt: 4, settledAt: 30 }), 11)
  assert.deepEqual(kinds(history), ['stale'])

  const again = takeover()
  grant(again, { client: 1, fence: 3, sentAt: 23, holding: 'b' })
  again.releases.push({ client: 1, sentAt: 25, settledAt: 28 })
  lands(again, input(again, { client: 1, sentAt: 26, settledAt: 30 }), 29)
  assert.deepEqual(kinds(again), ['stale'])
})

test('a renewal does not end its own holding', () => {
  const history = takeover()
  const renewal = { client: 1, fence: 3, holding: 'b', sentAt: 23 }
  grant(history, renewal)
  lands(history, input(history, { client: 1, fence: 2, sentAt: 26, settledAt: 30 }), 28)
  assert.deepEqual(check(history), [])
})

test('input lands that was sent after its grant expired, or after the expiry was swept', () => {
  const history = takeover()
  history.expiries.push({ fence: 2, at: 25 })
  const late = input(history, { client: 1, sentAt: 26, settledAt: 29 })
  lands(history, late, 28)
  assert.deepEqual(kinds(history), ['unheld'])

  const inFlight = takeover()
  inFlight.expiries.push({ fence: 2, at: 25 })
  const socket = { client: 1, fence: 2, way: 'socket', settledAt: null } as const
  lands(inFlight, input(inFlight, { ...socket, sentAt: 26, outcome: 'unknown' }), 28)
  assert.deepEqual(check(inFlight), [])
  inFlight.sweeps.push({ fence: 2, settledAt: 27 })
  assert.deepEqual(kinds(inFlight), ['stale'])
})

test('input of the earlier holder lands after input of the later one, even before the answer', () => {
  const history = takeover()
  lands(history, input(history, { client: 1, sentAt: 11, settledAt: 14 }), 13)
  lands(history, input(history, { client: 0, sentAt: 3, settledAt: 16 }), 15)
  assert.deepEqual(kinds(history), ['order'])
})

test('an acquisition without an answer may explain a landing until it is refused', () => {
  const history = takeover()
  history.attempts.push({ client: 3, sentAt: 3, refusedAt: 8 })
  lands(history, input(history, { client: 3, sentAt: 4, settledAt: 7 }), 6)
  assert.deepEqual(check(history), [])
  lands(history, input(history, { client: 3, sentAt: 5, settledAt: 12 }), 9)
  assert.deepEqual(kinds(history), ['unheld'])
})

test('an input lands after it was answered', () => {
  const history = takeover()
  const refused = { client: 0, sentAt: 3, settledAt: 5, outcome: 'refused' } as const
  lands(history, input(history, refused), 7)
  assert.deepEqual(kinds(history), ['late'])
})

test('an input that was answered with success did not land, or not completely', () => {
  const history = takeover()
  input(history, { client: 0, sentAt: 3, settledAt: 6 })
  assert.deepEqual(kinds(history), ['lost'])
  const half = takeover()
  lands(half, input(half, { client: 0, sentAt: 3, settledAt: 6, events: 2 }), 5)
  assert.deepEqual(kinds(half), ['lost'])
  const overSocket = takeover()
  const must = {
    way: 'socket',
    fence: 1,
    outcome: 'unknown',
    settledAt: null,
    mustLand: true,
  } as const
  input(overSocket, { client: 0, sentAt: 3, ...must })
  assert.deepEqual(kinds(overSocket), ['lost'])
})

test('an input lands twice', () => {
  const history = takeover()
  const sent = input(history, { client: 0, sentAt: 3, settledAt: 8 })
  lands(history, sent, 5)
  lands(history, sent, 6)
  assert.deepEqual(kinds(history), ['twice'])
})

/** Client 0 holds the lease from 2 on; client 1 takes it between 10 and 20. */
function takeover(): History {
  const history = emptyHistory()
  grant(history, { client: 0, fence: 1, sentAt: 1, holding: 'a' })
  grant(history, { client: 1, fence: 2, sentAt: 10, settledAt: 20, holding: 'b' })
  return history
}

function grant(
  history: History,
  fields: Pick<Grant, 'client' | 'fence' | 'sentAt'> & Partial<Grant>,
) {
  history.grants.push({
    holding: `of ${fields.fence}`,
    isHelp: false,
    settledAt: fields.sentAt + 1,
    ...fields,
  })
}

function input(history: History, fields: Pick<Input, 'client' | 'sentAt'> & Partial<Input>): Input {
  const number = history.inputs.length
  const kind = { way: 'http', kind: 'move', character: '', events: 1 } as const
  const sent: Input = {
    ...kind,
    number,
    fence: null,
    outcome: 'done',
    settledAt: fields.sentAt + 1,
    ...fields,
  }
  history.inputs.push(sent)
  return sent
}

function lands(history: History, { client, number, fence }: Input, at: number): void {
  history.landings.push({ at, client, number, stamp: stampOf(fence ?? 0) })
}

function kinds(history: History): Violation['kind'][] {
  return check(history).map(({ kind }) => kind)
}
