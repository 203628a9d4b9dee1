import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { readConfig } from '../src/config.ts'
import { serverPrograms } from '../src/host/programs.ts'

/* How the programs of a server are run. */

const run = promisify(execFile)

/** Frees large buffers between small ones that it keeps, and prints what its heap then has, in KiB. */
const script = `
  const allocate = (bytes) => Buffer.allocUnsafeSlow(bytes).fill(1)
  allocate(31 << 20) && gc()
  setTimeout(() => {
    const small = []
    let large = []
    for (let i = 0; i < 30; i++) {
      large.push(allocate(1 << 20))
      small.push(allocate(100))
    }
    large = null
    gc()
    setTimeout(() => {
      const maps = require('node:fs').readFileSync('/proc/self/smaps', 'utf8')
      const heap = maps.slice(maps.indexOf('[heap]'))
      console.log(/^Rss: +(\\d+) kB$/m.exec(heap)[1], small.length)
    }, 200)
  }, 200)`

test('a server returns the memory of its large buffers while smaller ones stay', async () => {
  const programs = serverPrograms(readConfig({}), 'postgres://127.0.0.1/none')
  const commands = programs.map(({ name, command }) => ({ name, env: command().env }))
  assert.deepEqual(
    commands.map(({ name }) => name),
    ['worker', 'api', 'gateway'],
  )
  const heapOf = async (environment: NodeJS.ProcessEnv) => {
    const { stdout } = await run(process.execPath, ['--expose-gc', '-e', script], {
      env: environment,
    })
    return Number.parseInt(stdout, 10) / 1024
  }
  const { MALLOC_MMAP_THRESHOLD_: _, ...unbounded } = commands[0]!.env!
  const largest = await heapOf(unbounded)
  assert.ok(largest > 20, `what this test shows would not be seen: ${largest} MiB`)
  for (const { name, env } of commands) {
    const kept = await heapOf(env!)
    assert.ok(kept < 10, `${kept} MiB of 30 MiB that were freed stay with the ${name}`)
  }
})
