import assert from 'node:assert/strict'
import { chmod, stat } from 'node:fs/promises'
import { after, before, describe, test, type TestContext } from 'node:test'
import { poolFolder, findSysfsFolder } from '../../server/src/drivers/incus/disks/host-pool.ts'
import { nameOf } from '../../server/src/drivers/incus/instance.ts'
import type { MachineSpec } from '../../server/src/drivers/machine-driver.ts'
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

describe('root of a machine attacks the kernel', () => {
  let attacked: Attacked

  before(async () => (attacked = await startAttacked(project)))
  after(() => attacked?.[Symbol.asyncDispose]())

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
