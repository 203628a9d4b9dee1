import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startServer } from './server.ts'

const repoDir = fileURLToPath(new URL('../../', import.meta.url))
const server = await startServer({ after })

for (const path of ['README.md', 'sdk/README.md']) {
  test(`the first program of ${path} runs unmodified`, async () => {
    const text = await readFile(repoDir + path, 'utf8')
    const program = /```js\n([^]*?)```/.exec(text)?.[1]
    assert.ok(program)
    const env = {
      PATH: process.env['PATH'],
      COMPUTER_API_KEY: server.key,
      COMPUTER_BASE_URL: server.baseUrl,
      COMPUTER_GATEWAY_URL: server.gatewayUrl,
    }
    const how = ['--input-type=module', '--eval', program]
    const { stderr } = await promisify(execFile)(process.execPath, how, { cwd: repoDir, env })
    assert.equal(stderr, '')
    const { data } = (await server.call('GET', '/v1/sessions?limit=1')).body
    assert.equal(data[0].state, 'closed')
  })
}
