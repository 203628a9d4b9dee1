import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, afterEach, before, test, type TestContext } from 'node:test'
import { buildClients, downloadsDir } from '../scripts/build-clients.ts'
import { findHostNode, nodesUnderTest } from '../server/test/nodes.ts'
import { eventually } from './harness/polling.ts'
import { openTerminal, readGuide } from './harness/guide.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/* Pastes the README and each guide whole into a shell, as a reader with the host's own Node would. */

let server: RealServer
let setUp: string

before(async () => {
  await buildClients(downloadsDir)
  server = await joinServer()
  // "The first block of First use", which the guides continue from.
  ;[setUp] = (await readGuide('README.md', { from: '## First use' })) as [string]
})
after(async () => {
  await server[Symbol.asyncDispose]()
})
// The guides give their machines the same names.
afterEach(async () => {
  for await (const { id } of server.computer.machines.list())
    await server.api.ok('DELETE', `/v1/machines/${id}`)
  await eventually('the machines are gone', async () => {
    const { data } = await server.api.ok('GET', '/v1/machines')
    return data.length === 0
  })
})

const nodes = await nodesUnderTest()

for (const { name, dir } of nodes) {
  test(`the README, on ${name}`, async (t) => {
    const { home, paste } = await terminal(t, dir)
    const guide = await readGuide('README.md')
    // A second time, too: its machines may be there already.
    const output = await paste([...guide, ...guide])
    assert.match(output, /"stdout":"Linux /)
    assert.match(output, /"content":"hello\\n"/)
    assert.match(output, /"state":"stopped"/)
    assert.match(output, /"state":"deleting"/)
    assert.match(output, /first is running[\s\S]*Linux first/)
    assert.match(output, /Linux second [\s\S]*\n\d{4,}\n$/)
    for (const file of ['screen.png', 'first.png']) await assertPng(join(home, file))
    const { screenshot } = JSON.parse(await readFile(join(home, 'typed.json'), 'utf8'))
    assert.ok(screenshot.image.length > 1000)
  })

  test(`the guide to the command line, on ${name}`, async (t) => {
    const { home, paste } = await terminal(t, dir)
    const output = await paste(await readGuide('docs/cli.md'))
    assert.match(output, /Installed computer /)
    assert.match(output, /Signed in to /)
    assert.match(output, /first is stopped\nfirst is running\nLinux first .*\nout\na\nb\n/)
    assert.match(output, /from a pipe/)
    assert.match(output, /machine\.restore_completed/)
    assert.equal(await readFile(join(home, 'back.txt'), 'utf8'), 'a note\n')
    await assertPng(join(home, 'screen.png'))
  })

  test(`the guide to the SDK, on ${name}`, async (t) => {
    const { paste } = await terminal(t, dir)
    assert.match(await paste(await readGuide('docs/sdk.md')), /Linux first /)
  })
}

test('the guide to desktops', async (t) => {
  const { home, paste } = await terminal(t)
  const output = await paste([setUp, ...(await readGuide('docs/desktop.md'))])
  assert.match(output, /"up":true/)
  assert.match(output, /"fence":\d/)
  assert.match(output, /"selection":"primary"/)
  for (const file of ['screen.webp', 'small.jpg'])
    assert.ok((await stat(join(home, file))).size > 1000)
})

test('the guide to snapshots, forks and templates', async (t) => {
  const { paste } = await terminal(t)
  const output = await paste([setUp, ...(await readGuide('docs/snapshots-forks-templates.md'))])
  assert.match(output, /"content":"the good plan"/)
  assert.equal(output.match(/"stdout":"the good plan"/g)?.length, 2)
})

test('the guide to files, commands, terminals and processes', async (t) => {
  const { home, paste } = await terminal(t)
  const output = await paste([setUp, ...(await readGuide('docs/files-and-terminals.md'))])
  assert.match(output, /"content":"Grüße\\n"/)
  assert.match(output, /"size":1000000/)
  assert.match(output, /notes\/b\.txt/)
  assert.match(output, /"stdout":"\/home\/agent\\n".*"exit_code":3/)
  assert.match(output, /"cols":120/)
  assert.match(output, /got yes/)
  assert.match(output, /"exit_code":130/)
  assert.equal((await readFile(join(home, 'part.bin'))).toString(), 'Grü')
})

test('the guide to previews', async (t) => {
  const { paste } = await terminal(t)
  const output = await paste([setUp, ...(await readGuide('docs/previews.md'))])
  assert.match(output, /Directory listing for \//)
  assert.match(output, /"data":\[\{"id":"prv_/)
})

test('the guide to secrets', async (t) => {
  const { paste } = await terminal(t)
  const output = await paste([setUp, ...(await readGuide('docs/secrets.md'))])
  assert.match(output, /"stdout":"it is there\\n"/)
  assert.match(output, /re-encrypted|no other key/)
})

test('the guide to activity', async (t) => {
  const { paste } = await terminal(t)
  const output = await paste([setUp, ...(await readGuide('docs/activity.md'))])
  assert.match(output, /"type":"command.run"/)
  assert.match(output, /command\.run +\S.* command=echo hello/)
})

async function terminal(t: TestContext, nodeDir?: string) {
  return openTerminal(t, nodeDir ?? (await findHostNode()) ?? nodes[0]!.dir, server.guideEnv)
}

async function assertPng(path: string): Promise<void> {
  assert.equal((await readFile(path)).subarray(1, 4).toString(), 'PNG')
}
