import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { after, before, test } from 'node:test'
import { eventually } from './harness/polling.ts'
import { createDiskSteps } from './guest/disk-steps.ts'
import { findTraces } from './guest/secret-traces.ts'
import { runAdmin } from './harness/person.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/*
 * Secrets are in real machines and nowhere else. The tests share a server and a machine, and each builds on
 * those before it; the last one searches everything that they left behind for the value.
 */

const canary = 'canary9f3b1c7e5d2a4860value'
/** Written to the machine's disk, where the search must find it. */
const control = 'control7a1e9c3d5b2f4860value'
const value = `${canary} it's "quoted" $HOME \`id\` \\n\n\tsecond line é漢😀`

let server: RealServer
let id = ''

before(async () => {
  server = await joinServer()
  const machine = await server.api.ok('POST', '/v1/machines', { name: 'secretive' })
  id = machine.id
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
})

test('a running machine has a secret in memory, for commands and logins of its two users', async () => {
  await put('TOKEN', value)
  await waitForDelivery('TOKEN', 1)
  assert.equal(await run('printenv TOKEN'), `${value}\n`)
  assert.equal(await run('printenv TOKEN', 'root'), `${value}\n`)
  const login = `env -i /bin/bash -lc 'printenv TOKEN'`
  assert.equal(await run(login), `${value}\n`)
  assert.equal(await run(`sudo -i printenv TOKEN`), `${value}\n`)
  assert.equal(await run(`sudo su - agent -c 'printenv TOKEN'`), `${value}\n`)
  assert.equal(await run(`env -i dash -c '. /etc/profile; printenv TOKEN'`), `${value}\n`)
  const nobody = `sudo -u nobody env -i /bin/bash -lc 'printenv TOKEN; cat ${file}' 2>/dev/null || true`
  assert.equal(await run(nobody), '')

  assert.equal(await run(`stat -c '%a %U' ${file}`), '600 agent\n')
  assert.equal(await run(`findmnt -n -o FSTYPE --target ${file}`), 'tmpfs\n')
  assert.equal(await run(`grep -c . /proc/swaps`), '1\n', 'the machine has swap')
  const read = await server.api.call('GET', `${path('files/content')}?path=${file}`)
  assert.deepEqual([read.status, read.body.error.code], [403, 'permission_denied'])
})

test('a systemd service can read the secrets from the same file', async () => {
  const unit = `--property=EnvironmentFile=${file} --wait --pipe --quiet`
  assert.equal(await run(`sudo systemd-run ${unit} printenv TOKEN`), `${value}\n`)
})

test('a change and a deletion reach the running machine', async () => {
  await put('OTHER', 'first')
  await put('OTHER', 'second')
  await waitForDelivery('OTHER', 2)
  assert.equal(await run('printenv OTHER'), 'second\n')
  await server.api.ok('DELETE', path('secrets/OTHER'))
  await eventually(
    'the secret is gone',
    async () => (await run(`grep -c OTHER ${file} || true`)) === '0\n',
  )
  assert.equal(await run('printenv OTHER || echo none'), 'none\n')
})

