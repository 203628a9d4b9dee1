import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startModel, type Vendor } from '../../e2e/agents/scripted-model.ts'
import { readPrograms } from '../../e2e/harness/guide-programs.ts'
import { openTerminal, readGuide } from '../../e2e/harness/guide.ts'
import { eventually } from '../../server/test/settled.ts'
import { anthropic, openai, type Turn } from './people-vendors.ts'
import { startServer } from './server.ts'

/* The blocks of the guide, pasted whole, and its programs with the vendors' packages and scripted models. */

const server = await startServer({ after })
const computer = server.connect()
const scopes = ['machines:control'] as const
const { secret } = await server.apiKey({ name: 'Ada', scopes })
const person = server.connect({ apiKey: secret, sessionType: 'human' })
const guide = 'docs/people-in-the-loop.md'
const env = {
  COMPUTER_API_KEY: server.key,
  COMPUTER_BASE_URL: server.baseUrl,
  COMPUTER_GATEWAY_URL: server.gatewayUrl,
}
// This Node runs the SDK's sources, which node_modules links to.
const { home, paste } = await openTerminal({ after }, dirname(process.execPath), env)
const packages = fileURLToPath(new URL('../../node_modules', import.meta.url))
await symlink(packages, join(home, 'node_modules'))

test('the commands of the guide, pasted by somebody who asks and answers', async () => {
  const machine = await computer.machines.create({ name: 'first' })
  const output = await paste(["trap 'kill $(jobs -p) || true' EXIT", ...(await readGuide(guide))])
  assert.match(output, /\nhlp_\w+ +mch_\w+ +login +open +Please log in to the shop/)
  assert.match(output, /help request hlp_\w+ is done\nhttp\S+\/help#\S+\ndone, says Owner key: You/)
  assert.match(output, /\nreason +approval\n[^]*\nstate +done\nchoice +Pay\n/)
  const states = (await machine.helpRequests.list().all()).map(({ state }) => state)
  assert.deepEqual(states, ['done', 'done'])
})

for (const [program, vendor] of [
  ['anthropic-help.js', anthropic],
  ['openai-help.js', openai],
] as const) {
  test(`${program} asks at a login, and goes on from what the person did`, async () => {
    const machine = await computer.machines.create()
    const ended = run(program, vendor, machine.name)
    const request = await eventually(async () => {
      return (await person.helpRequests.list({ machineId: machine.id })).data[0]
    })
    assert.deepEqual([request.reason, request.message], ['login', 'Please log in.'])
    await person.helpRequests.take(request.id)
    const theirs = await person.machines.get(machine.id)
    await theirs.keyboard.type('a password')
    await person.helpRequests.answer(request.id, { outcome: 'done', text: 'I am in.' })
    assert.match(await ended, /^Please log in\.\nhttp\S+\/help#\S+\nThe order is 4711\.\n$/)
    const { events } = server.guest(machine.id).desktop
    const typed = events.flatMap(({ event }) => /^text (.)$/.exec(event)?.[1] ?? [])
    assert.equal(typed.join(''), 'a password')
    const sessions = await machine.sessions().all()
    assert.ok(sessions.every(({ state }) => state === 'closed'))
  })
}

/** Runs a program of the guide to its end, against a model that looks, asks, and clicks. */
async function run(name: string, vendor: Vendor<Turn>, machine: string): Promise<string> {
  await using model = await startModel<Turn>(vendor, function* (first) {
    assert.equal(first.picture, undefined)
    const before = yield { look: true }
    assert.ok(before.picture)
    const question = { reason: 'login', message: 'Please log in.' }
    const helped = (yield { ask: question }) as typeof before & { told?: string }
    const told = JSON.parse(helped.told!)
    assert.deepEqual([told.outcome, told.text], ['done', 'I am in.'])
    assert.equal(typeof told.brief.isComplete, 'boolean')
    assert.ok(helped.picture, 'the result has no picture')
    const clicked = yield { click: [20, 30] }
    assert.ok(clicked.picture)
    assert.equal(clicked.mistake, undefined)
  })
  const programs = await readPrograms(guide)
  await writeFile(join(home, 'package.json'), '{ "type": "module" }')
  await writeFile(join(home, name), programs.get(name)!)
  const vendors = {
    ANTHROPIC_API_KEY: 'none',
    ANTHROPIC_BASE_URL: model.url,
    OPENAI_API_KEY: 'none',
    OPENAI_BASE_URL: model.url,
  }
  const options = { env: { PATH: process.env['PATH'], ...env, ...vendors } }
  const args = [join(home, name), machine]
  const ended = promisify(execFile)(process.execPath, args, options)
  const { stdout } = await ended.catch((error: unknown) => {
    throw new AggregateError([...model.failures, error], 'the program failed')
  })
  assert.deepEqual(model.failures, [])
  return stdout
}
