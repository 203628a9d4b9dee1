import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { after, test } from 'node:test'
import { openTerminal, readGuide } from '../../e2e/harness/guide.ts'
import { goodPassword } from './browser.ts'
import { startTestServer } from './harness.ts'
import { findHostNode } from './nodes.ts'

const server = await startTestServer({ after }, { worker: false })
const path = 'docs/plans-and-billing.md'

test('the blocks of the guide to budgets, pasted by an owner', async (t) => {
  const { origin } = await server.listen()
  const { email, id: userId, personalId: organizationId } = await server.signUp()
  const key = await server.apiKey({ creator: { userId, organizationId } })
  const { paste } = await openTerminal(t, (await findHostNode()) ?? dirname(process.execPath), {
    COMPUTER_BASE_URL: origin,
    COMPUTER_API_KEY: key.secret,
    COMPUTER_EMAIL: email,
    COMPUTER_PASSWORD: goodPassword,
  })
  const setUp = await readGuide(path, { to: '## What counts' })
  const section = await readGuide(path, { from: '## Budgets', to: '## Before you create' })
  assert.equal(section.length, 1)
  const output = await paste([...setUp, ...section])
  assert.equal(output.match(/"name":"nightly agents"/g)?.length, 3)
  assert.match(output, /"value":"10"\}.*"remaining":"10\.000000"/)
  assert.match(output, /"value":"20"\}.*"remaining":"20\.000000"/)
  const { body } = await key.call('GET', '/v1/budgets')
  assert.deepEqual(body.data, [])
})
