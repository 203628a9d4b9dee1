import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { pino } from 'pino'
import { Webhook } from 'standardwebhooks'
import { signInOwner } from '../../e2e/harness/person.ts'
import { Changes } from '../../server/src/db/changes.ts'
import type { Database } from '../../server/src/db/database.ts'
import { databaseUrl } from '../../server/src/host/postgres.ts'
import { openBenchDatabase } from '../billed.ts'
import { deleteMachine, type Machine } from '../machine.ts'
import type { Sample } from '../measure.ts'
import { compareSides, type Bench, type BenchContext } from '../row.ts'
import { runRounds } from '../rounds.ts'

/**
 * The commit of an event until its message is at a receiver on this host, compared with a program that asks for new events
 * once a second.
 */
export const bench: Bench = {
  name: 's30-webhooks',
  title: 'commit to webhook',
  async run(context) {
    await using stack = new AsyncDisposableStack()
    const write = await openLog(context, stack)
    const receive = await openReceiver(context, stack)
    const poll = pollEvents(context, write.machineId)
    const side = (arrival: (id: string) => Promise<Arrival>) => async (): Promise<Sample> => {
      const id = `evt_${randomUUID().replaceAll('-', '')}`
      const arriving = arrival(id)
      const committed = await write.event(id)
      const { at, wrong } = await arriving
      return { ms: at - committed, wrong }
    }
    const sides = { poll: side(poll), ours: side(receive) }
    const rounds = await runRounds(sides, context.plan.fast, context.say)
    return [
      compareSides(
        rounds,
        { baseline: 'poll', ours: 'ours' },
        {
          id: 'S30',
          ours: 'commit → message at the receiver',
          baseline: 'GET …/events every second',
          target: { ratio: 0.2, p50Ms: 100 },
        },
      ),
    ]
  },
}

const pollEveryMs = 1_000

/** When an event was there, by this process's clock, and what is wrong with what came. */
type Arrival = { readonly at: number; readonly wrong: string | undefined }

/** A machine, and a way to write its events as the API does. `event` resolves to the time of the commit. */
async function openLog({ api, dataDir }: BenchContext, stack: AsyncDisposableStack) {
  const db: Database = openBenchDatabase({ dataDir })
  stack.defer(() => db.destroy())
  const log = pino({ level: 'silent' })
  const changes = stack.use(new Changes({ db, databaseUrl: databaseUrl(dataDir), log }))
  const { id } = await api.ok<Machine>('POST', '/v1/machines', { name: 'bench-s30', start: false })
  stack.defer(() => deleteMachine(api, id))
  return {
    machineId: id,
    async event(eventId: string): Promise<number> {
      await sql`
        with machine as (
          update machines set event_sequence = event_sequence + 1 where id = ${id} returning *
        )
        insert into machine_events (id, organization_id, machine_id, type, sequence, occurred_at)
        select ${eventId}, organization_id, id, 'machine.updated', event_sequence,
          date_trunc('milliseconds', clock_timestamp())
        from machine`.execute(db)
      const committed = performance.now()
      changes.publish(id)
      return committed
    },
  }
}

/** A webhook of the organization, and its receiver, which verifies what it gets. */
async function openReceiver(context: BenchContext, stack: AsyncDisposableStack) {
  const waiting = new Map<string, (arrival: Arrival) => void>()
  const http = createServer()
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  stack.defer(() => {
    http.closeAllConnections()
    http.close()
  })
  const owner = await signInOwner(context, `S30-${randomUUID().slice(0, 8)}`)
  const { port } = http.address() as AddressInfo
  const body = { url: `http://127.0.0.1:${port}/`, types: ['machine.updated'] }
  const created = await owner.ok<{ id: string; secret: string }>('POST', '/v1/webhooks', body)
  stack.defer(() => owner.ok('DELETE', `/v1/webhooks/${created.id}`))
  const webhook = new Webhook(created.secret)
  http.on('request', (request, response) => {
    const at = performance.now()
    let payload = ''
    request.setEncoding('utf8').on('data', (text: string) => (payload += text))
    request.once('end', () => {
      response.writeHead(204).end()
      const id = String(request.headers['webhook-id'])
      waiting.get(id)?.({ at, wrong: check(webhook, id, request.headers, payload) })
    })
  })
  return (id: string) => {
    const { promise, resolve } = Promise.withResolvers<Arrival>()
    waiting.set(id, resolve)
    return within(promise, 'the message did not arrive')
  }
}

function check(webhook: Webhook, id: string, headers: object, payload: string): string | undefined {
  try {
    const { data } = webhook.verify(payload, headers as Record<string, string>) as {
      data: { id: string }
    }
    return data.id === id ? undefined : `the message ${id} contains ${data.id}`
  } catch (error) {
    return `the message does not verify: ${String(error)}`
  }
}

/** Reads a machine's newest events until the event is there. */
function pollEvents({ api }: BenchContext, machineId: string) {
  return (id: string): Promise<Arrival> => {
    const poll = async (): Promise<Arrival> => {
      // The commit may come at any moment of the poller's second.
      for (let waitMs = Math.random() * pollEveryMs; ; waitMs = pollEveryMs) {
        await delay(waitMs)
        const path = `/v1/machines/${machineId}/events?limit=10`
        const { data } = await api.ok<{ data: readonly { id: string }[] }>('GET', path)
        if (data.some((event) => event.id === id))
          return { at: performance.now(), wrong: undefined }
      }
    }
    return within(poll(), 'the event was not listed')
  }
}

/** A message that never comes is a wrong one, and ends the wait. */
async function within(arrival: Promise<Arrival>, problem: string): Promise<Arrival> {
  const ended = new AbortController()
  const never = delay(30_000, undefined, { signal: ended.signal }).then(() => ({
    at: NaN,
    wrong: problem,
  }))
  try {
    return await Promise.race([arrival, never])
  } finally {
    ended.abort()
    never.catch(() => {})
  }
}
