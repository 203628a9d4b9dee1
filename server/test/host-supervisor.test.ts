import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { endRecorded, identifyProcess, recordProcess } from '../src/host/process-record.ts'
import type { Program } from '../src/host/supervised-process.ts'
import { Supervisor } from '../src/host/supervisor.ts'

const quick = { firstMs: 1, mostMs: 5, recoveredMs: 60_000 }
const never = new AbortController().signal

test('programs start in order, stop in the reverse order and leave no record', async (t) => {
  const stage = await openStage(t)
  await stage.supervisor.start([stage.program('first')], never)
  await stage.supervisor.start([stage.program('second'), stage.program('third')], never)
  await stage.supervisor.stop()
  const events = await stage.events()
  assert.equal(events[0], 'first up')
  assert.deepEqual(events.slice(1, 3).sort(), ['second up', 'third up'])
  assert.deepEqual(events.slice(3), ['third down', 'second down', 'first down'])
  assert.equal(existsSync(join(stage.runDir, 'first.pid')), false)
})

test('a program that dies is restarted and reported', async (t) => {
  const stage = await openStage(t)
  await stage.supervisor.start([stage.program('api')], never)
  process.kill(await stage.pid('api'), 'SIGKILL')
  await until(async () => (await stage.events()).length === 2)
  assert.deepEqual(await stage.events(), ['api up', 'api up'])
  assert.match(stage.said.join('\n'), /api was killed by SIGKILL after .* s; restarting it in/)
  await stage.supervisor.stop()
})

test('a program that never comes up fails the start with the end of its log', async (t) => {
  const stage = await openStage(t)
  const broken = stage.program('worker', 'console.log("no such table"); process.exit(3)')
  await assert.rejects(
    stage.supervisor.start([{ ...broken, findDelay: async () => 'it is starting' }], never),
    /worker keeps failing \(.*worker.log\):\n {4}no such table/,
  )
  await stage.supervisor.stop()
  assert.match(stage.said.join('\n'), /worker exited with code 3/)
})

test('a missing program is reported', async (t) => {
  const stage = await openStage(t)
  const program: Program = {
    ...stage.program('engine'),
    command: () => ({ argv: ['/nowhere/engine'] }),
  }
  await assert.rejects(stage.supervisor.start([program], never), /engine keeps failing/)
  await stage.supervisor.stop()
  assert.match(stage.said.join('\n'), /engine could not start: .*ENOENT/)
})

test('a program that ignores SIGTERM is killed', async (t) => {
  const stage = await openStage(t)
  await stage.supervisor.start([stage.program('api', 'process.on("SIGTERM", () => {})')], never)
  const stopping = stage.supervisor.stop()
  stage.supervisor.kill()
  await stopping
  assert.deepEqual(await stage.events(), ['api up'])
})

test('a stop during a start leaves nothing running', async (t) => {
  const stage = await openStage(t)
  const stop = new AbortController()
  const slow = { ...stage.program('api'), findDelay: async () => 'it takes its time' }
  const starting = stage.supervisor.start([slow], stop.signal)
  await until(async () => (await stage.events()).length === 1)
  stop.abort()
  await assert.rejects(starting)
  await stage.supervisor.stop()
  assert.deepEqual(await stage.events(), ['api up', 'api down'])
})

