import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { nameOf } from '../server/src/drivers/incus/instance.ts'
import type { MachineSpec } from '../server/src/drivers/machine-driver.ts'
import { startAgentMachines, type AgentMachines } from './harness/agent-machines.ts'
import { eventually } from './harness/polling.ts'
import { runInGuest } from './guest/exec.ts'

/*
 * The image's init: it starts the agent and the network's client and becomes systemd, whose units take the two
 * over. The tests share a machine, and each builds on those before it.
 */
const project = 'init'

let machines: AgentMachines
let machine: MachineSpec

before(async () => {
  machines = await startAgentMachines(project)
  machine = machines.engine.makeSpec()
  await machines.driver.create(machine)
})
after(async () => {
  await machines?.[Symbol.asyncDispose]()
})

test('the first command can ask systemd', async () => {
  await machines.start(machine)
  assert.equal(await run('systemctl --quiet is-active -- -.slice && echo yes'), 'yes\n')
})

test('systemd takes over the two programs that the init has started', async () => {
  await waitForUnits()
  const firstOfSystemd = await mainPid('systemd-journald')
  for (const [unit, program] of Object.entries(programs)) {
    const pid = await mainPid(unit)
    assert.equal(await run(`pgrep -f '${program}'`), `${pid}\n`, `${program} runs once`)
    assert.ok(pid < firstOfSystemd, `${unit} began before systemd`)
    await assertOwned(unit, pid)
  }
})

test('systemd restarts each of them when it ends', async () => {
  for (const [unit, program] of Object.entries(programs)) {
    const before = await mainPid(unit)
    await killInGuest(before)
    const now = await eventually(`${unit} runs again`, async () => {
      const pid = await mainPid(unit).catch(() => 0)
      return pid !== 0 && pid !== before ? pid : undefined
    })
    await eventually(
      'its program runs',
      async () => (await run(`pgrep -f '${program}'`)) === `${now}\n`,
    )
    await assertOwned(unit, now)
  }
  assert.equal(await run('systemctl --failed --no-legend'), '')
})

test('a reboot empties /tmp before the first command, and nothing that comes after', async () => {
  await run('mkdir -p /tmp/old/folder; echo kept > /root/kept; sync')
  await reboot()
  assert.equal(await run('ls -A /tmp; echo new > /tmp/new; cat /root/kept'), 'kept\n')
  await run('systemctl is-system-running --wait')
  assert.equal(await run('cat /tmp/new; ls -d /.old-tmp 2>/dev/null || true'), 'new\n')
  assert.match(
    await run('stat -c %a:%U /tmp; systemctl is-failed computer-old-tmp'),
    /^1777:root\n/,
  )
})

test('the /tmp of a full disk is emptied, too', async () => {
  await run('head -c 10G /dev/zero > /tmp/filling; sync; mkdir /full 2>/dev/null || true')
  await reboot()
  assert.equal(await run('ls -A /tmp; cat /root/kept'), 'kept\n')
  await run('systemctl is-system-running --wait')
  assert.equal(await run('touch /tmp/room && echo room'), 'room\n')
})

test('what is called as init later is systemd', async () => {
  assert.equal(await run('dpkg-divert --truename /sbin/init'), '/sbin/init.systemd\n')
  assert.equal(await run('init q && echo reloaded'), 'reloaded\n')
})

const programs = {
  'computer-agent': '^/opt/computer/bin/node .*/agent\\.mjs$',
  'computer-network': '^busybox udhcpc',
}

/** As root and by the agent, which may be starting. */
function run(script: string): Promise<string> {
  return eventually('the agent runs it', () => machines.run(machine, script).catch(() => undefined))
}

async function reboot(): Promise<void> {
  await machines.driver.stop(machine, { graceMs: 60_000 })
  await machines.start(machine)
}

async function mainPid(unit: string): Promise<number> {
  return Number(await run(`systemctl show ${unit} --property=MainPID --value`))
}

async function waitForUnits(): Promise<void> {
  for (const unit of Object.keys(programs)) {
    await eventually(`${unit} is active`, async () => {
      return (await run(`systemctl is-active ${unit}`)) === 'active\n'
    })
  }
}

/** In every hierarchy that systemd uses, so that its limits and its end reach the process. */
async function assertOwned(unit: string, pid: number): Promise<void> {
  const groups = await run(`cat /proc/${pid}/cgroup`)
  const controllers = groups.trim().split('\n')
  const used = controllers.filter((line) => /^(0::|\d+:(name=systemd|memory|pids)[:,])/.test(line))
  assert.ok(used.length > 0)
  for (const line of used) assert.ok(line.includes(`/${unit}.service`), line)
}

async function killInGuest(pid: number): Promise<void> {
  const target = { project, instance: nameOf(machine) }
  const { code, stderr } = await runInGuest(machines.engine.client, target, [
    'kill',
    '-KILL',
    String(pid),
  ])
  assert.equal(code, 0, stderr)
}
