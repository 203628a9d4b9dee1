import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { killNameServers } from '../src/host/engine-dnsmasq.ts'

test('name servers of a dead engine are killed, those of another engine are not', async (t) => {
  const [dead, other] = [await startNameServer(t), await startNameServer(t)]
  const ended = once(dead.server, 'exit')
  await killNameServers(dead.dataDir)
  assert.deepEqual(await ended, [null, 'SIGKILL'])
  assert.equal(other.server.exitCode ?? other.server.signalCode, null)
  await killNameServers(dead.dataDir)
})

/** As the engine starts one, without its ports. */
async function startNameServer(t: TestContext) {
  const dataDir = await mkdtemp(join(tmpdir(), 'computer-test-'))
  const folder = join(dataDir, 'engine', 'networks', 'test')
  await mkdir(folder, { recursive: true })
  const args = ['--keep-in-foreground', '--port=0', '--conf-file=/dev/null', '--pid-file=']
  const server = spawn('/usr/sbin/dnsmasq', [
    ...args,
    `--addn-hosts=${folder}/dnsmasq.hosts`,
    '--log-facility=-',
  ])
  t.after(async () => {
    server.kill('SIGKILL')
    await rm(dataDir, { recursive: true })
  })
  await once(server.stderr, 'data')
  return { dataDir, server }
}
