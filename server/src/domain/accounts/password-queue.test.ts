import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPasswordQueue } from './password-queue.ts'

test('networks take turns, whoever has more waiting', async () => {
  const { ask, finishAll, order } = start({ maxAtOnce: 1, maxWaiting: 32, maxWaitingPerNetwork: 8 })
  const asked = ['first', 'a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((name) => ask(name, name[0]!))
  await finishAll()
  await Promise.all(asked)
  assert.deepEqual(order, ['first', 'a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
})

test('a network has a limit of its own, and work without a network has none', async () => {
  const { ask, finishAll, order } = start({ maxAtOnce: 2, maxWaiting: 9, maxWaitingPerNetwork: 2 })
  const asked = ['a1', 'a2', 'a3', 'a4'].map((name) => ask(name, 'a'))
  await assert.rejects(ask('a5', 'a'), { code: 'rate_limited', retryAfter: 1 })
  const own = Array.from({ length: 20 }, (_, i) => ask(`own ${i}`, null))
  await finishAll()
  await Promise.all([...asked, ...own])
  assert.equal(order.length, 24)
})

test('a newcomer takes the last place of the network that has the most', async () => {
  const { ask, finishAll, order } = start({ maxAtOnce: 1, maxWaiting: 4, maxWaitingPerNetwork: 3 })
  const asked = ['first', 'a1', 'a2', 'a3', 'b1'].map((name) => ask(name, name[0]!))
  const displaced = assert.rejects(asked[3]!, { code: 'rate_limited' })
  const newcomers = [ask('c1', 'c'), ask('d1', 'd')]
  const alsoDisplaced = assert.rejects(asked[2]!, { code: 'rate_limited' })
  // Each network has one place now.
  await assert.rejects(ask('e1', 'e'), { code: 'rate_limited' })
  await finishAll()
  await Promise.all([asked[0], asked[1], asked[4], ...newcomers, displaced, alsoDisplaced])
  assert.deepEqual(order, ['first', 'a1', 'b1', 'c1', 'd1'])
})

test('a failure frees the place', async () => {
  const queue = createPasswordQueue({ maxAtOnce: 1, maxWaiting: 1, maxWaitingPerNetwork: 1 })
  const failing = queue.run('a', () => Promise.reject(new Error('broken')))
  const next = queue.run('a', async () => 'done')
  await assert.rejects(failing, /broken/)
  assert.equal(await next, 'done')
  assert.equal(await queue.run('b', async () => 'done'), 'done')
})

/** A queue whose work goes on until the test finishes it. */
function start(limits: Parameters<typeof createPasswordQueue>[0]) {
  const queue = createPasswordQueue(limits)
  const order: string[] = []
  const started: (() => void)[] = []
  return {
    order,
    ask: (name: string, network: string | null) =>
      queue.run(network, () => {
        order.push(name)
        return new Promise<void>((resolve) => started.push(resolve))
      }),
    async finishAll() {
      while (started.length > 0) {
        started.shift()!()
        await new Promise(setImmediate)
      }
    },
  }
}
