import assert from 'node:assert/strict'
import { createIncusDriver } from '../../server/src/drivers/incus/driver.ts'
import { nameOf } from '../../server/src/drivers/incus/instance.ts'
import type { MachineDriver, MachineSpec } from '../../server/src/drivers/machine-driver.ts'
import { runInGuest, runWhenBooted } from '../guest/exec.ts'
import { leaveOutDesktop, startTestEngine, type TestEngine } from '../harness/engine.ts'
import { eventually } from '../harness/polling.ts'

/** An engine with two machines. Tests run programs as root of the attacker and watch the victim. */
export type Attacked = AsyncDisposable & {
  readonly engine: TestEngine
  readonly driver: MachineDriver
  readonly attacker: MachineSpec
  readonly victim: MachineSpec
  /** The bridge of both, and its address. */
  readonly network: string
  readonly gateway: string
  /** Runs a shell script as root of a booted machine. Resolves to its output, without the last newline. */
  shell(machine: MachineSpec, script: string): Promise<string>
  /** Runs a Python script as root. */
  python(
    machine: MachineSpec,
    script: string,
    ...args: readonly (string | number)[]
  ): Promise<string>
  /** Lets the guest reboot itself, and waits until it has its address again. */
  reboot(machine: MachineSpec): Promise<void>
}

const hasAddress = 'until ip -4 route show default | grep -q via; do sleep 0.1; done'
const bootId = 'cat /proc/sys/kernel/random/boot_id'

export async function startAttacked(project: string): Promise<Attacked> {
  const engine = await startTestEngine()
  const options = engine.optionsOf(project)
  const driver = createIncusDriver(options)
  const { client } = engine
  const placeOf = (machine: MachineSpec) => ({ project, instance: nameOf(machine) })
  const end = async () => {
    await driver[Symbol.asyncDispose]()
    await engine[Symbol.asyncDispose]()
  }
  const shell: Attacked['shell'] = async (machine, script) => {
    const { code, stdout, stderr } = await runWhenBooted(client, placeOf(machine), script)
    assert.equal(code, 0, `${script}: ${stdout}${stderr}`)
    return stdout.trimEnd()
  }
  try {
    await driver.prepare()
    leaveOutDesktop(engine)
    await driver.addImage(engine.imageId, engine.imageFiles)
    const attacker = { ...engine.makeSpec(), memoryMb: 2048 }
    const victim = engine.makeSpec()
    for (const machine of [attacker, victim]) {
      await driver.create(machine)
      await driver.start(machine)
    }
    for (const machine of [attacker, victim]) await shell(machine, hasAddress)
    const path = `/1.0/networks/${options.network}`
    const { config } = await client.get<{ config: Record<string, string> }>(path)
    return {
      engine,
      driver,
      attacker,
      victim,
      network: options.network,
      gateway: config['ipv4.address']!.split('/')[0]!,
      shell,
      async python(machine, script, ...args) {
        const command = ['python3', '-c', script, ...args.map(String)]
        const { code, stdout, stderr } = await runInGuest(client, placeOf(machine), command)
        assert.equal(code, 0, stderr)
        return stdout.trimEnd()
      },
      async reboot(machine) {
        const before = await shell(machine, bootId)
        await shell(machine, 'systemctl --no-block reboot').catch(() => {})
        const hasRebooted = async () => (await shell(machine, bootId)) !== before
        await eventually('the guest has rebooted', hasRebooted)
        await shell(machine, hasAddress)
      },
      [Symbol.asyncDispose]: end,
    }
  } catch (error) {
    await end()
    throw error
  }
}
