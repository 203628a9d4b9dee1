import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../../e2e/harness/polling.ts'
import { startComputer, type Running } from './computer.ts'

const { run, json, start, server } = await startComputer({ after })
const { id: machineId } = await server.machine({ name: 'first' })
const scopes = ['machines:control'] as const
const { secret } = await server.apiKey({ name: 'a person', scopes })
const asPerson = { env: { COMPUTER_API_KEY: secret } }
const ask = ['help-requests', 'ask', 'first', '--reason', 'login', '--message', 'Please log in.']

async function ok(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(['help-requests', ...args])
  assert.equal(code, 0, stderr)
  return stdout
}

test('a request is asked, listed, shown, linked and cancelled', async () => {
  const asked = await run([...ask, '--no-private', '--expires', '2', '--choice', 'Yes', 'No'])
  assert.equal(asked.code, 0, asked.stderr)
  assert.match(asked.stdout, /^http\S+\/help#\S+\n$/, 'the link alone')
  const id = /Asked: (hlp_\w+)\. Its takeover link works once/.exec(asked.stderr)![1]!
  const [listed] = await json('help-requests', 'list', '--machine', 'first')
  assert.deepEqual(
    [listed.id, listed.private, listed.choices, listed.takeover_url],
    [id, false, ['Yes', 'No'], null],
  )
  assert.equal(Date.parse(listed.expires_at) - Date.parse(listed.created_at), 120_000)
  const table =
    /^ID +MACHINE +REASON +STATE .*\nhlp_\w+ +mch_\w+ +login +open +Please log in\. +Owner/
  assert.match(await ok('list'), table)
  assert.match(await ok('show', id), /\nchoices +Yes, No\nprivate +no\nassignee +-\nasked by +Own/)
  const link = (await run(['help-requests', 'link', id])).stdout
  assert.match(link, /^http\S+\/help#\S+\n$/)
  assert.notEqual(link, asked.stdout)
  assert.equal(await ok('cancel', id), `help request ${id} is cancelled\n`)
  const waited = await run(['help-requests', 'show', id, '--wait'])
  assert.match(waited.stdout, /\nstate +cancelled\n/)
  assert.equal(waited.code, 1)
  const none = await run(['help-requests', 'list'])
  assert.deepEqual([none.stdout, none.stderr], ['', 'Nobody waits for help.\n'])
  assert.equal((await json('help-requests', 'list', '--state', 'cancelled', 'done')).length, 1)
  assert.equal((await run(['help-requests', 'cancel', id])).code, 6)
})

test('who waits gets the answer, and whether it is done by the exit code', async () => {
  for (const [how, code, state] of [
    [['--choice', 'Yes', '--text', 'Gladly'], 0, 'done'],
    [['--declined'], 1, 'declined'],
  ] as const) {
    const waiting = start([...ask, '--choice', 'Yes', 'No', '--wait'])
    const id = await idIn(waiting)
    assert.match(await ok('answer', id, ...how), new RegExp(`^help request ${id} is ${state}\n`))
    const { stdout, ...ended } = await waiting.ended
    assert.match(stdout, new RegExp(`^state +${state}\n`))
    if (code === 0) assert.match(stdout, /\nchoice +Yes\ntext +Gladly\nby +Owner key \(api key\)\n/)
    assert.equal(ended.code, code)
  }
  const waiting = start([...ask, '--wait', '--json'])
  const id = await idIn(waiting)
  assert.equal(JSON.parse(await ok('answer', id, '--done', '--json')).state, 'done')
  assert.equal(JSON.parse((await waiting.ended).stdout).answer.outcome, 'done')
})

test('Ctrl-C cancels the request of who waits', async () => {
  const waiting = start([...ask, '--wait'])
  const id = await idIn(waiting)
  waiting.child.kill('SIGINT')
  assert.equal((await waiting.ended).code, 130)
  assert.equal((await json('help-requests', 'show', id)).state, 'cancelled')
})

test('a person takes a request, leaves it, takes it again, and the view ends with the answer', async () => {
  const { id } = await json(...ask)
  const take = ['help-requests', 'take', id, '--no-open']
  const lease = async () => (await server.call('GET', `/v1/machines/${machineId}/input-lease`)).body
  const left = start(take, asPerson)
  await eventually('the page is served', async () => /http:/.test(await outputOf(left)))
  assert.equal((await lease()).holder.type, 'human')
  assert.equal((await json('help-requests', 'show', id)).taken_by.name, 'a person')
  left.child.kill('SIGINT')
  const ended = await left.ended
  assert.equal(ended.code, 0, ended.stderr)
  assert.match(ended.stderr, /Owner key asks: Please log in\.\n[^]*is open again\n$/)
  assert.deepEqual(
    [(await json('help-requests', 'show', id)).state, (await lease()).holder],
    ['open', null],
  )

  const taking = start(take, asPerson)
  await eventually('the page is served', async () => /http:/.test(await outputOf(taking)))
  const taken = await run(['help-requests', 'take', id, '--no-open'])
  assert.equal(taken.code, 6)
  assert.equal((await run(['help-requests', 'answer', id, '--done'], asPerson)).code, 0)
  const { code, stderr } = await taking.ended
  assert.equal(code, 0, stderr)
  assert.match(stderr, new RegExp(`help request ${id} is done\n$`))
})

test('an assignee is named by their address, and invalid usage is refused', async () => {
  const { email } = await server.signUp()
  for (const args of [
    ['help-requests', 'ask', 'first', '--message', 'x', '--reason', 'whim'],
    ['help-requests', 'answer', 'hlp_x'],
    ['help-requests', 'answer', 'hlp_x', '--done', '--declined'],
    [...ask, '--expires', '0'],
  ])
    assert.equal((await run(args)).code, 2, args.join(' '))
  const stranger = await run([...ask, '--assignee', email])
  assert.equal(stranger.code, 5)
  assert.match(stranger.stderr, /no member has the address/)
})

const outputs = new WeakMap<Running, { text: string }>()

/** The output of a command so far. */
async function outputOf(running: Running): Promise<string> {
  let output = outputs.get(running)
  if (!output) {
    const collected = { text: '' }
    outputs.set(running, collected)
    output = collected
    for (const stream of [running.child.stdout!, running.child.stderr!])
      stream.on('data', (bytes: Buffer) => (collected.text += String(bytes)))
  }
  return output.text
}

/** The id of the request, once it was asked. */
async function idIn(running: Running): Promise<string> {
  return eventually('it has asked', async () => {
    return /Asked: (hlp_\w+)/.exec(await outputOf(running))?.[1] ?? false
  })
}
