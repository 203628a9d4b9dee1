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
 * scripts: each fills in a form, makes three mistakes on the way, and checks in every picture that it
 * shows what the action before has done.
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
    picture = shown(yield { action: 'type', text: name })
    assert.ok(shareIn(picture, 'name', isDark) > 0.01, 'the name is not in the picture')
    assert.match(told(yield { action: 'key', text: 'Tabulator' }), /Tabulator/)
    assert.match(told(yield { action: 'press', text: 'Tab' }), /no action "press"/)
    shown(yield { action: 'key', text: 'Tab' })
    picture = shown(yield { action: 'type', text: city })
    assert.ok(shareIn(picture, 'city', isDark) > 0.01, 'the city is not in the picture')
    const before = shareIn(picture, 'agreement', isWhite)
    picture = shown(yield { action: 'left_click', ...at('agreement') })
    const ticked = shareIn(picture, 'agreement', isWhite)
    assert.ok(ticked < before - 0.2, 'the tick is not in the picture')
    picture = shown(yield { action: 'left_click', ...at('send') })
    assert.ok(shareIn(picture, 'name', isGreen) === 1, 'the next page is not in the picture')
  })
  assert.deepEqual((await sentForms(machine)).at(-1), { name, city, agreement: 'on' })
})

test('a model fills in a form through the OpenAI adapter', async () => {
  await machine.keyboard.press('alt+left')
  await machine.input.close()
  await run('openai-agent.js', openai, function* ({ picture: none }) {
    assert.equal(none, undefined)
    let picture = shown(yield [{ type: 'screenshot' }])
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
    assert.ok(shareIn(seen.picture!, 'name', isDark) < 0.01, 'the name is still in the picture')
    seen = yield [{ type: 'keypress', keys: ['TABULATOR'] }]
    assert.match(seen.mistake ?? '', /TABULATOR/)
    picture = shown(yield [{ type: 'type', text: name }])
    assert.ok(shareIn(picture, 'name', isDark) > 0.01, 'the name is not in the picture')
    const typeCity = [click('city'), clear, { type: 'type', text: city }]
    picture = shown(yield typeCity)
    assert.ok(shareIn(picture, 'city', isDark) > 0.01, 'the city is not in the picture')
    picture = shown(yield [click('send')])
    assert.ok(shareIn(picture, 'name', isGreen) === 1, 'the next page is not in the picture')
  })
  const sent = (await sentForms(machine)).at(-1)!
  assert.deepEqual([sent['name'], sent['city']], [name, city])
})

const isWhite = ([red, green, blue]: readonly [number, number, number]) =>
  Math.min(red, green, blue) > 230

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
