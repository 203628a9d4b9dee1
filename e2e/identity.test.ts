import type { CaptureId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createIncusDriver } from '../server/src/drivers/incus/driver.ts'
import { nameOf } from '../server/src/drivers/incus/instance.ts'
import type { MachineSpec } from '../server/src/drivers/machine-driver.ts'
import { startAgentMachines, type AgentMachines } from './harness/agent-machines.ts'
import { eventually } from './harness/polling.ts'
import { runInGuest } from './guest/exec.ts'

/*
 * The identity of machines whose disk is a copy. A source and two copies of it run side by side; the tests
 * share them, so each builds on those before it.
 */
const project = 'identity'
const captureId: CaptureId = 'cap_0000000000000000000000test'

let machines: AgentMachines
let source: MachineSpec
let sourceIdentity: Identity
const copies: MachineSpec[] = []

before(async () => {
  machines = await startAgentMachines(project)
  source = machines.engine.makeSpec()
  await machines.driver.create(source)
  await boot(source, 'source')
})
after(async () => {
  await machines?.[Symbol.asyncDispose]()
})

test('a machine from the image knows its name, and has no host keys before an SSH server is installed', async () => {
  assert.equal(await run(source, 'hostname; cat /etc/hostname'), 'source\nsource\n')
  assert.equal(await run(source, 'grep 127.0.1.1 /etc/hosts'), '127.0.1.1\tsource\n')
  assert.equal(await run(source, 'ls /etc/ssh | grep ssh_host'), '')
})

test('copies share the files of the source, and nothing that identifies it', async () => {
  await run(source, installServer)
  await run(source, 'ssh-keygen -A; systemctl start ssh; echo kept > /root/kept')
  await run(source, 'rm -f /var/lib/dbus/machine-id; cp /etc/machine-id /var/lib/dbus/')
  await run(source, `mkdir -p /run/computer/secrets; echo ${secret} > /run/computer/secrets/token`)
  sourceIdentity = await identify(source)
  await machines.guests.flush(machines.refOf(source))
  await machines.driver.capture(source, captureId)
  for (const hostname of ['first', 'second']) {
    const copy = { ...machines.engine.makeSpec(), captureId }
    await machines.driver.create(copy)
    await boot(copy, hostname)
    copies.push(copy)
  }

  const theirs = await Promise.all(copies.map(identify))
  const all = [sourceIdentity, ...theirs]
  for (const kind of Object.keys(sourceIdentity) as (keyof Identity)[]) {
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

test('the source keeps its own identity', async () => {
  assert.deepEqual(await identify(source), sourceIdentity)
  assert.equal(await run(source, 'cat /run/served-key'), await run(source, hostKey))
})

test('a copy that boots again keeps its identity', async () => {
  const copy = copies[0]!
  const before = await identify(copy)
  await machines.driver.stop(copy, { graceMs: 30_000 })
  await boot(copy, 'first')
  assert.deepEqual(await identify(copy), before)
})

test('the disk of a capture holds no agent, no socket, no credential and no secret', async () => {
  // Without the mount of the agent, and below all other mounts.
  const bare = createIncusDriver(machines.engine.optionsOf(project))
  const copy = { ...machines.engine.makeSpec(), captureId }
  await bare.create(copy)
  await bare.start(copy)
  const onDisk = async (script: string) => {
    const target = { project, instance: nameOf(copy) }
    const command = ['sh', '-c', `mount --bind / /mnt && cd /mnt && ${script}`]
    const { code, stdout, stderr } = await runInGuest(machines.engine.client, target, command)
    assert.ok(code <= 1, stderr)
    return stdout
  }
  assert.equal(await onDisk('ls -A opt/computer; ls -d run/computer || true'), '')
  assert.equal(await onDisk('ls -A var/lib/computer'), 'machine\n')
  assert.equal(await onDisk('cat var/lib/computer/machine'), `${source.id}\n`)
  assert.equal(await onDisk('find . -xdev -name "agent.*" -path "*computer*"'), '')
  assert.equal(await onDisk(`grep -rl ${secret} etc home opt root run srv tmp var`), '')
  assert.equal(
    await onDisk('grep -rl kept root'),
    'root/kept\n',
    'the search finds files that exist',
  )
  await bare[Symbol.asyncDispose]()
})

const secret = 'secret-that-lives-in-memory-alone'
const hostKey = 'cat /etc/ssh/ssh_host_ed25519_key.pub'
/** Stands in for an SSH server, and records the key with which it runs. */
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

/** Starts a machine and sets its identity, as the worker does. */
async function boot(spec: MachineSpec, hostname: string): Promise<void> {
  await machines.start(spec)
  const identity = { machine: spec.id, hostname }
  await eventually(`${hostname} knows its name`, () =>
    machines.guests.setIdentity(machines.refOf(spec), identity).then(
      () => true,
      () => false,
    ),
  )
}

function run(spec: MachineSpec, script: string): Promise<string> {
  return machines.run(spec, script)
}
