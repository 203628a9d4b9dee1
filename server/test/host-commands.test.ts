import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { findRefusal } from '../src/domain/hosts/states.ts'
import { runCommand } from './admin-process.ts'
import { startTestServer } from './harness.ts'
import { bothReady, hostOf, setHost } from './hosts.ts'

/* `computer hosts …` beside a server with two hosts. */

const other = 'host-2'
const server = await startTestServer({ after }, { otherHosts: [other], plan: 'startup' })
const hosts = (...words: string[]) => runCommand(server.databaseUrl, 'hosts', ...words)
await bothReady(server)

test('the list says what is on each host and what is free there', async () => {
  const { id } = await server.machine()
  const { stdout } = await hosts('list')
  const [head, ...rows] = stdout.trim().split('\n')
  assert.match(
    head!,
    /^NAME\s+REGION\s+STATE\s+MACHINES\s+DISK FREE\s+MEMORY FREE\s+ROOM TO RUN\s+SEEN$/,
  )
  assert.equal(rows.length, 2)
  const json = JSON.parse((await hosts('list', '--json')).stdout)
  const holder = json.find(({ name }: { name: string }) => name === rows[0]!.split(' ')[0])
  assert.equal(holder.state, 'ready')
  const host = await hostOf(server, id)
  assert.equal(json.find(({ name }: { name: string }) => name === host).machines, 1)
  // The certificate is of no use to people, and long.
  assert.ok(!('peer_certificate' in holder))
})

test('a host is drained with progress, gets no machines, and is removed or used again', async () => {
  const { id } = await server.machine()
  const host = await hostOf(server, id)
  const target = host === other ? 'local' : other
  const early = await hosts('remove', host)
  assert.deepEqual(
    [early.code, early.stderr],
    [1, `computer: host ${host} is ready; it must be drained\n`],
  )

  const drained = await hosts('drain', host)
  assert.equal(drained.code, 0, drained.stderr)
  assert.match(drained.stderr, new RegExp(`^left on ${host}: \\d machines`))
  assert.equal(
    drained.stdout,
    `${host} is drained: nothing is left on it, and it can be stopped or removed\n`,
  )
  assert.equal(await hostOf(server, id), target)
  const last = await hosts('drain', target)
  assert.deepEqual(
    [last.code, last.stderr],
    [1, `computer: no other host can take the machines of host ${target}\n`],
  )

  assert.equal((await hosts('undrain', host)).stdout, `${host} is ready: it gets new machines\n`)
  await setHost(server, host, { state: 'drained' })
  assert.equal((await hosts('remove', host)).code, 0)
  const names = JSON.parse((await hosts('list', '--json')).stdout).map(
    ({ name }: { name: string }) => name,
  )
  assert.deepEqual(names, [target])
  assert.match((await findRefusal(server.app.db, host))!, /was removed/)
  const again = await hosts('undrain', host)
  assert.deepEqual(
    [again.code, again.stderr],
    [1, `computer: host ${host} is removed; it must be draining\n`],
  )
  const unknown = await hosts('drain', 'nowhere')
  assert.deepEqual([unknown.code, unknown.stderr], [1, 'computer: there is no host nowhere\n'])
})
