import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freePort, freePorts } from '../../e2e/harness/ports.ts'
import { startTestServer } from './harness.ts'
import { keyringPath } from './process-files.ts'
import { scrape } from './scrape.ts'
import { eventually } from './settled.ts'

/* The services as processes of their own, as the supervisor starts them. There is no engine, which they wait for. */

const server = await startTestServer({ after }, { worker: false })
const services = ['api', 'gateway'] as const

for (const [index, name] of services.entries()) {
  test(`the ${name} serves its metrics on its port, and keeps its log in a file`, async (t) => {
    const { process: service, dataDir, metricsPort } = await start(t, name, {})
    const now = await eventually(() =>
      scrape(new URL(`http://127.0.0.1:${metricsPort + index}/metrics`)).catch(() => undefined),
    )
    assert.ok(now.has('computer_database_connections'))
    for (const metric of ['computer_machines', 'computer_worker_duties'])
      assert.ok(!now.has(metric), `the worker alone has ${metric}`)
    const log = join(dataDir, 'logs', `${name}.log`)
    await eventually(async () => (await lines(log)).some(({ msg }) => msg === 'up') || undefined)
    const printed = text(service.stdout)
    service.kill('SIGTERM')
    await once(service, 'exit')
    assert.equal((await lines(log)).at(-1)!.msg, 'down')
    assert.equal(await printed, '')
  })
}

test('a service prints its log where the operator wants that, and serves no metrics without a port', async (t) => {
  const env = { COMPUTER_LOGS: 'stdout', COMPUTER_METRICS_PORT: '0' }
  const { process: service, dataDir } = await start(t, 'api', env)
  let printed = ''
  service.stdout.setEncoding('utf8').on('data', (part: string) => (printed += part))
  await eventually(async () => printed.includes('"msg":"up"') || undefined)
  service.kill('SIGTERM')
  await once(service, 'close')
  for (const line of printed.trim().split('\n')) assert.equal(JSON.parse(line).name, 'api')
  assert.match(printed, /"msg":"down"\}\n$/)
  assert.equal(existsSync(join(dataDir, 'logs')), false)
})

async function start(
  t: TestContext,
  name: (typeof services)[number],
  more: Readonly<Record<string, string>>,
) {
  const dataDir = await mkdtemp(join(tmpdir(), 'computer-service-'))
  const metricsPort = await freePorts(3)
  const main = fileURLToPath(new URL(`../src/main-${name}.ts`, import.meta.url))
  const child = spawn(process.execPath, [main], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: server.databaseUrl,
      COMPUTER_DATA: dataDir,
      COMPUTER_SECRETS_KEYRING: await keyringPath(),
      COMPUTER_API_PORT: String(await freePort()),
      COMPUTER_GATEWAY_PORT: String(await freePort()),
      COMPUTER_METRICS_PORT: String(metricsPort),
      ...more,
    },
  })
  t.after(async () => {
    child.kill('SIGKILL')
    await rm(dataDir, { recursive: true, force: true })
  })
  return { process: child, dataDir, metricsPort }
}

async function lines(path: string): Promise<{ msg: string }[]> {
  const content = await readFile(path, 'utf8').catch(() => '')
  return content
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { msg: string })
}
