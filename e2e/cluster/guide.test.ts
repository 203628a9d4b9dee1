import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test, type TestContext } from 'node:test'
import pg from 'pg'
import { networkName } from '../../server/src/process.ts'
import { findHostNode } from '../../server/test/nodes.ts'
import type { ApiClient } from '../harness/api.ts'
import { makeDataDir } from '../harness/data-folder.ts'
import { removeEngine } from '../harness/engine-daemon.ts'
import { openTerminal, readGuide } from '../harness/guide.ts'
import { eventually } from '../harness/polling.ts'
import { freePort } from '../harness/ports.ts'
import { ownerClient, runComputer, startHostServer } from '../harness/host-server.ts'
import { prepareServer } from '../harness/server-folder.ts'
import { addHostAddresses } from './host-addresses.ts'
import { startNetworkPostgres } from './network-postgres.ts'

/*
 * Two hosts of one server, as docs/cluster.md tells. Each has a data folder, an engine and an address of its own. The
 * tests share both hosts, so each builds on those before it.
 */

const guide = 'docs/cluster.md'
const [databaseAddress, ...addresses] = await addHostAddresses({ after }, 3)
const databaseUrl = await startNetworkPostgres({ after }, databaseAddress!)
const first = await prepareHost('first', addresses[0]!)
const second = await prepareHost('second', addresses[1]!)
/** Where the backup of both is restored to, once they are down. */
const third = { ...first, dataDir: '' }
const folder = await mkdtemp(join(tmpdir(), 'computer-backups-'))
after(() => rm(folder, { recursive: true, force: true }))
/** Texts of the guide, each with the text that a reader puts in its place. */
let texts: readonly (readonly [string, string])[] = [
  ['postgresql://computer:PASSWORD@10.0.0.9/computer', databaseUrl],
  [
    'postgresql://computer:PASSWORD@10.0.0.9/restored',
    databaseUrl.replace(/computer$/, 'restored'),
  ],
  ['10.0.0.1:7083', first.address],
  ['10.0.0.2:7083', second.address],
  ['10.0.0.3:7083', first.address],
]
let api: ApiClient
let id = ''
/** The machine of the second host, which is deleted after the backup. */
let other = ''

after(async () => {
  for (const { env, dataDir } of [second, first, third]) {
    if (dataDir === '') continue
    await runComputer(env, 'down')
    await removeEngine(dataDir, networkName(dataDir))
  }
})

test('the first host of a server has the settings of its data folder', async (t) => {
  await paste(t, first, '## The first host')
  await startHostServer(first.env)
  api = await ownerClient(first.env, first.dataDir)
  assert.equal(existsSync(`${first.dataDir}/postgres`), false)
  id = (await api.ok('POST', '/v1/machines', {})).id
  await api.run(id, ['sh', '-c', 'echo kept > note; sync'])
})

test('another host joins with a token, which works once', async (t) => {
  const added = await paste(t, first, '## Another host', 0)
  const token = /^\S{100,}$/m.exec(added)![0]
  texts = [...texts, ['TOKEN', token]]
  assert.match(await paste(t, second, '## Another host', 1), /this host is second now/)
  assert.equal(await keyringOf(second), await keyringOf(first))
  const again = await runComputer(second.env, 'join', token, '--address', second.address)
  assert.match(again.output, /this host has a server already/)
  await startHostServer(second.env)
  // Until then machines would be placed on the first host.
  await eventually('the second host has the image of machines', async () => {
    return /^second +local +ready +0 /m.test(await runOk(first, 'hosts', 'list'))
  })
  const listed = await paste(t, first, '## Another host', 2)
  assert.match(listed, /^local +local +ready +1 /m)
  assert.match(listed, /^second +local +ready +0 /m)
})

test('each API serves the machines of all hosts', async () => {
  const there = await ownerClient(second.env, first.dataDir)
  assert.equal(await there.run(id, ['cat', 'note']), 'kept\n')
})

test('a backup has the machines of both hosts', async (t) => {
  other = (await api.ok('POST', '/v1/machines', {})).id
  await api.run(other, ['sh', '-c', 'echo there > note'])
  assert.match(await runOk(first, 'hosts', 'list'), /^second +local +ready +1 /m)
  const printed = await paste(t, first, '## Backups', 0)
  assert.match(printed, /^backup \S+ is in .*: 2 machines, 0 snapshots and templates, /m)
  assert.doesNotMatch(printed, /is not in the backup/)
  await api.ok('DELETE', `/v1/machines/${other}`)
})