test('services of users start after the delivery, even at the first boot', async () => {
  const other = await server.api.ok('POST', '/v1/machines', { name: 'prepared' })
  const asRoot = (script: string) =>
    server.api.run(other.id, ['sh', '-c', script], { user: 'root' })
  // This boot, which has no secret yet, must be over before there is a probe.
  const booted = await asRoot(`systemctl is-system-running --wait; systemctl start user@1000
    sudo -u agent XDG_RUNTIME_DIR=/run/user/1000 systemctl --user is-system-running --wait; true`)
  assert.match(booted, /^(running|degraded)\n(running|degraded)\n$/)
  await asRoot(installProbes)
  await move(other.id, 'stop', 'stopped')
  await server.api.ok('PUT', `/v1/machines/${other.id}/secrets`, { name: 'TOKEN', value })
  await move(other.id, 'start', 'running')
  const probes = () =>
    eventually('both have started', async () => {
      const seen = await asRoot('cat /root/probe /home/agent/probe 2>/dev/null || true')
      return seen.split('\n').length === 3 ? seen : undefined
    })
  assert.equal(await probes(), 'there\nthere\n')
  const order = await asRoot('systemctl show computer-agent --property=Before,ExecStartPost')
  assert.match(order, /Before=.*\bbasic\.target/)
  assert.match(order, /wait-for-secrets .* code=exited ; status=0/)

  await asRoot('rm /root/probe /home/agent/probe; cat /proc/1/stat > /root/boot')
  await server.api.call('POST', `/v1/machines/${other.id}/exec`, {
    command: ['systemctl', 'reboot'],
    user: 'root',
  })
  await eventually('the machine has rebooted', async () => {
    const { body } = await server.api.call('POST', `/v1/machines/${other.id}/exec`, {
      command: ['sh', '-c', 'cat /root/boot; echo; cat /proc/1/stat'],
      user: 'root',
    })
    if (body.exit_code !== 0) return undefined
    const [before, , now] = (body.stdout as string).split('\n').map((line) => line.split(' ')[21])
    return before !== now && now !== undefined
  })
  assert.equal(await probes(), 'there\nthere\n')
  assert.equal(await server.api.run(other.id, ['printenv', 'TOKEN']), `${value}\n`)
})

test('keys rotate while secrets are stored and delivered', async () => {
  let isOver = false
  const writing = (async () => {
    let count = 0
    for (; !isOver; count += 1) await put('ROTATING', `value ${count}`)
    return count
  })()
  for (let round = 0; round < 3; round += 1) await rotate(true)
  isOver = true
  const versions = await writing
  assert.match((await rotate(false)).key, /^[0-9a-f]{16}$/)
  await waitForDelivery('ROTATING', versions)
  assert.equal(await run('printenv ROTATING'), `value ${versions - 1}\n`)
  assert.equal(await run('printenv TOKEN'), `${value}\n`)
})

test('the value is in no capture, no other machine and nowhere else outside of its machine', async () => {
  const disks = createDiskSteps(server.api)
  // Not by a command, because the activity log has those.
  await server.api.ok('PUT', path('files/content'), { path: 'note', content: `${control}\n` })
  await run('sync')
  const { id: snapshotId } = await server.api.ok('POST', '/v1/snapshots', { machine_id: id })
  assert.equal((await disks.settled(snapshotId)).state, 'ready')
  const { id: templateId } = await server.api.ok('POST', '/v1/templates', {
    machine_id: id,
    name: 'from-a-secretive-one',
  })
  const fork = await server.api.ok('POST', path('fork'), { name: 'forked' })
  await disks.running(fork.id)
  const bare = `printenv TOKEN; ls ${file} 2>/dev/null; cat note`
  assert.equal(await server.api.run(fork.id, ['sh', '-c', bare]), `${control}\n`)
  await eventually('the template is ready', async () => {
    const { state } = await server.api.ok('GET', `/v1/templates/${templateId}`)
    return state === 'ready'
  })
  const made = await server.api.ok('POST', '/v1/machines', { template: templateId })
  assert.equal(await server.api.run(made.id, ['sh', '-c', bare]), `${control}\n`)
  // A process that holds the secret in memory while the disk is captured.
  await server.api.launch(id, 'sleep 1000')
  await move(id, 'restart', 'running')
  assert.equal(await run('printenv TOKEN'), `${value}\n`)
  await move(id, 'stop', 'stopped')

  const answers = [...(await callRefused()), ...(await readEverything())]
  const [known, folder] = [id.slice('mch_'.length), basename(server.dataDir)]
  const traces = await findTraces(server.dataDir, [canary, control, known, folder])
  const { searched, ...places } = { ...traces, answers: findIn(answers, canary) }
  assert.deepEqual(only(places, canary), {})

  // The search does find the words that are there.
  assert.deepEqual(Object.keys(only(places, control)), ['pool', 'disks'])
  const captures = only(places, control)['disks']!.filter((line) => /_cap-/.test(line))
  assert.ok(captures.length >= 3, 'the captures of the snapshot, the template and the stop')
  assert.deepEqual(Object.keys(only(places, known)), ['pool', 'disks', 'tables', 'files', 'engine'])
  assert.ok(only(places, folder)['processes']!.length > 3)
  assert.ok(searched.tables > 20 && searched.files > 100 && searched.poolBytes > 2 ** 30)
})

