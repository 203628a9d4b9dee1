import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { readConfig } from '../../server/src/config.ts'
import { poolFolder, findSysfsFolder } from '../../server/src/drivers/incus/disks/host-pool.ts'
import { nameOf } from '../../server/src/drivers/incus/instance.ts'
import type { MachineSpec } from '../../server/src/drivers/machine-driver.ts'
import { diagnose } from '../../server/src/host/doctor/diagnose.ts'
import { leastKernelLimits, limitPath, mayLiftLimits } from '../../server/src/host/kernel-limits.ts'
import * as scripts from './kernel-scripts.ts'
import { startAttacked, type Attacked } from './machines.ts'

const project = 'kernel'

/** The number of each call, natively and for 32-bit programs, and its error. */
const denied: Readonly<Record<string, readonly [number, number, string]>> = {
  io_uring_setup: [425, 425, 'ENOSYS'],
  io_uring_enter: [426, 426, 'ENOSYS'],
  io_uring_register: [427, 427, 'ENOSYS'],
  add_key: [248, 286, 'ENOSYS'],
  request_key: [249, 287, 'ENOSYS'],
  keyctl: [250, 288, 'ENOSYS'],
  userfaultfd: [323, 374, 'EPERM'],
  bpf: [321, 357, 'EPERM'],
  perf_event_open: [298, 336, 'EPERM'],
}

/** More of each than a host has by default, and the name that the doctor gives its limit. */
const shared = [
  { kind: 'name spaces', count: 100_000, limit: 'user.max_uts_namespaces' },
  { kind: 'inotify instances', count: 1_100_000, limit: 'fs.inotify.max_user_instances' },
  { kind: 'fanotify groups', count: 200, limit: 'fs.fanotify.max_user_groups' },
  { kind: 'asynchronous I/O contexts', count: 5, limit: 'fs.aio-max-nr' },
  { kind: 'terminals', count: 4_000, limit: 'kernel.pty.max' },
  { kind: 'message queues', count: 20, limit: 'message queues' },
] as const

/** Where the host lets nobody raise a limit, an attack would disturb everything else on it. */
async function isLifted(limit: string): Promise<boolean> {
  const least = leastKernelLimits()[limit]
  if (least !== undefined) return Number(await readFile(limitPath(limit), 'utf8')) >= least
  return mayLiftLimits(await readFile('/proc/self/status', 'utf8'))
}

describe('root of a machine attacks the kernel', () => {
  let attacked: Attacked

  before(async () => (attacked = await startAttacked(project)))
  after(() => attacked?.[Symbol.asyncDispose]())

  /** Holds as many as possible of a kind, in the background. Resolves to their number. */
  async function hold(machine: MachineSpec, kind: string, count: number): Promise<number> {
    const command = `python3 -c ${quote(scripts.hold)} ${quote(kind)} ${count}`
    const script = `rm -f /run/held; setsid ${command} </dev/null >/run/held 2>/run/holder.log & echo $! >/run/holder
until [ -s /run/held ] || ! kill -0 $!; do sleep 0.05; done; cat /run/held`
    return Number(await attacked.shell(machine, script))
  }

  async function release(machine: MachineSpec): Promise<void> {
    await attacked.shell(machine, 'kill -9 -- -$(cat /run/holder); rm -f /dev/mqueue/*')
  }

  async function tryDeniedCalls(machine: MachineSpec): Promise<void> {
    const numbers = Object.values(denied).map(([native, other]) => [native, other])
    const output = await attacked.python(machine, scripts.makeCalls, JSON.stringify(numbers))
    const found = JSON.parse(output) as [string, string][]
    const errors = Object.keys(denied).map((name, index) => [name, ...found[index]!])
    assert.deepEqual(
      errors,
      Object.entries(denied).map(([name, [, , error]]) => [name, error, error]),
    )
  }

  test('rarely used parts of the kernel are closed', async () => {
    await tryDeniedCalls(attacked.attacker)
  })

  test('only common families of sockets can be opened', async () => {
    const output = await attacked.python(attacked.attacker, scripts.openFamilies)
    const [unix, inet, inet6, netlink, packet] = [1, 2, 10, 16, 17]
    assert.deepEqual(JSON.parse(output), [unix, inet, inet6, netlink, packet])
  })

  test('a machine that an earlier version made is closed at its next start', async () => {
    const { engine, driver, victim } = attacked
    const path = `/1.0/instances/${nameOf(victim)}`
    const config = { 'security.syscalls.deny': '' }
    await engine.client.change('PATCH', path, { query: { project }, body: { config } })
    await driver.prepare()
    await driver.stop(victim, { graceMs: 0 })
    await driver.start(victim)
    await attacked.shell(victim, 'true')
    await tryDeniedCalls(victim)
  })

  test('how full the disks of others are cannot be read', async () => {
    const { attacker, engine, shell } = attacked
    const folder = await findSysfsFolder(poolFolder(engine.engineDir, 'default'))
    await shell(attacker, `test -d ${folder} && ! ls ${folder}/qgroups`)
    const again = folder.replace('/sys', '/mnt')
    await shell(attacker, `mount -t sysfs none /mnt && test -d ${again} && ! ls ${again}/qgroups`)
  })

  test('what a machine writes to its console takes little of the disk of the host', async () => {
    const { attacker, engine, shell } = attacked
    await shell(attacker, 'head -c 100M /dev/zero | tr "\\0" x > /dev/console')
    const logs = join(engine.engineDir, 'logs', `${project}_${nameOf(attacker)}`)
    const { stdout } = await promisify(execFile)('du', ['--summarize', '--bytes', logs])
    const bytes = Number.parseInt(stdout, 10)
    assert.ok(bytes > 0 && bytes < 2 * 1024 * 1024, String(bytes))
  })

  for (const { kind, count, limit } of shared) {
    test(`one machine cannot use up the ${kind} of all, or the doctor warns of it`, async (t) => {
      const { attacker, victim, driver } = attacked
      if (!(await isLifted(limit))) {
        const findings = await diagnose(readConfig(process.env))
        const { message } = findings.find(({ name }) => name === 'kernel limits')!
        assert.ok(message.includes(limit), message)
        return
      }
      t.after(() => release(attacker))
      assert.equal(await hold(attacker, kind, count), count)
      await driver.stop(victim, { graceMs: 0 })
      await driver.start(victim)
      assert.equal(await hold(victim, kind, 1), 1)
      await promisify(execFile)('unshare', ['--uts', 'true'])
    })
  }

  test('processes that cannot be killed keep no machine from being stopped and deleted', async (t) => {
    const { attacker, driver, shell } = attacked
    await allowFuse(t)
    const script = quote(scripts.serveItself)
    const serve = `setsid python3 -c ${script} </dev/null >/run/served 2>&1 & until grep -q waits /run/served; do sleep 0.1; done`
    t.diagnostic(await shell(attacker, scripts.freezeOne))
    await shell(attacker, serve)
    await driver.stop(attacker, { graceMs: 0 })
    assert.equal(await driver.inspect(attacker), 'stopped')

    await driver.start(attacker)
    await shell(attacker, scripts.freezeOne)
    await shell(attacker, serve)
    await driver.destroy(attacker)
    assert.equal(await driver.inspect(attacker), 'absent')
  })
})

/** Guests may use FUSE, as udev sets it up on an ordinary host. */
async function allowFuse(t: TestContext): Promise<void> {
  const { mode } = await stat('/dev/fuse')
  await chmod('/dev/fuse', 0o666)
  t.after(() => chmod('/dev/fuse', mode & 0o777))
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