test('a drained host is empty, and its machines go on elsewhere with their snapshots', async (t) => {
  const snapshot = await api.ok('POST', '/v1/snapshots', { machine_id: id })
  assert.match(await runOk(first, 'hosts', 'drain', 'local'), /local is drained/)
  assert.match(await runOk(first, 'hosts', 'list'), /^second +local +ready +1 /m)
  assert.equal(await api.run(id, ['cat', 'note']), 'kept\n')
  await runOk(first, 'hosts', 'undrain', 'local')
  assert.match(await paste(t, first, '## Maintenance of a host', 0), /second is drained/)
  assert.match(await paste(t, second, '## Maintenance of a host', 1), /second is ready/)
  const fork = await api.ok('POST', `/v1/machines/${id}/fork`, { snapshot_id: snapshot.id })
  await eventually('the fork runs', async () => {
    return (await api.ok('GET', `/v1/machines/${fork.id}`)).state === 'running'
  })
  assert.equal(await api.run(fork.id, ['cat', 'note']), 'kept\n')
})

test('a host that is silent can be given up, and a removed one starts no more', async (t) => {
  await runOk(second, 'hosts', 'drain', 'second')
  await runOk(second, 'down')
  await eventually('the host is silent', async () => {
    return /^second +local +drained, silent /m.test(await runOk(first, 'hosts', 'list'))
  })
  assert.match(await paste(t, first, '## When a host fails'), /second is lost/)
  assert.match(await paste(t, first, '## Removing a host'), /second is removed/)
  const { code, output } = await runComputer(second.env, 'up')
  assert.equal(code, 1)
  assert.match(output, /second was removed/)
  assert.equal(await api.run(id, ['cat', 'note']), 'kept\n')
  assert.doesNotMatch(await runOk(first, 'hosts', 'list'), /^second/m)
})

test('one host makes the server of the backup, with the machines of both', async (t) => {
  await runOk(first, 'down')
  await createDatabase('restored')
  third.dataDir = await makeDataDir('cluster-third')
  // The restored folder names this test as its owner too.
  await rm(join(third.dataDir, 'owner.pid'))
  third.env = { ...first.env, COMPUTER_DATA: third.dataDir }
  assert.match(await paste(t, third, '## Backups', 1), /^backup \S+ is restored to /m)
  await startHostServer(third.env)
  const restored = await ownerClient(third.env, third.dataDir)
  for (const [machine, note] of [
    [id, 'kept\n'],
    [other, 'there\n'],
  ] as const) {
    await eventually('the machine runs again', async () => {
      const { status, body } = await restored.call('POST', `/v1/machines/${machine}/exec`, {
        command: ['cat', 'note'],
      })
      return status === 200 && body.stdout === note
    })
  }
  const listed = await eventually('the host has both machines', async () => {
    const text = await runOk(third, 'hosts', 'list')
    return /^local +local +ready +2 /m.test(text) && text
  })
  assert.doesNotMatch(listed, /^second/m)
})

type Host = Awaited<ReturnType<typeof prepareHost>>

async function prepareHost(name: string, ip: string) {
  const host = await prepareServer(`cluster-${name}`)
  // A warm machine would be sent about, too.
  host.env['COMPUTER_WARM_MACHINES'] = '0'
  return { ...host, address: `${ip}:${await freePort()}` }
}

async function runOk({ env }: Host, ...args: string[]): Promise<string> {
  const { code, output } = await runComputer(env, ...args)
  assert.equal(code, 0, output)
  return output
}

async function createDatabase(name: string): Promise<void> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
}

function keyringOf({ dataDir }: Host): Promise<string> {
  return readFile(`${dataDir}/secrets.keyring`, 'utf8')
}

/** The operator's terminal on a host pastes the blocks below a heading, or one of them. */
async function paste(t: TestContext, { env }: Host, from: string, index?: number): Promise<string> {
  const defined = Object.entries(env).filter(([name]) => name.startsWith('COMPUTER_'))
  const nodeDir = (await findHostNode()) ?? dirname(process.execPath)
  const variables = { ...Object.fromEntries(defined), folder } as Record<string, string>
  const terminal = await openTerminal(t, nodeDir, variables)
  const blocks = await readGuide(guide, { from })
  const chosen = index === undefined ? blocks.slice(0, 1) : [blocks[index]!]
  return terminal.paste(chosen.map(fillIn))
}

function fillIn(block: string): string {
  return texts.reduce((text, [from, to]) => text.replaceAll(from, to), block)
}
