import assert from 'node:assert/strict'
import { symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../e2e/harness/ports.ts'
import { openTerminal, readGuide } from '../../e2e/harness/guide.ts'
import { startServer } from '../../sdk/test/server.ts'
import { findHostNode } from './nodes.ts'

const server = await startServer({ after }, { env: { COMPUTER_WEBHOOK_NETWORKS: '127.0.0.1' } })

test('the blocks of the guide to webhooks, pasted by an owner', async (t) => {
  const { email, password } = await server.signUp()
  const port = await freePort()
  const terminal = await openTerminal(t, (await findHostNode()) ?? dirname(process.execPath), {
    COMPUTER_BASE_URL: server.baseUrl,
    COMPUTER_GATEWAY_URL: server.gatewayUrl,
    COMPUTER_EMAIL: email,
    COMPUTER_PASSWORD: password,
    RECEIVER_URL: `http://127.0.0.1:${port}/hook`,
  })
  const packages = fileURLToPath(new URL('../../node_modules', import.meta.url))
  await symlink(packages, join(terminal.home, 'node_modules'))
  const blocks = await readGuide('docs/webhooks.md')
  assert.equal(blocks.length, 5)
  // The port of the guide may be in use here, and a failure must not leave its receiver behind.
  const pasted = blocks.map((block) => block.replaceAll('3000', `${port}`))
  const output = await terminal.paste(["trap 'kill $(jobs -p) || true' EXIT", ...pasted])
  assert.match(output, /\ntst_\w+ webhook\.test null\n/)
  assert.match(output, /\nevt_\w+ machine\.created mch_\w+\n/)
  assert.match(output, / is sent again\n[1-9] messages are sent again\n/)
  assert.match(output, /webhook whk_\w+ is deleted\n$/)
})
