import type { CaptureId } from '@computer/contract'
import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { buildGuestAgent } from '../guest-agent/build.ts'
import { createIncusDriver } from '../server/src/drivers/incus/driver.ts'
import { nameOf } from '../server/src/drivers/incus/instance.ts'
import type { MachineDriver, MachineSpec } from '../server/src/drivers/machine-driver.ts'
import { createGuestClient, type GuestClient } from '../server/src/guest/client.ts'
import { eventually } from './harness/polling.ts'
import { startTestEngine, type TestEngine } from './harness/engine.ts'
import { runInGuest } from './guest/exec.ts'

/*
 * Who a machine is when its disk came from another one. A source and two copies of it run side by
 * side; the tests share them, so each builds on those before it.
 */
const project = 'identity'
const captureId: CaptureId = 'cap_0000000000000000000000test'

let engine: TestEngine
let guestDir = ''
let driver: MachineDriver
let guests: GuestClient
let source: MachineSpec
let its: Identity
const copies: MachineSpec[] = []

before(async () => {
  engine = await startTestEngine()
  guestDir = await mkdtemp(join(tmpdir(), 'computer-guest-'))
  await chmod(guestDir, 0o755)
  await buildGuestAgent(guestDir)
  driver = createIncusDriver({ ...engine.optionsOf(project), guestDir })
  guests = createGuestClient(driver)
  await driver.prepare()
  await driver.addImage(engine.imageId, engine.imageFiles)
  source = engine.makeSpec()
  await driver.create(source)
  await boot(source, 'source')
})
after(async () => {
  await guests?.[Symbol.asyncDispose]()
  await driver?.[Symbol.asyncDispose]()
  await engine?.[Symbol.asyncDispose]()
  if (guestDir) await rm(guestDir, { recursive: true })
})

test('a machine of the image knows its name, and has no host keys before it has a server', async () => {
  assert.equal(await run(source, 'hostname; cat /etc/hostname'), 'source\nsource\n')
  assert.equal(await run(source, 'grep 127.0.1.1 /etc/hosts'), '127.0.1.1\tsource\n')
  assert.equal(await run(source, 'ls /etc/ssh | grep ssh_host'), '')
})

test('copies share their files with the source, and none of what tells machines apart', async () => {
  await run(source, installServer)
  await run(source, 'ssh-keygen -A; systemctl start ssh; echo kept > /root/kept')
  await run(source, 'rm -f /var/lib/dbus/machine-id; cp /etc/machine-id /var/lib/dbus/')
  await run(source, `mkdir -p /run/computer/secrets; echo ${secret} > /run/computer/secrets/token`)
  its = await identify(source)
  await guests.flush(refOf(source))
  await driver.capture(source, captureId)
  for (const hostname of ['first', 'second']) {
    const copy = { ...engine.makeSpec(), captureId }
    await driver.create(copy)
    await boot(copy, hostname)
    copies.push(copy)
  }

  const theirs = await Promise.all(copies.map(identify))
  const all = [its, ...theirs]
  for (const kind of Object.keys(its) as (keyof Identity)[]) {
    const values = all.map((identity) => identity[kind])
    assert.equal(new Set(values).size, all.length, `${kind}: ${values.join(' | ')}`)
  }
  for (const identity of all) {
    assert.match(identity.machineId, /^[0-9a-f]{32}$/)
    assert.match(identity.mac, /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/)
    assert.match(identity.hostKeys, /^ecdsa-\S+ \S+ \S+\nssh-ed25519 \S+ \S+\nssh-rsa \S+ \S+$/)
  }
  for (const [index, copy] of copies.entries()) {
    assert.equal(await run(copy, 'cat /root/kept'), 'kept\n')
    assert.equal(await run(copy, `cat /run/served-key`), await run(copy, hostKey))
    const machineIds = 'cat /var/lib/dbus/machine-id /etc/machine-id | sort -u'
    assert.equal(await run(copy, machineIds), `${theirs[index]!.machineId}\n`)
    assert.equal(
      await run(copy, `grep 127.0.1.1 /etc/hosts`),
      `127.0.1.1\t${theirs[index]!.name}\n`,
    )
  }
})

