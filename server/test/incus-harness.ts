import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import assert from 'node:assert/strict'
import { leaveOutDesktop, startTestEngine } from '../../e2e/harness/engine.ts'
import { runInGuest, runWhenBooted } from '../../e2e/guest/exec.ts'
import { createIncusDriver } from '../src/drivers/incus/driver.ts'
import { captureNameOf, nameOf } from '../src/drivers/incus/instance.ts'
import type { MachineRef } from '../src/drivers/machine-driver.ts'
import type { DriverHarness } from './conformance/suite.ts'

/** A real engine for the conformance suites, with a project of its own. */
export async function makeIncusHarness(
  ways: { directAgents?: boolean } = {},
): Promise<DriverHarness> {
  const engine = await startTestEngine()
  const options = { ...engine.optionsOf('conformance'), ...ways }
  const driver = createIncusDriver(options)
  const other = createIncusDriver(options)
  const { client } = engine

  const placeOf = (ref: MachineRef) => ({ project: options.project, instance: nameOf(ref) })

  async function run(ref: MachineRef, script: string): Promise<string> {
    const result = await runWhenBooted(client, placeOf(ref), script)
    assert.equal(result.code, 0, `${script}: ${JSON.stringify(result)}`)
    return result.stdout
  }

  async function shutDown(ref: MachineRef, verb: 'poweroff' | 'reboot'): Promise<void> {
    await run(ref, 'true')
    // The shutdown may cut the call off.
    await runInGuest(client, placeOf(ref), ['systemctl', '--no-block', verb]).catch(() => {})
  }

  async function freeze(ref: MachineRef): Promise<void> {
    const path = `/1.0/instances/${nameOf(ref)}/state`
    const query = { project: options.project }
    await client.change('PUT', path, { query, body: { action: 'freeze' } })
  }

  await driver.prepare()
  leaveOutDesktop(engine)
  return {
    driver,
    other,
    imageId: engine.imageId,
    imageFiles: engine.imageFiles,
    makeSpec: engine.makeSpec,
    run,
    powerOff: (ref) => shutDown(ref, 'poweroff'),
    reboot: (ref) => shutDown(ref, 'reboot'),
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
      // The engine sets this once the disk is made.
      const config = { 'volatile.apply_template': '' }
      const path = `/1.0/instances/${captureNameOf(id)}`
      await client.change('PATCH', path, { query: { project: options.project }, body: { config } })
      await freeze(ref)
    },
    keepWriting: async (ref) => void (await run(ref, writer)),
    startAgent: async (ref) => void (await run(ref, echoAgent)),
    async talk(_ref, stream) {
      const sent = randomBytes(20_000)
      stream.write(sent)
      assert.ok(sent.equals(await read(stream, sent.length)))
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
    let received = 0
    const onData = (chunk: Buffer) => {
      chunks.push(chunk)
      received += chunk.length
      if (received < length) return
      stream.off('data', onData).off('close', onClose)
      resolve(Buffer.concat(chunks))
    }
    const onClose = () => reject(new Error(`the stream ended after ${received} bytes`))
    // A machine that goes down may have ended the stream before anybody reads from it.
    if (stream.closed) return onClose()
    stream.on('data', onData).on('close', onClose)
  })
}

const writer = `mkdir /home/writing 2>/dev/null || exit 0
setsid sh -c 'number=0; while :; do number=$((number + 1))
echo $number >> /home/first; echo $number >> /home/second; done' </dev/null >/dev/null 2>&1 &`

/** Stands in for the agent by echoing its input. Once it runs, starting it again does nothing. */
const echoAgent = `mkdir -p /run/computer; cd /run/computer; mkdir echo 2>/dev/null || exit 0
setsid socat UNIX-LISTEN:agent.sock,fork EXEC:cat </dev/null >/dev/null 2>&1 &`