const file = '/run/computer/secrets.env'

function path(rest: string): string {
  return rest === '' ? `/v1/machines/${id}` : `/v1/machines/${id}/${rest}`
}

function run(script: string, user = 'agent'): Promise<string> {
  return server.api.run(id, ['sh', '-c', script], { user })
}

async function put(name: string, text: string): Promise<void> {
  await server.api.ok('PUT', path('secrets'), { name, value: text })
}

async function waitForDelivery(name: string, version: number): Promise<void> {
  await eventually(`${name} is delivered`, async () => {
    const { data } = await server.api.ok('GET', path('secrets'))
    const found = data.find((one: { name: string }) => one.name === name)
    return found.version === version && found.delivered_at !== null
  })
}

async function move(machineId: string, how: string, state: string): Promise<void> {
  const moved = await server.api.ok('POST', `/v1/machines/${machineId}/${how}?wait=120`)
  assert.equal(moved.state, state)
}

/** Runs `computer admin secrets rotate` beside the running server. */
function rotate(newKey: boolean): Promise<{ key: string; rotated: number }> {
  return runAdmin(server.dataDir, { command: 'secrets rotate', newKey })
}

/** Installs a system service and a user service that record whether they find the secret. */
const installProbes = `set -e
for place in /etc/systemd/system /etc/systemd/user; do
  home=/root; target=multi-user.target
  [ $place = /etc/systemd/user ] && home=/home/agent && target=default.target
  cat > $place/probe.service <<END
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'if grep -q ^TOKEN= ${file}; then echo there; else echo missing; fi > $home/probe'
[Install]
WantedBy=$target
END
done
systemctl enable probe; systemctl --global enable probe`

/** The answers to requests that pass the secret in an invalid way. */
async function callRefused(): Promise<string[]> {
  const body = JSON.stringify({ name: 'TOKEN', value: canary })
  const texts = [body.slice(0, -1), body.replace('TOKEN', 'lower'), body.replace('",', '\\u0000",')]
  return Promise.all(
    texts.map(async (text) => {
      const headers = {
        authorization: `Bearer ${server.api.key}`,
        'content-type': 'application/json',
      }
      const answer = await fetch(server.api.baseUrl + path('secrets'), {
        method: 'PUT',
        headers,
        body: text,
      })
      assert.equal(answer.status, 400)
      return answer.text()
    }),
  )
}

/** All answers of the API about the machine and its resources. */
async function readEverything(): Promise<string[]> {
  const lists = ['secrets', 'audit-events', 'snapshots', 'templates', 'machines', 'sessions']
  const paths = [
    path(''),
    path('events?limit=100'),
    path('secrets'),
    ...lists.map((one) => `/v1/${one}`),
  ]
  return Promise.all(paths.map(async (one) => (await server.api.call('GET', one)).bytes.toString()))
}

function findIn(texts: readonly string[], word: string): string[] {
  return texts.filter((text) => text.includes(word)).map((text) => `${word} ${text}`)
}

/** The places where a word was found, in any encoding. */
function only(places: Readonly<Record<string, readonly string[]>>, word: string) {
  const found = Object.entries(places).map(
    ([place, lines]) => [place, lines.filter((line) => line.startsWith(word))] as const,
  )
  return Object.fromEntries(found.filter(([, lines]) => lines.length > 0))
}
