import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { startTestEngine } from '../../e2e/harness/engine.ts'
import { runInGuest } from '../../e2e/guest/exec.ts'
import { createIncusDriver } from '../src/drivers/incus/driver.ts'
import { captureNameOf, nameOf } from '../src/drivers/incus/instance.ts'
import type { MachineRef } from '../src/drivers/machine-driver.ts'
import { describeMachineDriver } from './conformance/machine-driver.ts'
import type { DriverHarness } from './conformance/suite.ts'

describeMachineDriver('the Incus driver', makeHarness)

async function makeHarness(): Promise<DriverHarness> {
  const engine = await startTestEngine()
  const options = engine.optionsOf('conformance')
  const driver = createIncusDriver(options)
  const other = createIncusDriver(options)
  const { client } = engine

  /** A guest that only begins to boot, or to boot again, refuses for a while. */
  async function run(ref: MachineRef, script: string): Promise<string> {
    const place = { project: options.project, instance: nameOf(ref) }
    const deadline = Date.now() + 60_000
    const whenBooted = `test -S /run/systemd/private || exit 75; ${script}`
    for (;;) {
      const result = await runInGuest(client, place, ['sh', '-c', whenBooted]).catch(
        () => undefined,
      )
      if (result && result.code !== 75) return result.stdout
      assert.ok(Date.now() < deadline, `${ref.id} did not boot`)
      await sleep(50)
    }
  }

  async function freeze(ref: MachineRef): Promise<void> {
    const path = `/1.0/instances/${nameOf(ref)}/state`
    const query = { project: options.project }
    await client.change('PUT', path, { query, body: { action: 'freeze' } })
  }

  await driver.prepare()
  return {
    driver,
    other,
    imageId: engine.imageId,
    imageFiles: engine.imageFiles,
    makeSpec: engine.makeSpec,
    run,
    powerOff: async (ref) => void (await run(ref, 'systemctl --no-block poweroff')),
    reboot: async (ref) => void (await run(ref, 'systemctl --no-block reboot')),
    async die(ref) {
      const path = `/1.0/instances/${nameOf(ref)}/state`
      const { pid } = await client.get<{ pid: number }>(path, {
        query: { project: options.project },
      })
      assert.ok(pid > 1)
      process.kill(pid, 'SIGKILL')
    },
    freeze,
    async breakCapture(ref, id) {
      await driver.capture(ref, id)
      // The engine notes this when it has made the disk.
      const config = { 'volatile.apply_template': '' }
      const path = `/1.0/instances/${captureNameOf(id)}`
      await client.change('PATCH', path, { query: { project: options.project }, body: { config } })
      await freeze(ref)
    },
    keepWriting: async (ref) => void (await run(ref, writer)),
    async talk(ref, stream) {
      await run(ref, echoAgent)
      const said = randomBytes(20_000)
      stream.write(said)
      assert.ok(said.equals(await read(stream, said.length)))
    },
    async [Symbol.asyncDispose]() {
      await driver[Symbol.asyncDispose]()
      await other[Symbol.asyncDispose]()
      await engine[Symbol.asyncDispose]()
    },
  }
}

function read(stream: Duplex, length: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let heard = 0
    const onData = (chunk: Buffer) => {
      chunks.push(chunk)
      heard += chunk.length
      if (heard < length) return
      stream.off('data', onData).off('close', onClose)
      resolve(Buffer.concat(chunks))
    }
    const onClose = () => reject(new Error(`the stream ended after ${heard} bytes`))
    stream.on('data', onData).on('close', onClose)
  })
}

const writer = `setsid sh -c 'number=0; while :; do number=$((number + 1))
echo $number >> /home/first; echo $number >> /home/second; done' </dev/null >/dev/null 2>&1 &`

/** Stands for the agent: answers what it is told. Of several, the first keeps the socket. */
const echoAgent = `mkdir -p /run/computer; cd /run/computer; mkdir echo 2>/dev/null || exit 0
setsid socat UNIX-LISTEN:agent.sock,fork EXEC:cat </dev/null >/dev/null 2>&1 &`
