import type { HelpRequest } from '@computer/sdk'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startServer } from '../../sdk/test/server.ts'
import { describeState } from '../src/help-text.ts'
import { connectHere } from './client.ts'

const server = await startServer({ after })
const { baseUrl, key: apiKey } = server
const scopes = ['machines:control'] as const
const { secret } = await server.apiKey({ name: 'a person', scopes })
const person = server.connect({ apiKey: secret, sessionType: 'human' })

const login = { reason: 'login', message: 'Please log in to the shop.' }
const idIn = (text: string) => /hlp_[0-9a-z]+/.exec(text)![0]

test('a model asks a person, is refused meanwhile, and goes on from the answer', async (t) => {
  const { name } = await server.connect().machines.create()
  const mcp = await connectHere(t, { apiKey, baseUrl })
  const click = ['click', { machine: name, x: 10, y: 20 }] as const
  await mcp.ok(...click)
  const asked = await mcp.ok('request_help', { machine: name, ...login })
  const id = idIn(asked)
  const [link] = /http\S+#\S+/.exec(asked)!
  assert.match(asked, /works once and opens this screen only[^]*check_help with wait_seconds/)
  assert.match(await mcp.ok('check_help', { machine: name }), /^Request hlp_\w+ is open: nobody/)

  await person.helpRequests.take(id)
  const checked = await mcp.ok('check_help', { help_request: id })
  assert.match(checked, /is active: A person \(a person\) has the screen, and you can neither see/)
  assert.ok(!checked.includes(link))
  const reason = /A person \(a person\) has the screen.*read the clipboard.*check_help/
  for (const [tool, input] of [
    click,
    ['type_text', { machine: name, text: 'a' }],
    ['screenshot', { machine: name }],
    ['read_clipboard', { machine: name }],
  ] as const)
    assert.match(await mcp.refused(tool, input), reason)

  const waiting = mcp.ok('check_help', { help_request: id, wait_seconds: 55 })
  await person.helpRequests.answer(id, { outcome: 'done', text: 'The code was sent twice.' })
  const told = await waiting
  assert.match(told, /^a person answered request hlp_\w+: it is done\.\nThey say: The code was/)
  assert.match(told, /take a screenshot before you do anything on it\.$/)
  await mcp.ok('screenshot', { machine: name })
  await mcp.ok(...click)
})

test('a request that is not private lets the model look', async (t) => {
  const { name } = await server.connect().machines.create()
  const mcp = await connectHere(t, { apiKey, baseUrl })
  const captcha = { machine: name, reason: 'captcha', message: 'Please solve the puzzle.' }
  const id = idIn(await mcp.ok('request_help', captcha))
  await person.helpRequests.take(id)
  await mcp.ok('screenshot', { machine: name })
  const click = { machine: name, x: 10, y: 20 }
  assert.match(
    await mcp.refused('click', click),
    /and you can neither type nor click\. Call check_/,
  )
  await person.helpRequests.answer(id, { outcome: 'declined' })
  assert.match(await mcp.ok('check_help', { machine: name }), /: they will not do it\./)
})

test('what cannot be checked is explained', async (t) => {
  const { name } = await server.connect().machines.create()
  const mcp = await connectHere(t, { apiKey, baseUrl })
  assert.match(await mcp.refused('check_help', {}), /Give help_request or machine/)
  assert.match(await mcp.refused('check_help', { machine: name }), /Nobody was asked for help/)
  assert.match(await mcp.refused('check_help', { help_request: 'hlp_1' }), /help_request/)
  const expiring = { machine: name, ...login, expires_in_minutes: 1, choices: ['Yes', 'No'] }
  const asked = await mcp.ok('request_help', expiring)
  const { expiresAt, createdAt, choices } = await person.helpRequests.get(idIn(asked))
  assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 60_000)
  assert.deepEqual(choices, ['Yes', 'No'])
  await person.helpRequests.cancel(idIn(asked))
  assert.match(await mcp.ok('check_help', { machine: name }), /was cancelled/)
})

test('the brief is told in a few lines, with the names in quotation marks', () => {
  const person = { type: 'guest' as const, id: 'hlp_1', name: 'Ada' }
  const windows = Array.from({ length: 12 }, (_, number) => {
    return { title: `Window ${number}\n"x"`, program: 'Chromium' }
  })
  const request = {
    id: 'hlp_1',
    state: 'done',
    takenBy: person,
    answer: { outcome: 'done', text: null, choice: 'Yes', by: person },
    brief: {
      windowsOpened: windows,
      windowsClosed: [],
      filesChanged: [{ path: '/home/agent/a.pdf', size: 1500 }],
      hasMoreFiles: true,
      clipboardChanged: true,
      pictures: [],
      isComplete: false,
    },
  } as unknown as HelpRequest
  const lines = describeState(request).split('\n')
  assert.deepEqual(lines.slice(0, 2), [
    'Ada answered request hlp_1: it is done.',
    'They chose: Yes',
  ])
  assert.match(lines[2]!, /^Windows opened: "Window 0\\n\\"x\\"" \(Chromium\), .*9.*, and more$/)
  assert.doesNotMatch(lines[2]!, /Window 10/)
  assert.equal(lines[3], 'Files changed: /home/agent/a.pdf (1.5 KB), and more')
  assert.equal(lines[4], 'The clipboard has changed.')
  assert.match(lines[5]!, /the machine did not answer/)
  assert.equal(lines.length, 7)
  const expired = { ...request, state: 'expired', takenBy: null, answer: null } as HelpRequest
  const ended = 'Request hlp_1 has expired without an answer. Tell your user.'
  assert.equal(describeState(expired), ended)
})
