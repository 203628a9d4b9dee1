import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import sharp from 'sharp'
import { buildClients, downloadsDir } from '../../scripts/build-clients.ts'
import { startServer } from '../../sdk/test/server.ts'
import { findHostNode, nodesUnderTest } from './nodes.ts'

/* npm installs each client from the server alone, with a registry that does not answer. */

const run = promisify(execFile)
await buildClients(downloadsDir)
const server = await startServer({ after })
const connection = {
  COMPUTER_API_KEY: server.key,
  COMPUTER_BASE_URL: server.baseUrl,
  COMPUTER_GATEWAY_URL: server.gatewayUrl,
}
const { id } = (await server.call('POST', '/v1/machines', { name: 'first' })).body

for (const { name, dir } of await nodesUnderTest()) {
  const folder = await mkdtemp(join(tmpdir(), 'computer-npm-'))
  after(() => rm(folder, { recursive: true, force: true }))
  const PATH = `${dir}:${(await findHostNode()) ?? dir}:/usr/bin:/bin`
  const env = { PATH, HOME: folder, npm_config_registry: 'http://127.0.0.1:9', ...connection }

  test(`npm installs the clients, and nothing else, on ${name}`, async () => {
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    const clients = ['sdk', 'cli', 'mcp'].map(
      (one) => new URL(`downloads/computer-${one}.tgz`, server.baseUrl).href,
    )
    await run('npm', ['install', '--no-audit', '--no-fund', ...clients], { cwd: folder, env })
    const lock = JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8'))
    const installed = ['cli', 'mcp', 'sdk'].map((one) => `node_modules/@computer/${one}`)
    assert.deepEqual(Object.keys(lock.packages), ['', ...installed])
  })

  test(`the SDK and the command line run on ${name}`, async () => {
    const program = `import { Computer } from '@computer/sdk'
import '@computer/sdk/anthropic'
import '@computer/sdk/openai'
const machine = await new Computer().machines.get(${JSON.stringify(id)})
console.log(machine.name)
process.exit()`
    await writeFile(join(folder, 'program.js'), program)
    assert.equal((await run('node', ['program.js'], { cwd: folder, env })).stdout, 'first\n')
    const bin = join(folder, 'node_modules/.bin/computer')
    assert.match((await run(bin, ['machines', 'list'], { cwd: folder, env })).stdout, /^first /m)
  })

  for (const command of [['computer', 'mcp'], ['computer-mcp']]) {
    test(`\`${command.join(' ')}\` shows a picture that it has scaled, on ${name}`, async (t) => {
      const [bin, ...args] = command
      const client = new Client({ name: 'test', version: '1' })
      const transport = new StdioClientTransport({
        command: join(folder, 'node_modules/.bin', bin!),
        args,
        env,
        stderr: 'inherit',
      })
      await client.connect(transport)
      t.after(() => client.close())
      const large = {
        create: { width: 2000, height: 1000, channels: 3, background: '#0a0' },
      } as const
      const content = (await sharp(large).png().toBuffer()).toString('base64')
      const file = { path: 'large.png', content, encoding: 'base64' }
      await server.call('PUT', `/v1/machines/${id}/files/content`, file)
      const answer = await client.callTool({
        name: 'read_file',
        arguments: { machine: 'first', path: 'large.png' },
      })
      const image = answer.content.find(({ type }) => type === 'image') as
        | { data: string }
        | undefined
      assert.ok(image, JSON.stringify(answer.content).slice(0, 500))
      const { width, height } = await sharp(Buffer.from(image.data, 'base64')).metadata()
      assert.deepEqual([width, height], [1280, 640])
    })
  }
}
