import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startServer } from '../../sdk/test/server.ts'
import { connectHere } from './client.ts'
import { eventually } from './eventually.ts'

const server = await startServer({ after })
const { baseUrl, key: apiKey } = server
const { name: machine } = await server.connect().machines.create()

test('run_command returns the exit code and both streams', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  const said = await mcp.ok('run_command', { machine, command: 'echo out; cat none; exit 3' })
  assert.match(said, /^Exit code 3\.\n--- stdout\nout\n--- stderr\n.*none/)
})

test('a command line is one of bash', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  const command = 'set -o pipefail; [[ -n $HOME ]] && echo {1..3}; false | true'
  const said = await mcp.ok('run_command', { machine, command })
  assert.match(said, /^Exit code 1\.\n--- stdout\n1 2 3\n/)
})

test('the middle of a long output is cut, with a note', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  const said = await mcp.ok('run_command', { machine, command: 'seq 20000' })
  assert.match(said, /--- stdout\n1\n2\n3\n/)
  assert.match(said, /\n\[… \d+ characters omitted here …\]\n/)
  assert.match(said, /\n19999\n20000\n/)
  assert.ok(said.length < 21_000)
})

test('a command that times out is killed, and the result names the alternatives', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  const said = await mcp.ok('run_command', { machine, command: 'sleep 60', timeout_seconds: 1 })
  assert.match(said, /^Exit code 124\. .*killed after 1 s.*background/)
})

test('a background process is checked and stopped', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  assert.equal(await mcp.ok('read_process', { machine }), 'There are no background processes.')
  const start = async (command: string) => {
    const started = await mcp.ok('run_command', { machine, command, background: true })
    return /prc_[0-9a-z]+/.exec(started)![0]
  }
  const lasting = await start('sleep 50')
  const brief = await start('echo done; cat none')
  const all = await mcp.ok('read_process', { machine })
  assert.match(all, RegExp(`^${brief}: .*echo done; cat none\n${lasting}: running, .*: sleep 50$`))

  const read = { machine, process: brief, wait_seconds: 40 }
  let said = ''
  await eventually('its end is reported', async () => {
    said = await mcp.ok('read_process', read)
    return said.includes('exited')
  })
  assert.match(said, /exited with 1.*\n--- stdout\ndone\nEnd of output\./)
  assert.match(await mcp.ok('read_process', { ...read, stream: 'stderr' }), /--- stderr\n.*none/)

  await mcp.ok('stop_process', { machine, process: lasting })
  const ended = await mcp.ok('read_process', { machine, process: lasting, wait_seconds: 40 })
  assert.match(ended, /exited with 143.*\n\(nothing on stdout\)\nEnd of output\./)
})

test('a client that requests progress is notified during a call', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl, progressEveryMs: 10 })
  const progressed = Promise.withResolvers<void>()
  const params = { name: 'run_command', arguments: { machine, command: 'sleep 50' } }
  const leaving = new AbortController()
  const options = { onprogress: () => progressed.resolve(), signal: leaving.signal }
  const running = mcp.client.callTool(params, options)
  await progressed.promise
  leaving.abort()
  await assert.rejects(running)
})
