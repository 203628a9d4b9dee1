import type { Duplex } from 'node:stream'
import { createFakeEngine } from './fake-engine/engine.ts'
import { GuestChannel } from '../src/guest/channel.ts'
import { createGuestClient } from '../src/guest/client.ts'
import { describeMachineDriver } from './conformance/machine-driver.ts'
import type { DriverHarness } from './conformance/suite.ts'
import { machineSpec, testImageId } from './fake-machine.ts'

describeMachineDriver('the fake engine', async (): Promise<DriverHarness> => {
  const { driver: makeDriver, controls } = createFakeEngine()
  const driver = makeDriver()
  const channels = new WeakMap<Duplex, GuestChannel>()
  const writers = new Set<NodeJS.Timeout>()
  let machines = 0
  return {
    driver,
    other: makeDriver(),
    imageId: testImageId,
    imageFiles: { metadataPath: '/nonexistent', rootfsPath: '/nonexistent' },
    makeSpec: () => machineSpec((machines += 1)),
    powerOff: async (ref) => controls.powerOff(ref),
    reboot: async (ref) => controls.reboot(ref),
    die: async (ref) => controls.die(ref),
    async run(ref, script) {
      await using guests = createGuestClient(driver)
      const command = ['sh', '-c', script]
      return (await guests.exec({ ...ref, run: 'any' }, { command, user: 'root' })).stdout
    },
    async keepWriting(ref) {
      const { disk } = controls.guest(ref)
      let number = 0
      const writing = setInterval(() => {
        number += 1
        for (const name of ['first', 'second']) {
          disk.write(`/home/${name}`, Buffer.from(`${number}\n`), { append: true })
        }
      }, 1)
      writers.add(writing)
    },
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
    },
  }
})