test('the source keeps its own', async () => {
  assert.deepEqual(await identify(source), its)
  assert.equal(await run(source, 'cat /run/served-key'), await run(source, hostKey))
})

test('a copy that boots again keeps what it was given', async () => {
  const copy = copies[0]!
  const before = await identify(copy)
  await driver.stop(copy, { graceMs: 30_000 })
  await boot(copy, 'first')
  assert.deepEqual(await identify(copy), before)
})

test('the disk of a capture holds no agent, no socket, no credential and no secret', async () => {
  // Without the agent's mount, and below what is mounted over it.
  const bare = createIncusDriver(engine.optionsOf(project))
  const copy = { ...engine.makeSpec(), captureId }
  await bare.create(copy)
  await bare.start(copy)
  const look = async (script: string) => {
    const place = { project, instance: nameOf(copy) }
    const onDisk = `mount --bind / /mnt && cd /mnt && ${script}`
    const { code, stdout, stderr } = await runInGuest(engine.client, place, ['sh', '-c', onDisk])
    assert.ok(code <= 1, stderr)
    return stdout
  }
  assert.equal(await look('ls -A opt/computer; ls -d run/computer || true'), '')
  assert.equal(await look('ls -A var/lib/computer'), 'machine\n')
  assert.equal(await look('cat var/lib/computer/machine'), `${source.id}\n`)
  assert.equal(await look('find . -xdev -name "agent.*" -path "*computer*"'), '')
  assert.equal(await look(`grep -rl ${secret} etc home opt root run srv tmp var`), '')
  assert.equal(
    await look('grep -rl kept root'),
    'root/kept\n',
    'and the search finds what is there',
  )
  await bare[Symbol.asyncDispose]()
})

const secret = 'secret-that-lives-in-memory-alone'
const hostKey = 'cat /etc/ssh/ssh_host_ed25519_key.pub'
/** Stands for an SSH server: shows with which key it runs. */
const installServer = `cp /bin/true /usr/sbin/sshd
cat > /etc/systemd/system/ssh.service <<'END'
[Service]
ExecStart=/bin/sh -c '${hostKey} > /run/served-key; exec sleep infinity'
[Install]
WantedBy=multi-user.target
END
systemctl enable ssh`

type Identity = {
  readonly name: string
  readonly machineId: string
  readonly hostKeys: string
  readonly mac: string
  readonly ip: string
}

async function identify(spec: MachineSpec): Promise<Identity> {
  const ip = await eventually('the machine has an address', async () => {
    const shown = await run(spec, 'ip -4 -o address show dev eth0')
    return / inet ([0-9.]+)\//.exec(shown)?.[1]
  })
  return {
    name: (await run(spec, 'hostname')).trim(),
    machineId: (await run(spec, 'cat /etc/machine-id')).trim(),
    hostKeys: (await run(spec, 'cat /etc/ssh/ssh_host_*.pub')).trim(),
    mac: (await run(spec, 'cat /sys/class/net/eth0/address')).trim(),
    ip,
  }
}

/** Starts a machine and tells it who it is, as the worker does. */
async function boot(spec: MachineSpec, hostname: string): Promise<void> {
  await driver.start(spec)
  runs.set(spec.id, (runs.get(spec.id) ?? 0) + 1)
  await eventually(`${hostname} knows its name`, () =>
    guests.setIdentity(refOf(spec), { machine: spec.id, hostname }).then(
      () => true,
      () => false,
    ),
  )
}

async function run(spec: MachineSpec, script: string): Promise<string> {
  const command = ['sh', '-c', script]
  return (await guests.exec(refOf(spec), { command, user: 'root' })).stdout
}

const runs = new Map<string, number>()

function refOf({ id, generation }: MachineSpec) {
  return { id, generation, run: String(runs.get(id)) }
}
