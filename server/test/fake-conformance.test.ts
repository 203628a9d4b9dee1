import type { Duplex } from 'node:stream'
import { createFakeEngine } from './fake-engine/engine.ts'
import { GuestChannel } from '../src/guest/channel.ts'
import { describeMachineDriver } from './conformance/machine-driver.ts'
import { describeTransfers } from './conformance/transfers.ts'
import type { DriverHarness } from './conformance/suite.ts'
import { machineSpec, testImageId } from './fake-machine.ts'

describeMachineDriver('the fake engine', makeHarness)
describeTransfers('the fake engine', makeHarness)

async function makeHarness(): Promise<DriverHarness> {
  const engine = createFakeEngine()
  const { controls } = engine
  const driver = engine.driver()
  const channels = new WeakMap<Duplex, GuestChannel>()
  const writers = new Set<NodeJS.Timeout>()
  let machines = 0
  return {
    driver,
    other: engine.driver(),
    imageId: testImageId,
    imageFiles: { metadataPath: '/nonexistent', rootfsPath: '/nonexistent' },
    makeSpec: () => machineSpec((machines += 1)),
    powerOff: async (ref) => controls.powerOff(ref),
    reboot: async (ref) => controls.reboot(ref),
    die: async (ref) => controls.die(ref),
    run: async (ref, script) => controls.guest(ref).disk.run(script),
    async keepWriting(ref) {
      const { disk } = controls.guest(ref)
      let number = 0
      const writing = setInterval(() => {
        if (!disk.exists) return clearInterval(writing)
        number += 1
        for (const name of ['first', 'second']) {
          disk.write(`/home/${name}`, `${number}\n`, { append: true })
        }
      }, 1)
      writers.add(writing)
    },
    // It is part of the fake machine.
    startAgent: async () => {},
    async talk(_ref, stream) {
      const channel = channels.get(stream) ?? (await GuestChannel.open(stream, 10_000))
      channels.set(stream, channel)
      const answer = await channel.send({ method: 'GET', path: '/health', timeoutMs: 10_000 })
      answer.stream.resume()
      if (answer.status !== 200) throw new Error(`the agent answered ${answer.status}`)
    },
    freeze: async (ref) => controls.freeze(ref),
    breakCapture: async (ref, id) => controls.breakCapture(ref, id),
    async [Symbol.asyncDispose]() {
      for (const writing of writers) clearInterval(writing)
      await driver[Symbol.asyncDispose]()
      await engine[Symbol.asyncDispose]()
    },
  }
}
