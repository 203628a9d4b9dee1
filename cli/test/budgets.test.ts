import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startComputer } from './computer.ts'

const { run, runOutside, server } = await startComputer({ after })
const { email, password } = await server.signUp()
const url = ['--url', server.baseUrl]
assert.equal(
  (await runOutside(['login', ...url, '--email', email], { stdin: `${password}\n` })).code,
  0,
)
const signedIn = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await runOutside([...args])
  assert.equal(code, 0, stderr)
  return stdout
}

test('a person creates, lists, changes and deletes budgets', async () => {
  const made = await signedIn('budgets', 'create', 'everything', '--amount', '100.50')
  assert.match(made, /^budget "everything" is created \(bud_\w+\)\n$/)
  const machine = await signedIn('machines', 'create', 'agent', '--no-start', '--json')
  const { id } = JSON.parse(machine)
  const nightly = ['nightly', '--hours', '10', '--window', 'day', '--action', 'stop']
  const more = ['--machine', 'agent', '--at', '50', '100', '--minimum-run', '120', '--json']
  const budget = JSON.parse(await signedIn('budgets', 'create', ...nightly, ...more))
  assert.deepEqual(
    [budget.scope, budget.limit, budget.window, budget.action, budget.thresholds],
    [
      { type: 'machine', machine_id: id },
      { type: 'standard_hours', value: '10' },
      'day',
      'stop',
      [50, 100],
    ],
  )
  assert.equal(budget.minimum_run_seconds, 120)
  assert.match(
    await signedIn('budgets', 'list'),
    /^NAME +SCOPE +USED +LIMIT .*\nnightly +mch_\w+ +0 standard-hours +10 standard-hours +day +stop +- .*\neverything +organization +0\.00 USD +100\.50 USD +month +notify /,
  )
  assert.match(await signedIn('budgets', 'get', 'nightly'), /\nremaining +10 standard-hours\n/)
  assert.match(
    await signedIn('budgets', 'update', 'nightly', '--hours', '20', '--action', 'refuse'),
    /^budget "nightly" is changed\n$/,
  )
  const changed = JSON.parse(await signedIn('budgets', 'get', budget.id, '--json'))
  assert.deepEqual([changed.limit.value, changed.action], ['20', 'refuse'])
  assert.match(await signedIn('budgets', 'delete', 'nightly', '--yes'), /nightly" is deleted/)
  assert.equal(JSON.parse(await signedIn('budgets', 'list', '--json')).length, 1)
})

test('what is invalid is refused before it is sent, and an API key may only read', async () => {
  for (const args of [['--amount', '1', '--hours', '1'], [], ['--amount', 'ten']]) {
    assert.equal((await runOutside(['budgets', 'create', 'x', ...args])).code, 2)
  }
  const refused = await run(['budgets', 'create', 'x', '--hours', '1'])
  assert.deepEqual([refused.code, refused.stdout], [4, ''])
  const none = await run(['budgets', 'list'])
  assert.match(none.stderr, /^No budgets\. Create one/)
  assert.equal((await run(['budgets', 'get', 'nothing'])).code, 5)
})