test('a record ends its own process and no other with the same id', async (t) => {
  const stage = await openStage(t)
  const sleeper = spawn('sleep', ['600'], { stdio: 'ignore' })
  t.after(() => sleeper.kill('SIGKILL'))
  const end = () => endRecorded(stage.runDir, 'api', { signal: 'SIGTERM', graceMs: 5000 })

  await recordProcess(stage.runDir, 'api', sleeper.pid!)
  const path = join(stage.runDir, 'api.pid')
  const record = await readFile(path, 'utf8')
  await writeFile(path, record.replace(/\d+"}/, '1"}'))
  assert.equal(await end(), false)
  assert.ok(identifyProcess(sleeper.pid!))

  await writeFile(path, record)
  assert.equal(await end(), true)
  assert.equal(identifyProcess(sleeper.pid!), null)
})

test('a full log is rotated, also one that the program opens by itself', async (t) => {
  const stage = await openStage(t, { maxLogBytes: 10_000 })
  const [log, ownLog] = [join(stage.logDir, 'api.log'), join(stage.logDir, 'own.log')]
  for (const path of [log, ownLog]) await writeFile(path, 'x'.repeat(11_000))
  await stage.supervisor.start([{ ...stage.program('api'), ownLogs: [ownLog] }], never)
  await stage.supervisor.stop()
  for (const path of [log, ownLog]) {
    assert.ok((await stat(path)).size < 1000)
    assert.ok((await stat(`${path}.1`)).size > 10_000)
  }
})

test('a program that keeps its own log has the rest of its output beside it', async (t) => {
  const stage = await openStage(t)
  const log = join(stage.logDir, 'api.log')
  const body = `
    require('fs').appendFileSync(${JSON.stringify(log)}, '{"msg":"up"}\\n')
    console.error('last words'); process.exit(3)`
  const broken = { ...stage.program('api', body), log: 'own' as const }
  await assert.rejects(
    stage.supervisor.start([{ ...broken, findDelay: async () => 'it is starting' }], never),
    /api keeps failing \(.*api\.log\):\n( {4}\{"msg":"up"\}\n)+( {4}last words\n?)+$/,
  )
  await stage.supervisor.stop()
  assert.match(await readFile(join(stage.logDir, 'api.err.log'), 'utf8'), /^(last words\n)+$/)
})

test('the log of a program can be the output of its supervisor', async (t) => {
  const stage = await openStage(t)
  const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)
  const folders = JSON.stringify({ runDir: stage.runDir, logDir: stage.logDir })
  const script = `
    import { existsSync } from 'node:fs'
    const { Supervisor } = await import(${module('../src/host/supervisor.ts')})
    const supervisor = new Supervisor(${folders}, { say: () => {}, wait: () => {} })
    const up = ${JSON.stringify(join(stage.runDir, 'up'))}
    const argv = ['sh', '-c', \`echo '{"msg":"up"}'; touch \${up}; exec sleep 600\`]
    const findDelay = async () => (existsSync(up) ? null : 'it is starting')
    const program = { name: 'api', log: 'passed', command: () => ({ argv }), findDelay }
    await supervisor.start([program], AbortSignal.timeout(60_000))
    await supervisor.stop()`
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '--eval',
    script,
  ])
  assert.equal(stdout, '{"msg":"up"}\n')
  assert.equal(existsSync(join(stage.logDir, 'api.log')), false)
})

/** A supervisor for small scripts, each of which writes to a file when it starts and when it stops. */
async function openStage(t: TestContext, limits: { readonly maxLogBytes?: number } = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'computer-programs-'))
  const [runDir, logDir, eventsPath] = [join(dir, 'run'), join(dir, 'logs'), join(dir, 'events')]
  const said: string[] = []
  const terminal = { say: (line: string) => said.push(line), wait: () => {}, clear: () => {} }
  const supervisor = new Supervisor({ runDir, logDir, ...limits }, terminal, quick)
  t.after(async () => {
    supervisor.kill()
    await supervisor.stop()
    await rm(dir, { recursive: true, force: true })
  })
  const events = async () =>
    (await readFile(eventsPath, 'utf8').catch(() => '')).split('\n').filter(Boolean)
  return {
    runDir,
    logDir,
    said,
    supervisor,
    events,
    async pid(name: string) {
      return (JSON.parse(await readFile(join(runDir, `${name}.pid`), 'utf8')) as { pid: number })
        .pid
    },
    program(name: string, body = ''): Program {
      const record = (what: string) =>
        `require('fs').appendFileSync(${JSON.stringify(eventsPath)}, '${name} ${what}\\n')`
      const script = `
        process.on('SIGTERM', () => { ${body ? '' : `${record('down')}; process.exit(0)`} })
        setInterval(() => {}, 1000)
        ${body}
        ${record('up')}`
      return {
        name,
        command: () => ({ argv: [process.execPath, '-e', script] }),
        findDelay: async () =>
          (await events()).includes(`${name} up`) ? null : 'it is not up yet',
      }
    },
  }
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1000; tries += 1) {
    if (await holds()) return
    await delay(20)
  }
  assert.fail('the condition did not become true in time')
}
