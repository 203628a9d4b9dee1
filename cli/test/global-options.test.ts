import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startComputer } from './computer.ts'

const { run, runOutside, server } = await startComputer({ after })
await server.machine({ name: 'first' })

test('global options stand before a command, between its words or after it', async () => {
  const url = ['--url', server.baseUrl]
  const login = await runOutside(['--profile', 'work', ...url, 'login'], { stdin: server.key })
  assert.match(login.stdout, /saved as profile work /)
  const ways = [
    ['--json', '--profile', 'work', 'machines', 'list'],
    ['machines', '--json', '--profile', 'work', 'list'],
    ['machines', 'list', '--json', '--profile', 'work'],
    ['--profile', 'none', 'ls', '--json', '--profile', 'work'],
    ['--json', ...url, 'ls'],
  ]
  for (const words of ways) {
    const { stdout, stderr } = await runOutside(words)
    assert.equal(JSON.parse(stdout)[0]?.name, 'first', `${words.join(' ')}: ${stderr}`)
  }
  const error = await runOutside(['--json', '--profile', 'none', 'ls'])
  assert.equal(JSON.parse(error.stderr).error.code, 'unauthenticated')
  const elsewhere = ['--url', 'http://127.0.0.1:9', '--profile', 'work', 'ls']
  const { code, stderr } = await runOutside(elsewhere)
  assert.equal(code, 3)
  assert.match(stderr, /profile "work" is not signed in to http:\/\/127/)
})

test('a command refuses a global option that it does not have', async () => {
  const { code, stderr } = await run(['--json', 'completion', 'bash'])
  assert.equal(code, 2)
  assert.match(stderr, /completion has no option '--json'/)
})

test('after the machine, options belong to the command that runs there', async () => {
  const echoed = await run(['--json', 'exec', 'first', 'echo', '--profile', 'x', '--json'])
  assert.equal(JSON.parse(echoed.stdout).stdout, '--profile x --json\n')
})

test('ssh says what to use instead', async () => {
  const { code, stderr } = await run(['ssh', '-p', '22', 'agent@first'])
  assert.equal(code, 2)
  assert.match(stderr, /`computer shell MACHINE`/)
})
