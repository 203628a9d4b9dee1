import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { readGuestCpuMs } from '../bench/processes.ts'
import { openDatabase, type Database, type WarmMachineRow } from '../server/src/db/database.ts'
import { listWarm } from '../server/src/domain/machines/warm-machines.ts'
import { findPayloadGroup } from '../server/src/drivers/incus/payload-group.ts'
import { storageName } from '../server/src/drivers/incus/disks/host-pool.ts'
import { nameOf } from '../server/src/drivers/incus/instance.ts'
import { databaseUrl } from '../server/src/host/postgres.ts'
import { openTerminal, readGuide } from './harness/guide.ts'
import { eventually } from './harness/polling.ts'
import { startRealServer, type RealServer } from './harness/server.ts'

/* Warm machines of a real server. The tests share it, and each builds on those before it. */

let server: RealServer
let db: Database
let first = ''

before(async () => {
  server = await startRealServer({ warmMachines: 1 })
  db = openDatabase(databaseUrl(server.dataDir), {
    log: pino({ level: 'silent' }),
    maxConnections: 1,
  })
})
after(async () => {
  await db?.destroy()
  await server?.[Symbol.asyncDispose]()
})

test('a machine that waits uses no processor, and survives a restart of the worker', async () => {
  const waiting = await untilReady()
  const used = await cpuOf(waiting)
  await server.kill('worker')
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  assert.equal(await cpuOf(waiting), used)
  assert.equal((await untilReady()).id, waiting.id)
})

test('a create takes it, in its own size and under its own name, and its desktop is up', async () => {
  const waiting = await untilReady()
  const input = { name: 'taken', size: 'standard', metadata: { team: 'shop' } }
  const machine = await server.api.ok('POST', '/v1/machines', input)
  first = machine.id
  assert.deepEqual([machine.id, machine.state, machine.size], [waiting.id, 'running', 'standard'])
  const display = await server.api.ok('GET', `/v1/machines/${first}/display`)
  assert.equal(display.up, true)
  assert.equal(await run(first, 'hostname; cat /etc/hostname'), 'taken\ntaken\n')
  assert.equal(await run(first, 'grep 127.0.1.1 /etc/hosts'), '127.0.1.1\ttaken\n')
  const memoryKb = Number(await run(first, `awk '/MemTotal/ { print $2 }' /proc/meminfo`))
  assert.equal(memoryKb / 1024, machine.memory_mb)
  // More than the size that it waited in has room for.
  await run(first, 'fallocate --length 12G large && rm large')
})

test('what was taken is a machine like any other: it has a network, secrets, stops and starts', async () => {
  await run(first, 'getent ahostsv4 localhost && ip route get 1.1.1.1', 'root')
  await server.api.ok('PUT', `/v1/machines/${first}/secrets`, { name: 'TOKEN', value: 'word' })
  await eventually(
    'the secret is there',
    async () => (await run(first, 'printenv TOKEN || true')) === 'word\n',
  )
  await run(first, 'echo kept > kept; sync')
  await server.api.ok('POST', `/v1/machines/${first}/stop?wait=60`)
  await server.api.ok('POST', `/v1/machines/${first}/start?wait=60`)
  assert.equal(await run(first, 'cat kept; hostname; printenv TOKEN'), 'kept\ntaken\nword\n')
})

test('the next one shares nothing that identifies the first', async () => {
  const waiting = await untilReady()
  const second = await server.api.ok('POST', '/v1/machines', { name: 'second' })
  assert.equal(second.id, waiting.id)
  const facts = `cat /etc/machine-id /sys/class/net/eth0/address
    hostname -I; sudo cat /var/lib/computer/machine`
  const [ofFirst, ofSecond] = await Promise.all([run(first, facts), run(second.id, facts)])
  const [firstFacts, secondFacts] = [ofFirst, ofSecond].map((text) => text.trim().split('\n'))
  assert.equal(firstFacts!.length, 4)
  for (const fact of secondFacts!) assert.ok(!firstFacts!.includes(fact), fact)
  assert.deepEqual([firstFacts!.at(-1), secondFacts!.at(-1)], [first, second.id])
  const { data } = await server.api.ok('GET', '/v1/machines')
  assert.deepEqual(
    data.map(({ name }: { name: string }) => name),
    ['second', 'taken'],
  )
})

test('machines of a template are kept warm, as the guide tells', async (t) => {
  const input = { name: 'Tools', machine_id: first }
  const { id } = await server.api.ok('POST', '/v1/templates', input)
  await eventually('the template is ready', async () => {
    return (await server.api.ok('GET', `/v1/templates/${id}`)).state === 'ready'
  })
  const guide = await readGuide('docs/self-hosting.md', {
    from: '### Warm machines',
    to: '## Letting others in',
  })
  const terminal = await openTerminal(t, dirname(process.execPath), server.guideEnv)
  const output = await terminal.paste([`template=${id}`, ...guide])
  assert.equal(output, 'kept warm of template Tools: 2\nkept warm of template Tools: 0\n')

  await terminal.paste([`computer admin template set-warm ${id} 1`])
  const waiting = await untilReady({ ofTemplate: true })
  const machine = await server.api.ok('POST', '/v1/machines', { name: 'third', template: id })
  assert.deepEqual([machine.id, machine.template_id], [waiting.id, id])
  assert.equal(await run(machine.id, 'cat kept; hostname'), 'kept\nthird\n')
  const said = await terminal.paste(['computer doctor | grep "warm machines"'])
  assert.match(said, /of 2 ready.* of the \d machines .* \d were warm/)
})

/** The machine that waits, frozen, once there is one. */
async function untilReady({ ofTemplate = false } = {}): Promise<WarmMachineRow> {
  return eventually(
    'a warm machine is ready',
    async () =>
      (await listWarm(db)).find(
        ({ state, base_capture_id: captureId }) =>
          state === 'ready' && (captureId !== null) === ofTemplate,
      ),
    { withinMs: 60_000 },
  )
}

/** The milliseconds of processor time that all of the machine has used. */
async function cpuOf(row: WarmMachineRow): Promise<number> {
  const group = await findPayloadGroup(storageName('computer', nameOf(row)))
  assert.ok(group, 'the machine runs')
  const [init] = (await readFile(`${group}/init.scope/cgroup.procs`, 'utf8')).split('\n')
  return readGuestCpuMs(Number(init))
}

function run(id: string, script: string, user: 'agent' | 'root' = 'agent'): Promise<string> {
  return server.api.run(id, ['sh', '-c', script], { user })
}
