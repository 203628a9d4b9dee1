import type { Machine } from '@computer/sdk'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { readPrograms } from '../harness/guide-programs.ts'
import type { RealServer } from '../harness/server.ts'
import { joinServer } from '../harness/shared-server.ts'
import { isDark, isGreen, middleOf, sentForms, shareIn, showForm, type Place } from './form.ts'
import { startModel, type Picture, type Script, type Seen, type Vendor } from './scripted-model.ts'
import { anthropic, openai } from './vendors.ts'

/*
 * The programs of the guide to models, with the vendors' own packages, on a real machine. The models follow
 * scripts: each fills in a form, makes three mistakes on the way, and sees in pictures what its actions
 * have done. Where the picture of an action does not show it yet, a model looks again, as models do;
 * bench/s25.ts counts how often it must.
 */

const repoDir = fileURLToPath(new URL('../../', import.meta.url))
const name = 'Zo\u00eb \u6f22\u5b57 \u{1f642}'
const city = 'K\u00f8benhavn \u2192 \u0130stanbul'
let server: RealServer
let folder: string
let machine: Machine

before(async () => {
  server = await joinServer()
  folder = await mkdtemp(join(tmpdir(), 'computer-agents-'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await symlink(join(repoDir, 'node_modules'), join(folder, 'node_modules'))
  machine = await server.computer.machines.create({ name: 'form' })
  await showForm(machine)
})
after(async () => {
  await rm(folder, { recursive: true, force: true })
  await server?.[Symbol.asyncDispose]()
})

test('a model fills in a form through the Anthropic adapter', async () => {
  await run('anthropic-agent.js', anthropic, function* ({ picture: none }) {
    assert.equal(none, undefined)
    let picture = shown(yield { action: 'screenshot' })
    const at = (place: Place) => {
      const { x, y } = middleOf(picture, place)
      return { coordinate: [x, y] }
    }
    assert.ok(shareIn(picture, 'name', isDark) === 0)
    assert.match(told(yield { action: 'left_click', coordinate: [99_999, 3] }), /outside/)
    shown(yield { action: 'left_click', ...at('name') })
    const look = { action: 'screenshot' }
    const type = { action: 'type', text: name }
    picture = yield* seeing(type, look, 'the name', hasName)
    assert.match(told(yield { action: 'key', text: 'Tabulator' }), /Tabulator/)
    assert.match(told(yield { action: 'press', text: 'Tab' }), /no action "press"/)
    shown(yield { action: 'key', text: 'Tab' })
    const typeCity = { action: 'type', text: city }
    picture = yield* seeing(typeCity, look, 'the city', hasCity)
    const before = shareIn(picture, 'agreement', isWhite)
    const agree = { action: 'left_click', ...at('agreement') }
    picture = yield* seeing(agree, look, 'the tick', (now) => {
      return shareIn(now, 'agreement', isWhite) < before - 0.2
    })
    const send = { action: 'left_click', ...at('send') }
    yield* seeing(send, look, 'the next page', isSent)
  })
  assert.deepEqual((await sentForms(machine)).at(-1), { name, city, agreement: 'on' })
})

test('a model fills in a form through the OpenAI adapter', async () => {
  await machine.keyboard.press('alt+left')
  await machine.input.close()
  await run('openai-agent.js', openai, function* ({ picture: none }) {
    assert.equal(none, undefined)
    const look: readonly object[] = [{ type: 'screenshot' }]
    const picture = shown(yield look)
    const click = (place: Place) => ({
      type: 'click',
      button: 'left',
      ...middleOf(picture, place),
    })
    // The browser keeps what was filled in, when it goes back.
    const clear = { type: 'keypress', keys: ['CTRL', 'A'] }
    const wrong = { type: 'click', button: 'left', x: 5_000, y: 3 }
    let seen = yield [click('name'), clear, { type: 'type', text: 'Z' }, wrong, clear]
    assert.match(seen.mistake ?? '', /^Action 4 of 5 .* outside/)
    seen = yield [clear, { type: 'keypress', keys: ['DELETE'] }, { type: 'press', keys: ['TAB'] }]
    assert.match(seen.mistake ?? '', /^Action 3 of 3 .*no action "press"/)
    assert.ok(seen.picture, 'the mistake has no picture')
    yield* seeing(look, look, 'the empty field', (now) => shareIn(now, 'name', isDark) < 0.01)
    seen = yield [{ type: 'keypress', keys: ['TABULATOR'] }]
    assert.match(seen.mistake ?? '', /TABULATOR/)
    yield* seeing([{ type: 'type', text: name }], look, 'the name', hasName)
    yield* seeing([click('city'), clear, { type: 'type', text: city }], look, 'the city', hasCity)
    yield* seeing([click('send')], look, 'the next page', isSent)
  })
  const sent = (await sentForms(machine)).at(-1)!
  assert.deepEqual([sent['name'], sent['city']], [name, city])
})

const isWhite = ([red, green, blue]: readonly [number, number, number]) =>
  Math.min(red, green, blue) > 230

const hasName = (picture: Picture) => shareIn(picture, 'name', isDark) > 0.01
const hasCity = (picture: Picture) => shareIn(picture, 'city', isDark) > 0.01
const isSent = (picture: Picture) => shareIn(picture, 'name', isGreen) === 1

/** Acts, and looks again until a picture shows what the action has done. */
function* seeing<Action>(
  act: Action,
  look: Action,
  what: string,
  isIn: (picture: Picture) => boolean,
): Generator<Action, Picture, Seen> {
  let picture = shown(yield act)
  for (let looks = 0; !isIn(picture); looks++) {
    assert.ok(looks < 20, `${what} is not in the picture`)
    picture = shown(yield look)
  }
  return picture
}

/** Runs a program of the guide to its end, against a scripted model. */
async function run<Action>(program: string, vendor: Vendor<Action>, script: Script<Action>) {
  const programs = await readPrograms('docs/models.md')
  await using model = await startModel(vendor, script)
  const env = {
    PATH: process.env['PATH'],
    COMPUTER_API_KEY: server.api.key,
    COMPUTER_BASE_URL: server.api.baseUrl,
    ANTHROPIC_API_KEY: 'none',
    ANTHROPIC_BASE_URL: model.url,
    OPENAI_API_KEY: 'none',
    OPENAI_BASE_URL: model.url,
  }
  await writeFile(join(folder, program), programs.get(program)!)
  const args = [join(folder, program), machine.name]
  const ended = promisify(execFile)(process.execPath, args, { env })
  const { stdout } = await ended.catch((error: unknown) => {
    throw new AggregateError([...model.failures, error], 'the program failed')
  })
  assert.deepEqual(model.failures, [])
  assert.equal(stdout, 'The form has been sent.\n')
}

function shown({ picture, mistake }: Seen): Picture {
  assert.equal(mistake, undefined)
  assert.ok(picture, 'there is no picture')
  return picture
}

function told({ mistake }: Seen): string {
  assert.ok(mistake !== undefined, 'the mistake is not told')
  return mistake
}
